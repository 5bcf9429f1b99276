// MirrorPad: any dtype but strings, by element size. MirrorPadGrad: all numbers.
#include <array>

#include <fmt/format.h>

#include "kernels/cuda/expression.h"
#include "kernels/cuda/move_plan.h"
#include "kernels/cuda/wide_elements.h"
#include "ops/array_common.h"
#include "tandem/ops/array_layout.h"

namespace tandem::cuda {

std::string mirror_text(const char* type, int rank, bool wide_index, bool fold) {
  return text_prefix(false) +
         fmt::format("typedef {} T;\ntypedef {} I;\n#define RANK {}\n{}", type,
                     wide_index ? "u64" : "u32", rank, fold ? "#define FOLD\n" : "") +
         std::string(device_text("mirror.cuh"));
}

namespace {

/// A dimension, or several that are not padded and lie together.
struct MirrorDim {
  int64_t inner = 1, before = 0, after = 0;
  bool padded() const { return before + after > 0; }
  int64_t outer() const { return before + inner + after; }
};
std::vector<MirrorDim> mirror_dims(const Shape& inner, const Ints& paddings) {
  std::vector<MirrorDim> dims;
  for (int i = 0; i < inner.rank(); ++i) {
    const auto k = static_cast<size_t>(2 * i);
    const MirrorDim d{inner[i], paddings[k], paddings[k + 1]};
    if (!dims.empty() && !d.padded() && !dims.back().padded()) {
      dims.back().inner *= d.inner;
    } else {
      dims.push_back(d);
    }
  }
  if (dims.empty()) dims.push_back({});
  return dims;
}

struct MirrorPlan {
  WideFunction function;
  int64_t n = 0;  // elements of the output
  std::vector<MirrorDim> dims;
  uint64_t skip = 0;
  bool fold = false;
};
MirrorPlan make_mirror(const Signature& s, const Shape& inner, bool fold) {
  MirrorPlan p;
  p.dims = mirror_dims(inner, *known_ints(s.in(1)));
  p.n = s.out().shape.num_elements();
  p.skip = s.attrs.as<MirrorPadAttrs>().mode == MirrorMode::kReflect ? 1 : 0;
  p.fold = fold;
  if (p.n == 0) return p;
  const int rank = static_cast<int>(p.dims.size());
  const bool wide_index = p.n > UINT32_MAX || s.in(0).shape.num_elements() > UINT32_MAX;
  if (fold) {
    p.function.narrow = find_function(
        s.device, s.op->name,
        mirror_text(type_text(s.out().dtype), rank, wide_index, true), "mirror_fold");
    return p;
  }
  // Rows that are not padded may go in wide elements.
  const int64_t run = p.dims.back().padded() ? 1 : p.dims.back().inner;
  p.function =
      WideFunction::find(s, element_of(s.in(0)), run, "mirror_pad", [&](size_t bytes) {
        return mirror_text(bits_text(bytes), rank, wide_index, false);
      });
  return p;
}
MirrorPlan prepare_mirror_pad(const Signature& s) {
  return make_mirror(s, s.in(0).shape, false);
}
MirrorPlan prepare_mirror_grad(const Signature& s) {
  return make_mirror(s, s.out().shape, true);
}

void launch_mirror(const MirrorPlan& p, const LaunchArgs& a) {
  if (p.n == 0) return;
  const bool wide = p.function.fits(a.inputs[0], a.outputs[0]);
  const int64_t times = wide ? p.function.times : 1;
  const Function& f = wide ? p.function.wide : p.function.narrow;
  const size_t rank = p.dims.size();
  std::array<uint64_t, 4 + 5 * kMaxRank> words{};
  words[0] = reinterpret_cast<uint64_t>(a.inputs[0]);
  words[1] = reinterpret_cast<uint64_t>(a.outputs[0]);
  words[2] = static_cast<uint64_t>(p.n / times);
  words[3] = p.skip;
  int64_t step = 1;
  for (size_t d = rank; d-- > 0;) {
    MirrorDim dim = p.dims[d];
    if (d + 1 == rank) dim.inner /= times;
    words[4 + d] = static_cast<uint64_t>(p.fold ? dim.inner : dim.outer());
    words[4 + rank + d] = static_cast<uint64_t>(dim.inner);
    words[4 + 2 * rank + d] = static_cast<uint64_t>(dim.before);
    words[4 + 3 * rank + d] = static_cast<uint64_t>(step);
    words[4 + 4 * rank + d] = static_cast<uint64_t>(dim.after);
    step *= p.fold ? dim.outer() : dim.inner;
  }
  void* arguments[] = {words.data()};
  launch_raw(f, *a.stream, grid_for(f, p.n / times), arguments);
}

}  // namespace

void register_mirror(Kernels& kernels) {
  kernels.add(make_kernel<prepare_mirror_pad, launch_mirror>("MirrorPad",
                                                             "cuda.mirror_pad", kPlain));
  kernels.add(make_kernel<prepare_mirror_grad, launch_mirror>(
      "MirrorPadGrad", "cuda.mirror_pad_grad", kNumbers));
}

}  // namespace tandem::cuda
