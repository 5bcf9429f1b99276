// Tensor: a cheap handle to immutable contents on some device. Any thread may hold and
// read one. Contents may still be being computed; reading them on the host waits.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "tandem/dtype.h"
#include "tandem/error.h"
#include "tandem/ref.h"
#include "tandem/shape.h"

struct DLManagedTensor;

namespace tandem {

struct TensorImpl;
/// Reference count of a TensorImpl, first in it so that handles are inline.
struct TensorHeader : RefCounted {};
void destroy_object(TensorHeader* header);

/// A number in C++ source that takes the dtype of the tensor it meets, like a Python
/// number.
class Scalar {
 public:
  Scalar(double v) : kind_(Kind::kFloat), f_(v) {}
  Scalar(float v) : kind_(Kind::kFloat), f_(v) {}
  Scalar(bool v) : kind_(Kind::kBool), i_(v) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Scalar(T v) : kind_(Kind::kInt), i_(static_cast<int64_t>(v)) {}
  bool is_float() const { return kind_ == Kind::kFloat; }
  double as_double() const { return is_float() ? f_ : static_cast<double>(i_); }
  int64_t as_int() const { return is_float() ? static_cast<int64_t>(f_) : i_; }

 private:
  enum class Kind { kFloat, kInt, kBool } kind_;
  double f_ = 0;
  int64_t i_ = 0;
};

class Tensor {
 public:
  /// No tensor at all; `defined()` is false.
  Tensor() = default;
  explicit Tensor(Ref<TensorHeader> header) : header_(std::move(header)) {}

  bool defined() const { return static_cast<bool>(header_); }
  DType dtype() const;
  const Shape& shape() const;
  int rank() const { return shape().rank(); }
  /// Size of dimension i; negative counts from the end.
  int64_t dim(int i) const { return shape().dim(i); }
  int64_t num_elements() const { return shape().num_elements(); }
  /// Full name, e.g. "/job:localhost/replica:0/task:0/device:GPU:0".
  const std::string& device() const;

  /// The contents as a host array in row-major order; waits and copies from the device
  /// when they are elsewhere. T must be the dtype's element type.
  template <class T>
  std::vector<T> to_vector() const {
    check_dtype(dtype_of<T>);
    std::vector<T> out(static_cast<size_t>(num_elements()));
    if constexpr (std::is_same_v<T, bool>) {
      const Tensor host = to_host();
      const auto* p = static_cast<const bool*>(host.host_data());
      out.assign(p, p + num_elements());
    } else if constexpr (std::is_same_v<T, std::string>) {
      const Tensor host = to_host();
      const auto* p = static_cast<const std::string*>(host.host_data());
      out.assign(p, p + num_elements());
    } else {
      copy_to(out.data(), out.size() * sizeof(T));
    }
    return out;
  }
  /// The one element of a tensor of size 1.
  template <class T>
  T item() const {
    if (num_elements() != 1) {
      throw InvalidArgumentError(fmt::format(
          "item: the tensor has shape {}; only one of size 1 can become a number.",
          shape().str()));
    }
    return to_vector<T>()[0];
  }
  /// Copies the contents to host memory of exactly that many bytes; waits.
  void copy_to(void* destination, size_t bytes) const;
  /// This tensor on the CPU, its contents ready. The same tensor when it is there
  /// already.
  Tensor to_host() const;
  /// Contents of a tensor for which `to_host()` is the identity; valid while the tensor
  /// lives.
  const void* host_data() const;
  /// A copy on that device (asynchronous), or the same tensor when it is there.
  Tensor to(std::string_view device) const;
  /// Waits until the contents are there; throws the error that prevented them.
  void wait() const;
  /// Whether `wait()` would return at once.
  bool ready() const;

  /// As TensorFlow's `str(tensor)`: "tf.Tensor([1. 2.], shape=(2,), dtype=float32)".
  std::string str() const;
  /// As TensorFlow's `repr(tensor)`: "<tf.Tensor: shape=(2,), dtype=float32, numpy=…>".
  std::string repr() const;

  const Ref<TensorHeader>& header() const { return header_; }
  TensorImpl* impl() const;
  /// Identity, not values.
  bool is(const Tensor& other) const { return header_ == other.header_; }

