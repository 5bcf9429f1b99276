// DynamicPartition and DynamicStitch, each the inverse and the gradient of the other.
#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "op/output_count.h"
#include "ops/indexing_families.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

void infer_partition(InferContext& c) {
  const int64_t lists = c.attrs<DynamicPartitionAttrs>().num_partitions;
  c.require(lists >= 1, fmt::format("num_partitions must be at least 1, got {}", lists));
  check_output_count(c, lists);
  const Shape &data = c.shape(0), &partitions = c.shape(1);
  Shape out = Shape::unknown();
  if (data.has_rank() && partitions.has_rank()) {
    const int rank = partitions.rank();
    if (rank > data.rank() || !data.slice(0, rank).compatible_with(partitions)) {
      c.fail(
          fmt::format("data.shape must start with partitions.shape, got data.shape = {}, "
                      "partitions.shape = {}",
                      data.debug_str(), partitions.debug_str()));
    }
    out = data.slice(rank, data.rank());
    out.insert(0, kUnknownDim);
  }
  for (int64_t i = 0; i < lists; ++i) c.add_output(c.dtype(0), out);
}

void grad_partition(GradContext& c) {
  // Where each slice came from, partitioned the same way, says where its gradient goes.
  static const OpHandle ones("OnesLike");
  const Tensor& partitions = c.input(1);
  const Tensor all = reshape(emit(ones, {partitions}), Shape{-1});
  const Tensor positions =
      reshape_like(cast(squeeze(where(all), {.axis = {1}}), DType::kInt32), partitions);
  const std::vector<Tensor> places =
      dynamic_partition(positions, partitions, c.attrs<DynamicPartitionAttrs>());
  std::vector<Tensor> grads;
  for (int i = 0; i < c.num_outputs(); ++i) grads.push_back(c.grad(i));
  c.set(0, reshape_like(dynamic_stitch(places, grads), c.input(0)));
}

// Inputs: N lists of indices, then N lists of data.
void infer_stitch(InferContext& c) {
  const int lists = c.num_inputs() / 2;
  c.require(lists >= 1 && c.num_inputs() % 2 == 0,
            "needs as many lists of data as lists of indices, at least one");
  Shape slice = Shape::unknown();
  for (int i = 0; i < lists; ++i) {
    c.dtype_in(i, {DType::kInt32});
    c.same_dtype(lists, lists + i);
    const Shape &indices = c.shape(i), &data = c.shape(lists + i);
    if (!indices.has_rank() || !data.has_rank()) continue;
    const int rank = indices.rank();
    if (rank > data.rank() || !data.slice(0, rank).compatible_with(indices)) {
      c.fail(fmt::format(
          "data[{0}].shape = {1} does not start with indices[{0}].shape = {2}", i,
          data.debug_str(), indices.debug_str()));
    }
    const Shape rest = data.slice(rank, data.rank());
    if (!slice.compatible_with(rest)) {
      c.fail(
          fmt::format("Need data[0].shape[{}:] = data[{}].shape[{}:], got data[0].shape "
                      "= {}, data[{}].shape = "
                      "{}, indices[0].shape = {}, indices[{}].shape = {}",
                      c.shape(0).rank(), i, rank, c.shape(lists).debug_str(), i,
                      data.debug_str(), c.shape(0).debug_str(), i, indices.debug_str()));
    }
    slice = slice.merged_with(rest);
  }
  if (slice.has_rank()) slice.insert(0, kUnknownDim);
  c.add_output(c.dtype(lists), slice);
}

void grad_stitch(GradContext& c) {
  const int lists = c.num_inputs() / 2;
  const Tensor g = c.grad();
  for (int i = 0; i < lists; ++i) {
    if (c.needs(lists + i)) c.set(lists + i, gather(g, c.input(i)));
  }
}

}  // namespace

void register_partition_ops(OpTable& table) {
  table.add(
      {.name = "DynamicPartition",
       .doc = "Slices of a tensor, each in the list that its partition number says.",
       .types = {{'T', kAnyDType}, {'P', mask(DType::kInt32)}},
       .inputs = {{.name = "data"}, {.name = "partitions", .type = 'P'}},
       .outputs = {"outputs*"},
       .attrs = &attrs_type<DynamicPartitionAttrs>(),
       .infer = infer_partition,
       .gradient = grad_partition,
       .grad_inputs = 2,
       .grad_outputs = 0,
       .dynamic = true,
       .effects = kMayFail});
  table.add({.name = "DynamicStitch",
             .doc = "Lists of slices put together by lists of indices; the last of equal "
                    "ones wins.",
             .types = {},
             .inputs = {{.name = "indices_and_data", .type = '*', .variadic = true}},
             .outputs = {"merged"},
             .infer = infer_stitch,
             .gradient = grad_stitch,
             .grad_outputs = 0,
             .dynamic = true,
             .effects = kMayFail});
}

std::vector<Tensor> dynamic_partition(const Tensor& data, const Tensor& partitions,
                                      DynamicPartitionAttrs attrs) {
  static const OpHandle op("DynamicPartition");
  return emit_all(op, {data, partitions}, attrs);
}

Tensor dynamic_stitch(const std::vector<Tensor>& indices,
                      const std::vector<Tensor>& data) {
  static const OpHandle op("DynamicStitch");
  std::vector<Tensor> all = indices;
  all.insert(all.end(), data.begin(), data.end());
  const std::vector<TensorArg> args(all.begin(), all.end());
  return current_emitter().emit_one(op, default_attrs(op), args);
}

}  // namespace tandem
