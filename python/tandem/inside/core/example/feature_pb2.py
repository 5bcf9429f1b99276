"""tensorflow.core.example.feature_pb2."""

from tandem.framework.messages import BytesList, Feature, FeatureList, FeatureLists, Features, FloatList, Int64List  # noqa: F401
