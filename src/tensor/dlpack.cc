#include <array>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "device/runtime.h"
#include "tandem/tensor.h"
#include "tensor/dlpack_abi.h"
#include "tensor/tensor_impl.h"

namespace tandem {

namespace {

struct TypeRow {
  DType dtype;
  uint8_t code, bits;
};
constexpr TypeRow kTypes[] = {
    {DType::kBool, dlpack::kBool, 8},
    {DType::kInt8, dlpack::kInt, 8},
    {DType::kInt16, dlpack::kInt, 16},
    {DType::kInt32, dlpack::kInt, 32},
    {DType::kInt64, dlpack::kInt, 64},
    {DType::kUInt8, dlpack::kUInt, 8},
    {DType::kUInt16, dlpack::kUInt, 16},
    {DType::kUInt32, dlpack::kUInt, 32},
    {DType::kUInt64, dlpack::kUInt, 64},
    {DType::kFloat16, dlpack::kFloat, 16},
    {DType::kFloat32, dlpack::kFloat, 32},
    {DType::kFloat64, dlpack::kFloat, 64},
    {DType::kBFloat16, dlpack::kBfloat, 16},
    {DType::kComplex64, dlpack::kComplex, 64},
    {DType::kComplex128, dlpack::kComplex, 128},
};

DType checked_dtype(const DLDataType& type) {
  if (type.lanes == 1) {
    for (const TypeRow& row : kTypes) {
      if (row.code == type.code && row.bits == type.bits) return row.dtype;
    }
  }
  throw InvalidArgumentError(fmt::format(
      "from_dlpack: no dtype for type code {}, {} bits, {} lanes. Cast the tensor to a "
      "standard type before it is exported.",
      type.code, type.bits, type.lanes));
}

void check_device(const DLDevice& device) {
  if (device.device_type == dlpack::kCpu || device.device_type == dlpack::kCudaHost)
    return;
  throw InvalidArgumentError(fmt::format(
      "from_dlpack: the tensor is on a device of DLPack type {} (id {}), and only "
      "host memory can be taken over. Copy it to the CPU before it is exported.",
      device.device_type, device.device_id));
}

Shape checked_shape(const DLTensor& t) {
  if (t.ndim < 0 || t.ndim > kMaxRank || (t.ndim > 0 && !t.shape)) {
    throw InvalidArgumentError(fmt::format(
        "from_dlpack: {} dimensions{}. Export a tensor with 0 to {} dimensions.", t.ndim,
        t.shape ? "" : " without sizes", kMaxRank));
  }
  Shape shape;
  for (int i = 0; i < t.ndim; ++i) {
    if (t.shape[i] < 0) {
      throw InvalidArgumentError(fmt::format(
          "from_dlpack: dimension {} has size {}. Export a tensor whose sizes are known.",
          i, t.shape[i]));
    }
    shape.push_back(t.shape[i]);
  }
  return shape;
}

std::byte* checked_address(const DLTensor& t, DType dtype, int64_t elements) {
  if (elements == 0) return nullptr;
  if (!t.data) {
    throw InvalidArgumentError(fmt::format(
        "from_dlpack: {} elements at a null pointer. Export a tensor that has memory.",
        elements));
  }
  auto* address = static_cast<std::byte*>(t.data) + t.byte_offset;
  const size_t alignment = dtype_size(real_dtype(dtype));
  if (reinterpret_cast<uintptr_t>(address) % alignment != 0) {
    throw InvalidArgumentError(
        fmt::format("from_dlpack: the elements of dtype {} start at {}, which is not a "
                    "multiple of {} bytes. Copy the tensor before it is exported.",
                    dtype_name(dtype), fmt::ptr(address), alignment));
  }
  return address;
}

bool is_contiguous(const DLTensor& t, const Shape& shape) {
  if (!t.strides || shape.num_elements() == 0) return true;
  int64_t expected = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] != 1 && t.strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

/// Copies elements of `kSize` bytes from a strided tensor to a row-major one.
template <size_t kSize>
void gather(const DLTensor& t, const Shape& shape, int axis, const std::byte* from,
            std::byte*& to) {
  const int64_t step = t.strides[axis] * static_cast<int64_t>(kSize);
  for (int64_t i = 0; i < shape[axis]; ++i) {
    if (axis + 1 < shape.rank()) {
      gather<kSize>(t, shape, axis + 1, from + i * step, to);
    } else {
      std::memcpy(to, from + i * step, kSize);
      to += kSize;
    }
  }
}

Tensor copy_strided(const DLTensor& t, DType dtype, const Shape& shape,
                    const std::byte* from) {
  Tensor copy = make_tensor(Runtime::get().cpu(), dtype, shape);
  auto* to = static_cast<std::byte*>(copy.impl()->data());
  switch (dtype_size(dtype)) {
    case 1:
      gather<1>(t, shape, 0, from, to);
      break;
    case 2:
      gather<2>(t, shape, 0, from, to);
      break;
    case 4:
      gather<4>(t, shape, 0, from, to);
      break;
    case 8:
      gather<8>(t, shape, 0, from, to);
      break;
    default:
      gather<16>(t, shape, 0, from, to);
      break;
  }
  return copy;
}

void release(DLManagedTensor* managed) {
  if (managed->deleter) managed->deleter(managed);
}

/// What an exported tensor keeps alive: the contents, and the arrays the C struct points
/// to.
struct Export {
  DLManagedTensor managed{};
  Tensor tensor;    // in host memory
  Tensor original;  // where it was
  std::array<int64_t, kMaxRank> shape{}, strides{};
};

extern "C" void tandem_delete_export(DLManagedTensor* managed) {
  delete static_cast<Export*>(managed->manager_ctx);
}

DLDataType exported_type(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return {row.code, row.bits, 1};
  }
  throw InvalidArgumentError(fmt::format(
      "to_dlpack: DLPack has no form for dtype {}. Export a numeric or bool tensor.",
      dtype_name(dtype)));
}

}  // namespace

