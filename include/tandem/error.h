// Errors: one exception class per TensorFlow error class. All derive from Error.
// A message names the op, the values and a remedy. Thrown on the caller's thread;
// errors of asynchronous work are kept by the stream and thrown at the next host wait.
#pragma once

#include <stdexcept>
#include <string>

namespace tandem {

/// TensorFlow's error codes, with the same numbers (absl status codes).
enum class ErrorCode {
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

/// Base of all errors that Tandem throws. `code()` says which TensorFlow class it is.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message)
      : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

/// The class name TensorFlow gives a code, e.g. "InvalidArgumentError".
const char* error_class_name(ErrorCode code);

/// Throws the class that belongs to `code`; used where a stored error is raised again.
[[noreturn]] void throw_error(ErrorCode code, const std::string& message);

#define TANDEM_ERROR_CLASS(Name, Code)                                             \
  class Name : public Error {                                                      \
   public:                                                                         \
    explicit Name(const std::string& message) : Error(ErrorCode::Code, message) {} \
  }

TANDEM_ERROR_CLASS(CancelledError, kCancelled);
TANDEM_ERROR_CLASS(UnknownError, kUnknown);
TANDEM_ERROR_CLASS(InvalidArgumentError, kInvalidArgument);
TANDEM_ERROR_CLASS(DeadlineExceededError, kDeadlineExceeded);
TANDEM_ERROR_CLASS(NotFoundError, kNotFound);
TANDEM_ERROR_CLASS(AlreadyExistsError, kAlreadyExists);
TANDEM_ERROR_CLASS(PermissionDeniedError, kPermissionDenied);
TANDEM_ERROR_CLASS(ResourceExhaustedError, kResourceExhausted);
TANDEM_ERROR_CLASS(FailedPreconditionError, kFailedPrecondition);
TANDEM_ERROR_CLASS(AbortedError, kAborted);
TANDEM_ERROR_CLASS(OutOfRangeError, kOutOfRange);
TANDEM_ERROR_CLASS(UnimplementedError, kUnimplemented);
TANDEM_ERROR_CLASS(InternalError, kInternal);
TANDEM_ERROR_CLASS(UnavailableError, kUnavailable);
TANDEM_ERROR_CLASS(DataLossError, kDataLoss);
TANDEM_ERROR_CLASS(UnauthenticatedError, kUnauthenticated);

#undef TANDEM_ERROR_CLASS

/// A wrong value given to a configuration call (Python: ValueError).
class ValueError : public InvalidArgumentError {
 public:
  using InvalidArgumentError::InvalidArgumentError;
};
/// A configuration call that comes too late, or scopes left out of order (Python:
/// RuntimeError).
class RuntimeStateError : public FailedPreconditionError {
 public:
  using FailedPreconditionError::FailedPreconditionError;
};

}  // namespace tandem
