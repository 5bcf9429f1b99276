// Kernels that are one strided copy or a few: Transpose, BroadcastTo, BroadcastLike,
// Tile, ReverseV2, Roll. Any dtype, by element size; conjugation for complex64 and
// complex128.
#include "base/parallel.h"
#include "kernels/cpu/array_common.h"
#include "ops/array_common.h"
#include "ops/array_transpose.h"
#include "tandem/ops/array.h"

namespace tandem::cpu {

namespace {

struct TransposePlan {
  StridedCopy copy;
  int64_t conjugate = 0;  // elements
  bool is_double = false;
};
TransposePlan prepare_transpose(const Signature& s) {
  const auto& attrs = s.attrs.as<TransposeAttrs>();
  const Shape &in = s.in(0).shape, &out = s.out().shape;
  const Ints perm = full_permutation(attrs, in.rank());
  const Ints in_steps = row_major(in), out_steps = row_major(out);
  std::vector<CopyDim> dims;
  for (int i = 0; i < out.rank(); ++i) {
    const auto k = static_cast<size_t>(i);
    dims.push_back({out[i], in_steps[static_cast<size_t>(perm[k])], out_steps[k]});
  }
  TransposePlan p{StridedCopy(s.in(0).dtype, dims)};
  if (attrs.conjugate && is_complex(s.in(0).dtype)) {
    p.conjugate = in.num_elements();
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

MovePlan prepare_broadcast(const Signature& s) {
  const Shape &in = s.in(0).shape, &out = s.out().shape;
  const Ints in_steps = row_major(in), out_steps = row_major(out);
  const int missing = out.rank() - in.rank();
  std::vector<CopyDim> dims;
  for (int i = 0; i < out.rank(); ++i) {
    const bool repeated = i < missing || in[i - missing] == 1;
    dims.push_back({out[i], repeated ? 0 : in_steps[static_cast<size_t>(i - missing)],
                    out_steps[static_cast<size_t>(i)]});
  }
  return {{StridedCopy(s.in(0).dtype, dims)}, 0};
}

MovePlan prepare_tile(const Signature& s) {
  const Shape &in = s.in(0).shape, &out = s.out().shape;
  const Ints in_steps = row_major(in), out_steps = row_major(out);
  const Ints multiples = *known_ints(s.in(1));
  std::vector<CopyDim> dims;
  for (int i = 0; i < in.rank(); ++i) {
    const auto k = static_cast<size_t>(i);
    dims.push_back({multiples[k], 0, out_steps[k] * in[i]});
    dims.push_back({in[i], in_steps[k], out_steps[k]});
  }
  return {{StridedCopy(s.in(0).dtype, dims)}, 0};
}

MovePlan prepare_reverse(const Signature& s) {
  const Shape& in = s.in(0).shape;
  const Ints steps = row_major(in);
  std::vector<CopyDim> dims;
  for (int i = 0; i < in.rank(); ++i) {
    const auto k = static_cast<size_t>(i);
    dims.push_back({in[i], steps[k], steps[k]});
  }
  int64_t offset = 0;
  if (in.num_elements() == 0) return {};
  for (int64_t axis : s.attrs.as<ReverseAttrs>().axis) {
    CopyDim& d = dims[static_cast<size_t>(axis < 0 ? axis + in.rank() : axis)];
    offset += (d.n - 1) * d.in;
    d.in = -d.in;
  }
  return {{StridedCopy(s.in(0).dtype, dims, offset)}, 0};
}

// Each rolled axis falls into two pieces; the copies are all combinations.
MovePlan prepare_roll(const Signature& s) {
  const auto& attrs = s.attrs.as<RollAttrs>();
  const Shape& in = s.in(0).shape;
  MovePlan plan;
  if (in.num_elements() == 0) return plan;
  const Ints steps = row_major(in);
  Ints shift(static_cast<size_t>(in.rank()), 0);
  for (size_t i = 0; i < attrs.axis.size(); ++i) {
    const int64_t axis = attrs.axis[i] < 0 ? attrs.axis[i] + in.rank() : attrs.axis[i];
    const int64_t n = in[static_cast<int>(axis)];
    int64_t& total = shift[static_cast<size_t>(axis)];
    total = ((total + attrs.shift[i]) % n + n) % n;
  }
  std::vector<CopyDim> dims(static_cast<size_t>(in.rank()));
  const auto add = [&](auto&& self, int axis, int64_t in_offset,
                       int64_t out_offset) -> void {
    if (axis == in.rank()) {
      plan.copies.emplace_back(s.in(0).dtype, dims, in_offset, out_offset);
      return;
    }
    const auto k = static_cast<size_t>(axis);
    const int64_t n = in[axis], by = shift[k], step = steps[k];
    dims[k] = {n - by, step, step};
    self(self, axis + 1, in_offset, out_offset + by * step);
    if (by == 0) return;
    dims[k] = {by, step, step};
    self(self, axis + 1, in_offset + (n - by) * step, out_offset);
  };
  add(add, 0, 0, 0);
  return plan;
}

}  // namespace

void register_array_move_kernels(KernelRegistry& registry) {
  registry.add(
      make_kernel<prepare_transpose, launch_transpose>("Transpose", "cpu.transpose"));
  registry.add(
      make_kernel<prepare_broadcast, launch_move>("BroadcastTo", "cpu.broadcast_to"));
  registry.add(
      make_kernel<prepare_broadcast, launch_move>("BroadcastLike", "cpu.broadcast_like"));
  registry.add(make_kernel<prepare_tile, launch_move>("Tile", "cpu.tile"));
  registry.add(make_kernel<prepare_reverse, launch_move>("ReverseV2", "cpu.reverse"));
  registry.add(make_kernel<prepare_roll, launch_move>("Roll", "cpu.roll"));
}

}  // namespace tandem::cpu
