#include "tandem/error.h"

namespace tandem {

const char* error_class_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kCancelled:
      return "CancelledError";
    case ErrorCode::kUnknown:
      return "UnknownError";
    case ErrorCode::kInvalidArgument:
      return "InvalidArgumentError";
    case ErrorCode::kDeadlineExceeded:
      return "DeadlineExceededError";
    case ErrorCode::kNotFound:
      return "NotFoundError";
    case ErrorCode::kAlreadyExists:
      return "AlreadyExistsError";
    case ErrorCode::kPermissionDenied:
      return "PermissionDeniedError";
    case ErrorCode::kResourceExhausted:
      return "ResourceExhaustedError";
    case ErrorCode::kFailedPrecondition:
      return "FailedPreconditionError";
    case ErrorCode::kAborted:
      return "AbortedError";
    case ErrorCode::kOutOfRange:
      return "OutOfRangeError";
    case ErrorCode::kUnimplemented:
      return "UnimplementedError";
    case ErrorCode::kInternal:
      return "InternalError";
    case ErrorCode::kUnavailable:
      return "UnavailableError";
    case ErrorCode::kDataLoss:
      return "DataLossError";
    case ErrorCode::kUnauthenticated:
      return "UnauthenticatedError";
  }
  return "UnknownError";
}

void throw_error(ErrorCode code, const std::string& message) {
  switch (code) {
    case ErrorCode::kCancelled:
      throw CancelledError(message);
    case ErrorCode::kUnknown:
      throw UnknownError(message);
    case ErrorCode::kInvalidArgument:
      throw InvalidArgumentError(message);
    case ErrorCode::kDeadlineExceeded:
      throw DeadlineExceededError(message);
    case ErrorCode::kNotFound:
      throw NotFoundError(message);
    case ErrorCode::kAlreadyExists:
      throw AlreadyExistsError(message);
    case ErrorCode::kPermissionDenied:
      throw PermissionDeniedError(message);
    case ErrorCode::kResourceExhausted:
      throw ResourceExhaustedError(message);
    case ErrorCode::kFailedPrecondition:
      throw FailedPreconditionError(message);
    case ErrorCode::kAborted:
      throw AbortedError(message);
    case ErrorCode::kOutOfRange:
      throw OutOfRangeError(message);
    case ErrorCode::kUnimplemented:
      throw UnimplementedError(message);
    case ErrorCode::kInternal:
      throw InternalError(message);
    case ErrorCode::kUnavailable:
      throw UnavailableError(message);
    case ErrorCode::kDataLoss:
      throw DataLossError(message);
    case ErrorCode::kUnauthenticated:
      throw UnauthenticatedError(message);
  }
  throw UnknownError(message);
}

}  // namespace tandem
