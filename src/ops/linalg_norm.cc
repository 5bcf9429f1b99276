// Norms, and clipping by them.
#include <cmath>

#include <fmt/format.h>

#include "ops/linalg_ops.h"
#include "tandem/ops.h"
#include "tandem/ops/array_layout.h"

namespace tandem {

namespace {

[[noreturn]] void bad_order(const char* kind, const NormAttrs& attrs) {
  throw ValueError(fmt::format("norm: 'ord' must be a supported {} norm, got {}", kind,
                               attrs.frobenius ? "fro" : fmt::format("{}", attrs.order)));
}

// The two axes moved to the end, the largest singular value, and the dimensions put back.
Tensor spectral_norm(const Tensor& x, const Ints& axis) {
  const int rank = x.shape().rank();
  if (rank < 0) {
    throw InvalidArgumentError(
        "norm: the 2-norm of matrices needs a tensor of known rank.");
  }
  Ints wanted;
  for (int64_t a : axis) wanted.push_back(a < 0 ? a + rank : a);
  Ints before, after;
  for (int64_t i = 0; i < rank; ++i) {
    if (i != wanted[0] && i != wanted[1]) before.push_back(i);
  }
  before.push_back(wanted[0]);
  before.push_back(wanted[1]);
  after.resize(before.size());
  for (size_t i = 0; i < before.size(); ++i) {
    after[static_cast<size_t>(before[i])] = static_cast<int64_t>(i);
  }
  const Tensor largest = reduce_max(linalg::svdvals(transpose(x, {.perm = before})),
                                    {.axis = {-1}, .keepdims = true});
  return transpose(expand_dims(largest, -1), {.perm = after});
}

// All reductions keep their dimensions; no axes means all.
Tensor norm_kept(const Tensor& x, const NormAttrs& n) {
  const bool matrix = n.axis.size() == 2;
  const auto only = [&](size_t i) {
    return ReduceAttrs{.axis = n.axis.empty() ? Ints{} : Ints{n.axis[i]},
                       .keepdims = true};
  };
  if (n.order == 0 || (n.order == 2 && !matrix)) {
    const Tensor squares = is_complex(x.dtype()) ? multiply(x, conj(x)) : square(x);
    return sqrt(reduce_sum(squares, {.axis = n.axis, .keepdims = true}));
  }
  if (n.order == 2) return spectral_norm(x, n.axis);
  const Tensor sizes = abs(x);
  if (n.order == 1) {
    const Tensor sums = reduce_sum(sizes, only(0));
    return matrix ? reduce_max(sums, only(1)) : sums;
  }
  if (std::isinf(n.order)) {
    return reduce_max(matrix ? reduce_sum(sizes, only(1)) : sizes, only(0));
  }
  const Tensor powers = pow(sizes, scalar(n.order, sizes.dtype()));
  return pow(reduce_sum(powers, {.axis = n.axis, .keepdims = true}),
             scalar(1 / n.order, sizes.dtype()));
}

Tensor sum_of_squares(const Gradient& g) {
  const Tensor x = g.is_slices() ? g.slices().values : g.dense();
  return reduce_sum(is_complex(x.dtype()) ? multiply(x, conj(x)) : square(x));
}

}  // namespace

Tensor norm(const Tensor& x, NormAttrs n) {
  const bool matrix = n.axis.size() == 2;
  if (n.axis.size() > 2 || (matrix && n.axis[0] == n.axis[1])) {
    throw ValueError(
        fmt::format("norm: 'axis' must be None, an integer, or a tuple of 2 unique "
                    "integers, got ({})",
                    fmt::join(n.axis, ", ")));
  }
  if (matrix) {
    const bool known = n.order == 0 || n.order == 1 || n.order == 2 ||
                       (std::isinf(n.order) && n.order > 0);
    if (!known) bad_order("matrix", n);
  } else if (n.frobenius || n.order < 0 || std::isnan(n.order)) {
    bad_order("vector", n);
  }
  const Tensor kept = norm_kept(x, n);
  if (n.keepdims) return kept;
  return n.axis.empty() ? reshape(kept, Shape{}) : squeeze(kept, {.axis = n.axis});
}

Tensor clip_by_norm(const Tensor& x, const Tensor& clip_norm, const Ints& axes) {
  const Tensor squares = reduce_sum(square(x), {.axis = axes, .keepdims = true});
  // The gradient of sqrt at 0 is infinite: 0 takes another way.
  const Tensor positive = greater_than(squares, zeros_like(squares));
  const Tensor safe = where(positive, squares, ones_like(squares));
  const Tensor length = where(positive, sqrt(safe), squares);
  const Tensor limit = cast(clip_norm, x.dtype());
  return multiply(x, limit) / maximum(length, limit);
}

Tensor global_norm(const std::vector<Gradient>& tensors) {
  std::vector<Tensor> squares;
  for (const Gradient& g : tensors) {
    if (g.defined()) squares.push_back(sum_of_squares(g));
  }
  if (squares.empty()) return constant(0.f);
  return sqrt(reduce_sum(stack(squares)));
}

std::pair<std::vector<Gradient>, Tensor> clip_by_global_norm(
    const std::vector<Gradient>& tensors, const Tensor& clip_norm,
    const Tensor& use_norm) {
  const Tensor total = use_norm.defined() ? use_norm : global_norm(tensors);
  const Tensor limit = cast(clip_norm, total.dtype());
  const Tensor finite = limit * minimum(1 / total, 1 / limit);
  const Tensor scale = finite + (total - total);  // NaN when the norm is not finite
  std::vector<Gradient> clipped;
  for (const Gradient& g : tensors) {
    if (!g.defined()) {
      clipped.emplace_back();
    } else if (g.is_slices()) {
      const IndexedSlices& s = g.slices();
      clipped.emplace_back(IndexedSlices{
          multiply(s.values, cast(scale, s.values.dtype())), s.indices, s.dense_shape});
    } else {
      const Tensor x = g.dense();
      clipped.emplace_back(multiply(x, cast(scale, x.dtype())));
    }
  }
  return {std::move(clipped), total};
}

}  // namespace tandem
