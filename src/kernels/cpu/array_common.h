// What the array kernels share: plans made of strided copies, parallel zero fill,
// dispatch by element size and by dtype.
#pragma once

#include <complex>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/cpu/bytes16.h"
#include "kernels/cpu/strided_copy.h"
#include "op/kernel.h"
#include "tandem/half.h"

namespace tandem::cpu {

/// Output 0 from input 0 by copies, after zeros where they leave gaps.
struct MovePlan {
  std::vector<StridedCopy> copies;
  size_t zero_bytes = 0;
};
void launch_move(const MovePlan& p, const LaunchArgs& a);

/// Writes zero bytes in parallel.
void fill_zero(void* out, size_t bytes);
/// Bytes of a tensor's contents, 0 for strings (which start out empty).
size_t zeroed_bytes(const TensorInfo& t);

/// Calls f with a value of the unsigned type of that many bytes, or a std::string for
/// strings.
template <class F>
void for_element(DType dtype, F&& f) {
  if (dtype == DType::kString) {
    f(std::string());
    return;
  }
  switch (dtype_size(dtype)) {
    case 1:
      f(uint8_t{});
      break;
    case 2:
      f(uint16_t{});
      break;
    case 4:
      f(uint32_t{});
      break;
    case 8:
      f(uint64_t{});
      break;
    default:
      f(Bytes16{});
      break;
  }
}

/// Copies n contiguous elements.
template <class T>
void copy_elements(T* out, const T* in, int64_t n) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    std::memcpy(out, in, static_cast<size_t>(n) * sizeof(T));
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = in[i];
  }
}

/// Elements of about 20 µs of copying.
inline int64_t copy_grain(int64_t elements_per_item, size_t element_bytes) {
  const int64_t bytes = elements_per_item * static_cast<int64_t>(element_bytes);
  return std::max<int64_t>(1, (128 << 10) / std::max<int64_t>(1, bytes));
}

void register_array_add_kernels(KernelRegistry& registry);
void register_array_block_kernels(KernelRegistry& registry);
void register_array_diag_kernels(KernelRegistry& registry);
void register_array_fill_kernels(KernelRegistry& registry);
void register_array_join_kernels(KernelRegistry& registry);
void register_array_move_kernels(KernelRegistry& registry);
void register_array_order_kernels(KernelRegistry& registry);
void register_array_pad_kernels(KernelRegistry& registry);
void register_array_slice_kernels(KernelRegistry& registry);

}  // namespace tandem::cpu
