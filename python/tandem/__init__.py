"""Tandem: a deep-learning runtime that makes CPU and GPU work on one program.

`import tandem as tf` gives TensorFlow's names. Which there are, and what stands behind each, is data:
python/names.table. Importing starts no thread and opens no device; Keras is loaded on first use.
"""

from tandem import _load  # noqa: F401  isort: skip
from tandem import _core, _namespaces
from tandem.framework import errors as _errors  # noqa: F401  (registers the error classes)
from tandem.framework import shape as _shape  # noqa: F401  (registers TensorShape)
from tandem.framework import dtypes as _dtypes  # noqa: F401  (methods of DType)
from tandem.framework import tensor as _tensor  # noqa: F401  (methods of Tensor)
from tandem.install import install_as_tensorflow, install_names

__version__ = _core.__version__

_namespaces.make_all()
install_names()


def load_ipython_extension(ipython):
    """`%load_ext tandem` in a notebook, before the first import: tensorflow and keras are Tandem from then on."""
    install_as_tensorflow()


def __getattr__(name):
    return _namespaces.find("", name)


def __dir__():
    return _namespaces.names_in("")
