// TensorImpl: what a Tensor handle points to. Concrete (buffer + offset, row-major and
// contiguous), or symbolic (a value of a graph being traced), or a resource (a variable).
// Immutable after construction apart from the cached host value; any thread.
#pragma once

#include <memory>

#include "tandem/ints.h"
#include "tandem/tensor.h"
#include "tensor/buffer.h"

namespace tandem {

/// Values of a small integer tensor (rank 0 or 1) as far as they are known.
/// Unknown elements are kUnknownValue.
inline constexpr int64_t kUnknownValue = INT64_MIN;
using PartialValue = Ints;
inline constexpr int64_t kMaxHostValues = 64;

/// Base of what a symbolic tensor refers to; the graph layer derives from it.
struct SymbolicValue : RefCounted {
  virtual ~SymbolicValue() = default;
};
inline void destroy_object(SymbolicValue* v) { delete v; }

struct VariableImpl;

struct TensorImpl : TensorHeader {
  DType dtype = DType::kInvalid;
  bool ghost = false;  // has dtype and shape but no contents (kept by tapes for shapes)
  Shape shape;
  Device* device = nullptr;
  Ref<Buffer> buffer;
  int64_t byte_offset = 0;
  uint64_t id = 0;  // unique in the process, for tapes
  Ref<SymbolicValue> symbolic;
  Ref<VariableImpl> variable;
  /// Host copy of small integer contents known without a wait; set before the tensor is
  /// shared.
  std::unique_ptr<PartialValue> host_value;

  TensorImpl();
  ~TensorImpl();
  static void* operator new(size_t bytes);
  static void operator delete(void* p, size_t bytes);

  size_t bytes() const {
    return static_cast<size_t>(shape.num_elements()) * dtype_size(dtype);
  }
  /// Address of the contents of a tensor on the host; read it after a wait.
  void* data() const {
    return static_cast<std::byte*>(buffer->host_address()) + byte_offset;
  }
  /// Address on any device, valid while the leases live.
  void* address(LeaseSet& leases) const {
    return static_cast<std::byte*>(leases.address(buffer)) + byte_offset;
  }
};

inline TensorImpl* Tensor::impl() const {
  return static_cast<TensorImpl*>(header_.get());
}

/// A tensor over a new buffer on `device`; contents undefined.
Tensor make_tensor(Device& device, DType dtype, const Shape& shape);
/// A tensor over an existing buffer.
Tensor make_tensor(DType dtype, const Shape& shape, Device& device, Ref<Buffer> buffer,
                   int64_t byte_offset);
/// dtype and shape of `like` without its contents, with the same id.
Tensor make_ghost(const Tensor& like);
Tensor make_ghost(uint64_t id, DType dtype, const Shape& shape, Device* device);
/// A symbolic tensor (tracing).
Tensor make_symbolic(DType dtype, const Shape& shape, Ref<SymbolicValue> value);
/// A copy of host data on `device`; small integers keep a host value.
Tensor make_host_copy(Device& device, DType dtype, const Shape& shape, const void* data);

/// A vector of integers in host memory whatever the device scope: for shapes and sizes,
/// which ops want on the host.
Tensor make_host_ints(std::span<const int64_t> values);

/// Throws InvalidArgumentError when the element count overflows.
int64_t checked_bytes(DType dtype, const Shape& shape);

/// Integers of any width at `data` as 64-bit values.
PartialValue read_ints(DType dtype, const void* data, int64_t n);

/// The contents of an integer tensor with at most kMaxHostValues elements; waits and
/// copies when they are only on a device. `what` names the tensor in errors.
Ints host_ints(const Tensor& tensor, std::string_view what);

/// The one element of an integer or bool tensor; InvalidArgumentError when it has none or
/// several.
int64_t host_int(const Tensor& tensor, std::string_view what);

}  // namespace tandem