// `managed` is consumed exactly when this returns: after an exception it is still the
// caller's.
Tensor from_dlpack(DLManagedTensor* managed) {
  if (!managed) throw InvalidArgumentError("from_dlpack: null pointer");
  const DLTensor& t = managed->dl_tensor;
  if (managed->deleter == tandem_delete_export) {
    const auto* ours = static_cast<Export*>(managed->manager_ctx);
    if (!ours->original.impl()->device->is_host()) {
      // It comes back to where it was: the tensor itself, on its device.
      Tensor original = ours->original;
      release(managed);
      return original;
    }
  }
  check_device(t.device);
  const DType dtype = checked_dtype(t.dtype);
  const Shape shape = checked_shape(t);
  checked_bytes(dtype, shape);
  std::byte* address = checked_address(t, dtype, shape.num_elements());
  if (is_contiguous(t, shape)) {
    return from_foreign(address, dtype, shape, [managed] { release(managed); });
  }
  Tensor copy = copy_strided(t, dtype, shape, address);
  release(managed);
  return copy;
}

DLManagedTensor* to_dlpack(const Tensor& tensor) {
  auto e = std::make_unique<Export>();
  e->tensor = tensor.to_host();
  e->original = tensor;
  const Shape& shape = tensor.shape();
  int64_t stride = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    const auto at = static_cast<size_t>(i);
    e->shape[at] = shape[i];
    e->strides[at] = stride;
    stride *= shape[i];
  }
  DLTensor& t = e->managed.dl_tensor;
  t.data = shape.num_elements() == 0 ? nullptr : e->tensor.impl()->data();
  t.device = {dlpack::kCpu, 0};
  t.ndim = shape.rank();
  t.dtype = exported_type(tensor.dtype());
  t.shape = e->shape.data();
  t.strides = e->strides.data();
  t.byte_offset = 0;
  e->managed.manager_ctx = e.get();
  e->managed.deleter = tandem_delete_export;
  return &e.release()->managed;
}

}  // namespace tandem
