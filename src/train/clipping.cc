#include "train/clipping.h"

#include <fmt/format.h>

#include "tandem/ops.h"

namespace tandem::optimizers {

namespace {

std::vector<Gradient> clip_all(const std::vector<Gradient>& gradients, double limit) {
  const auto narrow = [](const Tensor& x) { return cast(x, DType::kFloat32); };
  const auto dtype = [](const Gradient& g) {
    return g.is_slices() ? g.slices().values.dtype() : g.dense().dtype();
  };
  // Norms of different dtypes meet in float32.
  Tensor norm;
  for (const Gradient& g : gradients) {
    if (dtype(g) == dtype(gradients[0])) continue;
    std::vector<Gradient> cast_all;
    for (const Gradient& each : gradients) {
      cast_all.push_back(map_gradient(each, narrow));
    }
    norm = global_norm(cast_all);
    break;
  }
  return clip_by_global_norm(gradients, scalar(limit, DType::kFloat32), norm).first;
}

std::string text(const std::optional<double>& limit) {
  return limit ? fmt::format("{}", *limit) : "None";
}

}  // namespace

void check_clipping(const Clipping& clip) {
  if (clip.norm.has_value() + clip.value.has_value() + clip.global_norm.has_value() > 1) {
    throw ValueError(fmt::format(
        "Only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be set. Received: "
        "clipnorm={}, clipvalue={}, global_clipnorm={}",
        text(clip.norm), text(clip.value), text(clip.global_norm)));
  }
  for (const auto& limit : {clip.norm, clip.value, clip.global_norm}) {
    if (limit && !(*limit > 0)) {
      throw ValueError(fmt::format(
          "Optimizer: gradients cannot be clipped to {}. Give a positive limit, or none.",
          *limit));
    }
  }
}

std::vector<Gradient> clip_gradients(const Clipping& clip,
                                     const std::vector<Gradient>& gradients) {
  if (clip.global_norm) return clip_all(gradients, *clip.global_norm);
  std::vector<Gradient> result = gradients;
  for (Gradient& g : result) {
    if (clip.norm) {
      g = map_gradient(g, [limit = *clip.norm](const Tensor& x) {
        return clip_by_norm(x, scalar(limit, x.dtype()));
      });
    }
    if (clip.value) {
      g = map_gradient(g, [limit = *clip.value](const Tensor& x) {
        return clip_by_value(x, -limit, limit);
      });
    }
  }
  return result;
}

// Sorting puts equal rows side by side, in their order. The first is compared with the
// last: groups are counted from 0 when all are equal, else from 1.
IndexedSlices add_up_equal_rows(const IndexedSlices& slices) {
  const Tensor order = argsort(slices.indices);
  const Tensor sorted = gather(slices.indices, order);
  const Tensor begins = not_equal(sorted, roll(sorted, {.shift = {1}, .axis = {0}}));
  const Tensor group = cumsum(cast(begins, DType::kInt32));
  const Tensor rows = size(slices.indices);
  const Tensor first = gather(unsorted_segment_min(order, group, rows + 1), group);
  return {unsorted_segment_sum(gather(slices.values, order), first, rows), slices.indices,
          slices.dense_shape};
}

IndexedSlices distinct_rows(const IndexedSlices& slices) {
  const UniqueResult rows = unique(slices.indices);
  return {unsorted_segment_sum(slices.values, rows.idx, size(rows.y)), rows.y,
          slices.dense_shape};
}

}  // namespace tandem::optimizers
