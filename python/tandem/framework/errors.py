"""tf.errors: one class for each of TensorFlow's error codes.

Registered with the native module, which raises them.
"""

from tandem import _core


class OpError(Exception):
    """The base of all errors that ops raise."""

    def __init__(self, node_def, op, message, error_code=None, *args):
        super().__init__(node_def, op, message, *args)
        self._node_def = node_def
        self._op = op
        self._message = message
        self._error_code = type(self)._code if error_code is None else error_code

    _code = 2

    @property
    def message(self):
        return self._message

    @property
    def op(self):
        return self._op

    @property
    def node_def(self):
        return self._node_def

    @property
    def error_code(self):
        return self._error_code

    @property
    def experimental_payloads(self):
        return {}

    def __str__(self):
        return self._message

    def __reduce__(self):
        return type(self), (self._node_def, self._op, self._message)


def _define(name, code):
    cls = type(name, (OpError,), {"_code": code, "__module__": "tandem.errors", "__doc__": f"Error code {code}."})
    _core.register_error(code, cls)
    return cls


CancelledError = _define("CancelledError", 1)
UnknownError = _define("UnknownError", 2)
InvalidArgumentError = _define("InvalidArgumentError", 3)
DeadlineExceededError = _define("DeadlineExceededError", 4)
NotFoundError = _define("NotFoundError", 5)
AlreadyExistsError = _define("AlreadyExistsError", 6)
PermissionDeniedError = _define("PermissionDeniedError", 7)
ResourceExhaustedError = _define("ResourceExhaustedError", 8)
FailedPreconditionError = _define("FailedPreconditionError", 9)
AbortedError = _define("AbortedError", 10)
OutOfRangeError = _define("OutOfRangeError", 11)
UnimplementedError = _define("UnimplementedError", 12)
InternalError = _define("InternalError", 13)
UnavailableError = _define("UnavailableError", 14)
DataLossError = _define("DataLossError", 15)
UnauthenticatedError = _define("UnauthenticatedError", 16)


class OperatorNotAllowedInGraphError(TypeError):
    """Python asked a tensor without a value for one, for example in an `if` that was not converted."""


class InaccessibleTensorError(ValueError):
    """A tensor was used outside of the graph that it belongs to."""


class TracedArgumentError(InvalidArgumentError, ValueError, TypeError):
    """Arguments that do not fit, found while a function is traced: TensorFlow raises ValueError for shapes and
    TypeError for dtypes there, and InvalidArgumentError for the same mistake outside."""

    __module__ = "tandem.errors"


_core.register_traced_error(TracedArgumentError)
