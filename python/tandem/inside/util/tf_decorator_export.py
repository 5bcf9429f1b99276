"""tensorflow.python.util.tf_decorator_export: the public part of tf_decorator."""

from tandem.inside.util.tf_decorator import make_decorator, unwrap  # noqa: F401
