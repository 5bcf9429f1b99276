"""tensorflow.python.framework.tensor_spec: the older place of these classes."""

from tandem.framework.spec import TensorSpec  # noqa: F401
from tandem.inside.framework.tensor import BoundedTensorSpec, DenseSpec, sanitize_spec_name  # noqa: F401
