// Changes of shape that move nothing: Reshape, ReshapeLike, ExpandDims, Squeeze.
#include <fmt/format.h>

#include "op/emitter.h"
#include "ops/array_common.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

void keep_value(const InferContext& c, TensorInfo& out) {
  if (c.input(0).has_value) set_value(out, c.input(0).value);
}

// What the target says, dimension by dimension: a size, -1 (what is left over) or
// unknown.
PartialValue reshape_target(const InferContext& c) {
  const TensorInfo& target = c.input(1);
  PartialValue dims = *partial_ints(target);
  if (dims.size() > static_cast<size_t>(kMaxRank)) {
    c.fail(fmt::format("the requested shape has {} dimensions; at most {} are supported",
                       dims.size(), kMaxRank));
  }
  int inferred = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == kUnknownValue || dims[i] >= 0) continue;
    if (dims[i] != -1)
      c.fail(fmt::format("Size {} must be non-negative, not {}", i, dims[i]));
    if (inferred >= 0) {
      c.fail(
          fmt::format("Only one input size may be -1, not both {} and {}", inferred, i));
    }
    inferred = static_cast<int>(i);
  }
  return dims;
}

// TensorFlow's rule for -1 beside a zero: the quotient of the non-zero sizes on both
// sides.
int64_t left_over_of_empty(const Shape& in, const PartialValue& dims) {
  int64_t have = 1, asked = 1;
  for (int64_t d : in) have *= d == 0 ? 1 : d;
  for (int64_t d : dims) asked *= d <= 0 ? 1 : d;
  return have % asked == 0 ? have / asked : 0;
}

// Fills in the one dimension that is open when the input's element count decides it.
Shape resolve(const InferContext& c, const PartialValue& dims, const Shape& in) {
  const int64_t n = in.has_rank() ? in.num_elements() : kUnknownDim;
  Shape out, known;
  int open = -1, num_open = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    out.push_back(dims[i] >= 0 ? dims[i] : kUnknownDim);
    known.push_back(dims[i] >= 0 ? dims[i] : 1);
    if (dims[i] >= 0) continue;
    open = static_cast<int>(i);
    ++num_open;
  }
  if (n == kUnknownDim || num_open > 1) return out;
  const int64_t product = known.num_elements();
  const bool left_over = num_open == 1 && dims[static_cast<size_t>(open)] == -1;
  if (num_open == 0 ? n != product : product == 0 && n != 0) {
    c.fail(fmt::format(
        "Input to reshape is a tensor with {} values, but the requested shape has {}", n,
        product));
  }
  if (num_open == 0) return out;
  if (product == 0) {
    if (left_over) out.set(open, left_over_of_empty(in, dims));
    return out;
  }
  if (n % product != 0) {
    c.fail(fmt::format(
        "Input to reshape is a tensor with {} values, but the requested shape "
        "requires a multiple of {}",
        n, product));
  }
  out.set(open, n / product);
  return out;
}

void infer_reshape(InferContext& c) {
  const Shape& target = c.shape(1);
  if (target.has_rank() && target.rank() != 1) {
    c.fail(fmt::format("sizes input must be 1-D, not {}", target.debug_str()));
  }
  if (!partial_ints(c.input(1))) {
    c.add_output(c.dtype(0), Shape::unknown());
    return;
  }
  const Shape out = resolve(c, reshape_target(c), c.shape(0));
  keep_value(c, c.add_output(c.dtype(0), out));
}

void infer_reshape_like(InferContext& c) {
  const Shape &in = c.shape(0), &like = c.shape(1);
  if (in.is_known() && like.is_known() && in.num_elements() != like.num_elements()) {
    c.fail(fmt::format(
        "Input to reshape is a tensor with {} values, but the requested shape has {}",
        in.num_elements(), like.num_elements()));
  }
  keep_value(c, c.add_output(c.dtype(0), like));
}

