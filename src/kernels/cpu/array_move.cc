// Kernels that are one strided copy or a few: Transpose, BroadcastTo, BroadcastLike,
// Tile, ReverseV2, Roll. Any dtype, by element size; conjugation for complex64 and
// complex128.
#include "base/parallel.h"
#include "kernels/common/copy_layout.h"
#include "kernels/cpu/array_common.h"
#include "tandem/ops/array.h"

namespace tandem::cpu {

namespace {

struct TransposePlan {
  StridedCopy copy;
  int64_t conjugate = 0;  // elements
  bool is_double = false;
};
TransposePlan prepare_transpose(const Signature& s) {
  TransposePlan p{StridedCopy(s.in(0).dtype, transpose_layout(s)[0].dims)};
  if (s.attrs.as<TransposeAttrs>().conjugate && is_complex(s.in(0).dtype)) {
    p.conjugate = s.in(0).shape.num_elements();
    p.is_double = s.in(0).dtype == DType::kComplex128;
  }
  return p;
}
template <class T>
void conjugate(T* z, int64_t n) {
  parallel_for(n, 32 << 10, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) z[2 * i + 1] = -z[2 * i + 1];
  });
}
void launch_transpose(const TransposePlan& p, const LaunchArgs& a) {
  p.copy.run(a.in<void>(0), a.out<void>());
  if (!p.conjugate) return;
  if (p.is_double) {
    conjugate(a.out<double>(), p.conjugate);
  } else {
    conjugate(a.out<float>(), p.conjugate);
  }
}

template <auto kLayout>
MovePlan prepare_move(const Signature& s) {
  MovePlan plan;
  for (const CopyLayout& c : kLayout(s)) {
    plan.copies.emplace_back(s.in(0).dtype, c.dims, c.in_offset, c.out_offset);
  }
  return plan;
}

}  // namespace

void register_array_move_kernels(KernelRegistry& registry) {
  registry.add(
      make_kernel<prepare_transpose, launch_transpose>("Transpose", "cpu.transpose"));
  registry.add(make_kernel<prepare_move<broadcast_layout>, launch_move>(
      "BroadcastTo", "cpu.broadcast_to"));
  registry.add(make_kernel<prepare_move<broadcast_layout>, launch_move>(
      "BroadcastLike", "cpu.broadcast_like"));
  registry.add(make_kernel<prepare_move<tile_layout>, launch_move>("Tile", "cpu.tile"));
  registry.add(
      make_kernel<prepare_move<reverse_layout>, launch_move>("ReverseV2", "cpu.reverse"));
  registry.add(make_kernel<prepare_move<roll_layout>, launch_move>("Roll", "cpu.roll"));
}

}  // namespace tandem::cpu
