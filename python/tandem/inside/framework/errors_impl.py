"""tensorflow.python.framework.errors_impl: the numbers of errors."""

OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND = range(6)
ALREADY_EXISTS, PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE = range(6, 12)
UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED = range(12, 17)

_CLASSES = {
    CANCELLED: "CancelledError", UNKNOWN: "UnknownError", INVALID_ARGUMENT: "InvalidArgumentError",
    DEADLINE_EXCEEDED: "DeadlineExceededError", NOT_FOUND: "NotFoundError", ALREADY_EXISTS: "AlreadyExistsError",
    PERMISSION_DENIED: "PermissionDeniedError", RESOURCE_EXHAUSTED: "ResourceExhaustedError",
    FAILED_PRECONDITION: "FailedPreconditionError", ABORTED: "AbortedError", OUT_OF_RANGE: "OutOfRangeError",
    UNIMPLEMENTED: "UnimplementedError", INTERNAL: "InternalError", UNAVAILABLE: "UnavailableError",
    DATA_LOSS: "DataLossError", UNAUTHENTICATED: "UnauthenticatedError",
}  # fmt: skip


def exception_type_from_error_code(error_code):
    from tandem.framework import errors

    return getattr(errors, _CLASSES[error_code])


def error_code_from_exception_type(cls):
    return next(code for code, name in _CLASSES.items() if exception_type_from_error_code(code) is cls)
