// Scalars of dtype kVariant in host memory: a value of some C++ type, with a mark that
// says which. Lists of tensors, datasets and iterators have one dtype, and any op may be
// given any of them. Made and read inside the library alone; any thread.
#pragma once

#include <utility>

#include "device/runtime.h"
#include "tensor/tensor_impl.h"

namespace tandem {

namespace detail {
template <class T>
inline char variant_mark = 0;  // its address tells the types apart

template <class T>
struct VariantBox {
  explicit VariantBox(T v) : value(std::move(v)) {}
  const void* const mark = &variant_mark<T>;
  T value;
};
}  // namespace detail

template <class T>
Tensor make_variant(T value) {
  Device& cpu = Runtime::get().cpu();
  auto* kept = new detail::VariantBox<T>(std::move(value));
  return make_tensor(DType::kVariant, Shape{}, cpu,
                     Buffer::foreign(cpu, kept, 0, [kept] { delete kept; }), 0);
}

/// Null for a tensor that holds something else, or nothing.
template <class T>
T* variant_value(const Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  const TensorImpl& t = *tensor.impl();
  if (t.dtype != DType::kVariant || !t.buffer || !t.buffer->is_foreign()) return nullptr;
  auto* const box = static_cast<detail::VariantBox<T>*>(t.data());
  return box->mark == &detail::variant_mark<T> ? &box->value : nullptr;
}

}  // namespace tandem