 private:
  void check_dtype(DType expected) const;
  Ref<TensorHeader> header_;
};

// ---- Making tensors from host values
// ----------------------------------------------------

/// A tensor on the device of the current scope with a copy of `bytes` at `data`.
Tensor tensor_from(const void* data, DType dtype, const Shape& shape);
Tensor tensor_from_strings(const std::vector<std::string>& values, const Shape& shape);
/// One number as a scalar tensor of that dtype, on the device of the current scope.
Tensor scalar(Scalar value, DType dtype);

template <class T>
Tensor constant(T value)
  requires std::is_arithmetic_v<T>
{
  return tensor_from(&value, dtype_of<T>, {});
}
inline Tensor constant(const char* value) { return tensor_from_strings({value}, {}); }
inline Tensor constant(const std::string& value) {
  return tensor_from_strings({value}, {});
}
template <class T>
Tensor constant(const std::vector<T>& values, const Shape& shape) {
  if (shape.num_elements() != static_cast<int64_t>(values.size())) {
    throw InvalidArgumentError(fmt::format(
        "constant: {} values do not fill shape {}. Give as many values as the "
        "shape has elements.",
        values.size(), shape.str()));
  }
  if constexpr (std::is_same_v<T, std::string>) {
    return tensor_from_strings(values, shape);
  } else if constexpr (std::is_same_v<T, bool>) {
    std::vector<uint8_t> bytes(values.begin(), values.end());
    return tensor_from(bytes.data(), DType::kBool, shape);
  } else {
    return tensor_from(values.data(), dtype_of<T>, shape);
  }
}
template <class T>
Tensor constant(const std::vector<T>& values) {
  return constant(values, Shape{static_cast<int64_t>(values.size())});
}
template <class T>
Tensor constant(std::initializer_list<T> values) {
  if constexpr (std::is_same_v<T, const char*>) {
    return constant(std::vector<std::string>(values.begin(), values.end()));
  } else {
    return constant(std::vector<T>(values));
  }
}

namespace detail {
[[noreturn]] void throw_ragged(size_t expected, size_t got);
}
template <class T>
Tensor constant(std::initializer_list<std::initializer_list<T>> rows) {
  std::vector<T> flat;
  const size_t columns = rows.size() ? rows.begin()->size() : 0;
  for (const auto& row : rows) {
    if (row.size() != columns) detail::throw_ragged(columns, row.size());
    flat.insert(flat.end(), row.begin(), row.end());
  }
  return constant(flat,
                  {static_cast<int64_t>(rows.size()), static_cast<int64_t>(columns)});
}
template <class T>
Tensor constant(
    std::initializer_list<std::initializer_list<std::initializer_list<T>>> planes) {
  std::vector<T> flat;
  const size_t rows = planes.size() ? planes.begin()->size() : 0;
  const size_t columns = rows ? planes.begin()->begin()->size() : 0;
  for (const auto& plane : planes) {
    if (plane.size() != rows) detail::throw_ragged(rows, plane.size());
    for (const auto& row : plane) {
      if (row.size() != columns) detail::throw_ragged(columns, row.size());
      flat.insert(flat.end(), row.begin(), row.end());
    }
  }
  return constant(flat, {static_cast<int64_t>(planes.size()), static_cast<int64_t>(rows),
                         static_cast<int64_t>(columns)});
}

/// A CPU tensor over memory that somebody else owns; `deleter` runs when the last handle
/// goes. The memory must not change while handles live.
Tensor from_foreign(void* data, DType dtype, const Shape& shape,
                    std::function<void()> deleter);
/// Takes over a DLPack tensor of the CPU and calls its deleter when done. Shares the
/// memory when it is contiguous, copies it otherwise. After an InvalidArgumentError it is
/// still the caller's.
Tensor from_dlpack(DLManagedTensor* managed);
/// Gives the tensor out as DLPack without a copy; the receiver calls the deleter.
DLManagedTensor* to_dlpack(const Tensor& tensor);

}  // namespace tandem

template <>
struct fmt::formatter<tandem::Tensor> {
  constexpr auto parse(format_parse_context& ctx) { return ctx.begin(); }
  auto format(const tandem::Tensor& t, format_context& ctx) const {
    return fmt::format_to(ctx.out(), "{}", t.str());
  }
};
