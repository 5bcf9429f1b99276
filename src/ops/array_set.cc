// ListDiff, and functions over other array ops: meshgrid, sequence_mask, tril, triu.
#include <fmt/format.h>

#include "op/emitter.h"
#include "ops/array_common.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

void infer_list_diff(InferContext& c) {
  for (int i = 0; i < 2; ++i) {
    if (c.shape(i).has_rank() && c.shape(i).rank() != 1) {
      c.fail(fmt::format("{} should be a 1D vector.", i == 0 ? "x" : "y"));
    }
  }
  const DType index = c.attrs<ListDiffAttrs>().out_idx;
  if (index != DType::kInt32 && index != DType::kInt64) {
    c.fail(fmt::format("out_idx is {}, expected int32 or int64", dtype_name(index)));
  }
  c.add_output(c.dtype(0), {kUnknownDim});
  c.add_output(index, {kUnknownDim});
}

}  // namespace

void register_array_set_ops(OpTable& table) {
  table.add({.name = "ListDiff",
             .doc = "The elements of a vector that are not in another, and their places.",
             .inputs = {{.name = "x"}, {.name = "y"}},
             .outputs = {"out", "idx"},
             .attrs = &attrs_type<ListDiffAttrs>(),
             .infer = infer_list_diff,
             .differentiable = false,
             .dynamic = true});
}

std::pair<Tensor, Tensor> setdiff1d(const Tensor& x, const Tensor& y,
                                    ListDiffAttrs attrs) {
  static const OpHandle op("ListDiff");
  std::vector<Tensor> out = emit_all(op, {x, y}, attrs);
  return {std::move(out[0]), std::move(out[1])};
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors,
                             std::string_view indexing) {
  if (indexing != "xy" && indexing != "ij") {
    throw ValueError(fmt::format(
        "Argument `indexing` parameter must be either 'xy' or 'ij', got '{}'", indexing));
  }
  const size_t n = vectors.size();
  const bool exchange = indexing == "xy" && n > 1;
  // Vector i varies along output dimension at(i).
  const auto at = [&](size_t i) { return exchange && i < 2 ? 1 - i : i; };
  std::vector<Tensor> sizes(n);
  for (size_t i = 0; i < n; ++i) sizes[at(i)] = size(vectors[i]);
  const Tensor all = n ? stack(sizes) : Tensor();
  std::vector<Tensor> grids;
  for (size_t i = 0; i < n; ++i) {
    Ints dims(n, 1);
    dims[at(i)] = -1;
    grids.push_back(broadcast_to(reshape(vectors[i], host_vector(dims)), all));
  }
  return grids;
}

Tensor sequence_mask(const Tensor& lengths, int64_t maxlen, DType dtype) {
  static const OpHandle less("Less");
  const DType type = lengths.dtype();
  const Tensor limit = maxlen >= 0 ? scalar(static_cast<long>(maxlen), type)
                                   : maximum(reduce_max(lengths), zeros({}, type));
  const Tensor places = range(scalar(0, type), limit, scalar(1, type));
  const Tensor mask = emit(less, {places, expand_dims(lengths, -1)});
  return dtype == DType::kBool ? mask : cast(mask, dtype);
}

Tensor tril(const Tensor& x, int64_t k) {
  return band_part(x, {.num_lower = -1, .num_upper = 0, .diagonal = k});
}
Tensor triu(const Tensor& x, int64_t k) {
  return band_part(x, {.num_lower = 0, .num_upper = -1, .diagonal = k});
}

}  // namespace tandem
