// Selection between two operands and clipping. Selection moves bytes: one loop per
// element size.
#include <array>

#include "kernels/cpu/bytes16.h"
#include "kernels/cpu/elementwise_families.h"
#include "kernels/cpu/elementwise_loops.h"

namespace tandem::cpu::TANDEM_ISA {

namespace {

template <class T, unsigned kScalars>
void select(const void* const* in, void* out, int64_t n, const BlockParams&) {
  if (n <= 0) return;
  const Operand<(kScalars & 1) != 0, bool> c(static_cast<const bool*>(in[0]));
  const Operand<(kScalars & 2) != 0, T> x(static_cast<const T*>(in[1]));
  const Operand<(kScalars & 4) != 0, T> y(static_cast<const T*>(in[2]));
  T* o = static_cast<T*>(out);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const T a = x[i], b = y[i];
    o[i] = c[i] ? a : b;
  }
}

template <class T>
ElementwiseBlocks select_blocks(DType dtype) {
  return {3,
          dtype,
          1,
          {select<T, 0>, select<T, 1>, select<T, 2>, select<T, 3>, select<T, 4>,
           select<T, 5>, select<T, 6>, select<T, 7>}};
}

struct Clip {
  template <class T>
  T operator()(T x, T low, T high) const {
    const T below = (x < high || x != x) ? x : high;
    return (below > low || below != below) ? below : low;
  }
};
template <class... T>
void add_clips(BlockTable& table) {
  const auto add = [&]<class U>(U) {
    constexpr auto kPlain = Loop::kPlain;
    ElementwiseBlocks b{3, dtype_of<U>, 1, {}};
    b.variants[0] = make_block<Clip, Same, U, 3, 0, kPlain>();
    b.variants[6] = make_block<Clip, Same, U, 3, 6, kPlain>();
    table.add("ClipByValue", dtype_of<U>, b);
  };
  (add(T{}), ...);
}

}  // namespace

void add_select_blocks(BlockTable& table) {
  for (int i = static_cast<int>(DType::kBool); i <= static_cast<int>(DType::kComplex128);
       ++i) {
    const auto dtype = static_cast<DType>(i);
    const size_t size = dtype_size(dtype);
    table.add("SelectV2", dtype,
              size == 1   ? select_blocks<uint8_t>(dtype)
              : size == 2 ? select_blocks<uint16_t>(dtype)
              : size == 4 ? select_blocks<uint32_t>(dtype)
              : size == 8 ? select_blocks<uint64_t>(dtype)
                          : select_blocks<Bytes16>(dtype));
  }
  add_clips<TANDEM_ALL_FLOATS, TANDEM_ALL_INTS>(table);
}

}  // namespace tandem::cpu::TANDEM_ISA
