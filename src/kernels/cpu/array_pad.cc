// Pad, PadV2, MirrorPad: the center is copied, the borders are filled or copied
// backwards. Any dtype.
#include "kernels/cpu/array_common.h"
#include "kernels/cpu/array_mirror.h"
#include "ops/array_common.h"

namespace tandem::cpu {

namespace {

struct PadPlan {
  StridedCopy center;
  std::vector<StridedCopy> borders;  // from one element
};
PadPlan prepare_pad(const Signature& s) {
  const Shape &in = s.in(0).shape, &out = s.out().shape;
  const Ints paddings = *known_ints(s.in(1));
  const Ints in_steps = row_major(in), out_steps = row_major(out);
  const DType dtype = s.in(0).dtype;
  std::vector<CopyDim> dims;
  int64_t offset = 0;
  for (int i = 0; i < in.rank(); ++i) {
    const auto k = static_cast<size_t>(i);
    dims.push_back({in[i], in_steps[k], out_steps[k]});
    offset += paddings[2 * k] * out_steps[k];
  }
  PadPlan plan{StridedCopy(dtype, dims, 0, offset), {}};
  // Border i: all of the dimensions after i, the padding along i, the center of those
  // before.
  offset = 0;
  for (int i = 0; i < in.rank(); ++i) {
    const auto k = static_cast<size_t>(i);
    const int64_t before = paddings[2 * k], after = paddings[2 * k + 1];
    std::vector<CopyDim> border;
    for (int d = 0; d < in.rank(); ++d) {
      const auto m = static_cast<size_t>(d);
      border.push_back({d < i ? in[d] : out[d], 0, out_steps[m]});
    }
    if (before > 0) {
      border[k].n = before;
      plan.borders.emplace_back(dtype, border, 0, offset);
    }
    if (after > 0) {
      border[k].n = after;
      plan.borders.emplace_back(dtype, border, 0,
                                offset + (before + in[i]) * out_steps[k]);
    }
    offset += before * out_steps[k];
  }
  return plan;
}
void run_pad(const PadPlan& p, const LaunchArgs& a, const void* value) {
  for (const StridedCopy& c : p.borders) c.run(value, a.out<void>());
  p.center.run(a.in<void>(0), a.out<void>());
}
void launch_pad_zero(const PadPlan& p, const LaunchArgs& a) {
  alignas(16) static constexpr std::byte kZero[16] = {};
  run_pad(p, a, kZero);
}
void launch_pad_strings(const PadPlan& p, const LaunchArgs& a) {
  p.center.run(a.in<void>(0), a.out<void>());
}
void launch_pad(const PadPlan& p, const LaunchArgs& a) { run_pad(p, a, a.in<void>(2)); }

MovePlan prepare_mirror_pad(const Signature& s) {
  MovePlan plan;
  for (const MirrorPiece& piece :
       mirror_pieces(s.in(0).shape, s.out().shape, *known_ints(s.in(1)),
                     s.attrs.as<MirrorPadAttrs>().mode)) {
    plan.copies.emplace_back(s.in(0).dtype, piece.dims, piece.in_offset,
                             piece.out_offset);
  }
  return plan;
}

}  // namespace

std::vector<MirrorPiece> mirror_pieces(const Shape& inner, const Shape& padded,
                                       const Ints& paddings, MirrorMode mode) {
  const Ints in_steps = row_major(inner), out_steps = row_major(padded);
  const int64_t skip = mode == MirrorMode::kReflect ? 1 : 0;
  std::vector<MirrorPiece> pieces = {{{}, 0, 0, true}};
  for (int i = 0; i < inner.rank(); ++i) {
    const auto k = static_cast<size_t>(i);
    const int64_t n = inner[i], before = paddings[2 * k], after = paddings[2 * k + 1];
    std::vector<MirrorPiece> next;
    const auto add = [&](const MirrorPiece& p, int64_t count, int64_t from, int64_t to,
                         int64_t direction) {
      MirrorPiece q = p;
      q.dims.push_back({count, direction * in_steps[k], out_steps[k]});
      q.in_offset += from * in_steps[k];
      q.out_offset += to * out_steps[k];
      q.is_center &= direction > 0;
      next.push_back(std::move(q));
    };
    for (const MirrorPiece& p : pieces) add(p, n, 0, before, 1);
    for (const MirrorPiece& p : pieces) {
      if (before > 0) add(p, before, before - 1 + skip, 0, -1);
      if (after > 0) add(p, after, n - 1 - skip, before + n, -1);
    }
    pieces = std::move(next);
  }
  return pieces;
}

void register_array_pad_kernels(KernelRegistry& registry) {
  registry.add(make_kernel<prepare_pad, launch_pad_zero>("Pad", "cpu.pad", kPlain));
  registry.add(make_kernel<prepare_pad, launch_pad_strings>("Pad", "cpu.pad.string",
                                                            mask(DType::kString)));
  registry.add(make_kernel<prepare_pad, launch_pad>("PadV2", "cpu.pad_v2"));
  registry.add(
      make_kernel<prepare_mirror_pad, launch_move>("MirrorPad", "cpu.mirror_pad"));
}

}  // namespace tandem::cpu