void infer_expand_dims(InferContext& c) {
  const int64_t axis = c.attrs<AxisAttrs>().axis;
  Shape out = c.shape(0);
  if (out.has_rank()) {
    const int rank = out.rank();
    if (axis < -rank - 1 || axis > rank) {
      c.fail(fmt::format("Tried to expand dim index {} for tensor with {} dimensions.",
                         axis, rank));
    }
    out.insert(static_cast<int>(axis < 0 ? axis + rank + 1 : axis), 1);
  }
  keep_value(c, c.add_output(c.dtype(0), out));
}

void infer_squeeze(InferContext& c) {
  const Ints& axes = c.attrs<SqueezeAttrs>().axis;
  const Shape& in = c.shape(0);
  if (!in.has_rank()) {
    c.add_output(c.dtype(0), Shape::unknown());
    return;
  }
  uint32_t drop = 0;
  for (int64_t a : axes) {
    if (a < -in.rank() || a >= in.rank()) {
      c.fail(fmt::format("Tried to squeeze dim index {} for tensor with {} dimensions.",
                         a, in.rank()));
    }
    const int i = static_cast<int>(a < 0 ? a + in.rank() : a);
    if (in[i] != 1 && in[i] != kUnknownDim) {
      c.fail(fmt::format("Can not squeeze dim[{}], expected a dimension of 1, got {}", i,
                         in[i]));
    }
    drop |= 1u << i;
  }
  Shape out;
  for (int i = 0; i < in.rank(); ++i) {
    if (axes.empty() && in[i] == kUnknownDim) {
      c.add_output(c.dtype(0), Shape::unknown());
      return;
    }
    if (axes.empty() ? in[i] == 1 : (drop >> i & 1u) != 0) continue;
    out.push_back(in[i]);
  }
  keep_value(c, c.add_output(c.dtype(0), out));
}

}  // namespace

void register_array_reshape_ops(OpTable& table) {
  table.add({.name = "Reshape",
             .doc = "The same elements in another shape; one size may be -1. A view.",
             .types = {{'T', kAnyDType}, {'I', kIndices}},
             .inputs = {{.name = "tensor"}, {.name = "shape", .type = 'I', .host = true}},
             .infer = infer_reshape,
             .gradient = grad_reshape_back,
             .grad_inputs = 0,
             .grad_outputs = 0,
             .view = view_whole});
  table.add(
      {.name = "ReshapeLike",
       .doc = "The same elements in the shape of another tensor. A view.",
       .types = {{'T', kAnyDType}, {'L', ~0u}},
       .inputs = {{.name = "tensor"}, {.name = "like", .type = 'L', .shape_only = true}},
       .infer = infer_reshape_like,
       .gradient = grad_reshape_back,
       .grad_inputs = 0,
       .grad_outputs = 0,
       .view = view_whole});
  table.add({.name = "ExpandDims",
             .doc = "Inserts a dimension of size 1. A view.",
             .inputs = {{.name = "input"}},
             .attrs = &attrs_type<AxisAttrs>(),
             .infer = infer_expand_dims,
             .gradient = grad_reshape_back,
             .grad_inputs = 0,
             .grad_outputs = 0,
             .view = view_whole});
  table.add({.name = "Squeeze",
             .doc = "Removes dimensions of size 1. A view.",
             .inputs = {{.name = "input"}},
             .attrs = &attrs_type<SqueezeAttrs>(),
             .infer = infer_squeeze,
             .gradient = grad_reshape_back,
             .grad_inputs = 0,
             .grad_outputs = 0,
             .view = view_whole});
}

Tensor reshape(const Tensor& x, const Tensor& shape) {
  static const OpHandle op("Reshape");
  return emit(op, {x, shape});
}
Tensor reshape(const Tensor& x, const Shape& shape) {
  return reshape(x, host_vector(shape.dims()));
}
Tensor reshape_like(const Tensor& x, const Tensor& like) {
  static const OpHandle op("ReshapeLike");
  return emit(op, {x, like});
}
Tensor expand_dims(const Tensor& x, int64_t axis) {
  static const OpHandle op("ExpandDims");
  return emit(op, {x}, AxisAttrs{axis});
}
Tensor squeeze(const Tensor& x, SqueezeAttrs attrs) {
  static const OpHandle op("Squeeze");
  return emit(op, {x}, attrs);
}

}  // namespace tandem
