// Joining and cutting along an axis: ConcatV2, SplitLike (its gradient), Split, SplitV,
// Pack, Unpack.
#include <fmt/format.h>

#include "op/emitter.h"
#include "op/output_count.h"
#include "ops/array_common.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

// A list of (partly) known vectors or scalars one after the other.
bool append_value(const TensorInfo& in, PartialValue& value) {
  if (in.has_value) {
    value.append(in.value.begin(), in.value.end());
    return true;
  }
  if (!in.shape.is_known() || in.shape.num_elements() > kMaxHostValues) return false;
  for (int64_t i = 0; i < in.shape.num_elements(); ++i) value.push_back(kUnknownValue);
  return true;
}
void join_values(const InferContext& c, TensorInfo& out) {
  if (!is_integer(out.dtype) || out.shape.rank() != 1) return;
  PartialValue value;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!append_value(c.input(i), value)) return;
  }
  set_value(out, std::move(value));
}

void infer_concat(InferContext& c) {
  c.require(c.num_inputs() > 0, "needs at least one tensor");
  const int64_t asked = c.attrs<AxisAttrs>().axis;
  int first = -1;
  for (int i = 0; i < c.num_inputs() && first < 0; ++i) {
    if (c.shape(i).has_rank()) first = i;
  }
  if (first < 0) {
    c.add_output(c.dtype(0), Shape::unknown());
    return;
  }
  const int rank = c.shape(first).rank();
  if (rank == 0) c.fail("ConcatOp : Can't concatenate scalars (use tf.stack instead)");
  if (asked < -rank || asked >= rank) {
    c.fail(fmt::format(
        "ConcatOp : Expected concatenating dimensions in the range [{}, {}), but got {}",
        -rank, rank, asked));
  }
  const int axis = static_cast<int>(asked < 0 ? asked + rank : asked);
  Shape out = c.shape(first);
  int64_t total = 0;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const Shape& s = c.shape(i);
    if (!s.has_rank()) {
      total = kUnknownDim;
      continue;
    }
    if (s.rank() != rank) {
      c.fail(
          fmt::format("ConcatOp : Ranks of all input tensors should match: shape[{}] = "
                      "{} vs. shape[{}] = {}",
                      first, c.shape(first).debug_str(), i, s.debug_str()));
    }
    for (int d = 0; d < rank; ++d) {
      if (d == axis || s[d] == kUnknownDim) continue;
      if (out[d] == kUnknownDim) {
        out.set(d, s[d]);
      } else if (out[d] != s[d]) {
        c.fail(fmt::format(
            "ConcatOp : Dimension {} in both shapes must be equal: shape[{}] = {} "
            "vs. shape[{}] = {}",
            d, first, c.shape(first).debug_str(), i, s.debug_str()));
      }
    }
    total =
        total == kUnknownDim || s[axis] == kUnknownDim ? kUnknownDim : total + s[axis];
    if (total < kUnknownDim) c.fail("ConcatOp : the sizes add up to more than 2**63 - 1");
  }
  out.set(axis, total);
  join_values(c, c.add_output(c.dtype(0), out));
}
void grad_concat(GradContext& c) {
  static const OpHandle op("SplitLike");
  std::vector<Tensor> inputs = {c.grad()};
  for (int i = 0; i < c.num_inputs(); ++i) inputs.push_back(c.input(i));
  const std::vector<Tensor> parts = emit_list(op, inputs, c.attrs<AxisAttrs>());
  for (int i = 0; i < c.num_inputs(); ++i) c.set(i, parts[static_cast<size_t>(i)]);
}
std::optional<int64_t> view_single(const Signature& s) {
  if (s.inputs.size() == 1) return 0;
  return std::nullopt;
}

int split_axis(const InferContext& c, int64_t axis) {
  const int rank = c.shape(0).rank();
  if (axis < -rank || axis >= rank) {
    c.fail(fmt::format("-input rank(-{0}) <= split_dim < input rank ({0}), but got {1}",
                       rank, axis));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// The parts have the dimensions of the value, and along the axis its size together.
void infer_split_like(InferContext& c) {
  const Shape& whole = c.shape(0);
  int64_t total = 0;
  int axis = 0;
  if (whole.has_rank()) axis = split_axis(c, c.attrs<AxisAttrs>().axis);
  for (int i = 1; i < c.num_inputs(); ++i) {
    const Shape& part = c.shape(i);
    c.add_output(c.dtype(0), part);
    if (!whole.has_rank() || !part.has_rank()) {
      total = kUnknownDim;
      continue;
    }
    Shape rest = whole;
    if (part.rank() == whole.rank()) rest.set(axis, part[axis]);
    if (!rest.compatible_with(part)) {
      c.fail(
          fmt::format("part {} of shape {} cannot be cut out of shape {} along axis {}",
                      i - 1, part.debug_str(), whole.debug_str(), axis));
    }
    const bool known = total != kUnknownDim && part[axis] != kUnknownDim;
    if (!known) {
      total = kUnknownDim;
    } else if (__builtin_add_overflow(total, part[axis], &total)) {
      c.fail("the parts have more elements than fit in 64 bits");
    }
  }
  if (!whole.has_rank() || total == kUnknownDim || whole[axis] == kUnknownDim) return;
  c.require(total == whole[axis],
            fmt::format("the parts have {} along axis {} together, the value has {}",
                        total, axis, whole[axis]));
}
void grad_to_concat(GradContext& c, int64_t axis) {
  std::vector<Tensor> parts;
  for (int i = 0; i < c.num_outputs(); ++i) parts.push_back(c.grad(i));
  c.set(0, concat(parts, {axis}));
}
void grad_split_like(GradContext& c) { grad_to_concat(c, c.attrs<AxisAttrs>().axis); }

// The values of [begin, begin + n) of a vector.
void part_value(const TensorInfo& in, int64_t begin, TensorInfo& out) {
  if (!in.has_value || !out.shape.is_known() || out.shape.rank() > 1) return;
  const int64_t n = out.shape.num_elements();
  if (begin + n > static_cast<int64_t>(in.value.size())) return;
  set_value(out, PartialValue(std::span<const int64_t>(in.value.data() + begin,
                                                       static_cast<size_t>(n))));
}

void infer_split(InferContext& c) {
  const auto& a = c.attrs<SplitAttrs>();
  if (a.num < 1)
    c.fail(fmt::format("Number of ways to split should be > 0, but got {}", a.num));
  check_output_count(c, a.num);
  Shape out = c.shape(0);
  if (out.has_rank()) {
    const int axis = split_axis(c, a.axis);
    if (out[axis] != kUnknownDim) {
      if (out[axis] % a.num != 0) {
        c.fail(fmt::format(
            "Number of ways to split should evenly divide the split dimension, but "
            "got split_dim {} (size = {}) and num_split {}",
            a.axis, out[axis], a.num));
      }
      out.set(axis, out[axis] / a.num);
    }
  }
  for (int64_t i = 0; i < a.num; ++i) {
    TensorInfo& part = c.add_output(c.dtype(0), out);
    if (out.is_known()) part_value(c.input(0), i * out.num_elements(), part);
  }
}
void grad_split(GradContext& c) { grad_to_concat(c, c.attrs<SplitAttrs>().axis); }

void infer_split_v(InferContext& c) {
  const auto& a = c.attrs<SplitVAttrs>();
  if (a.sizes.empty()) c.fail("size_splits must not be empty");
  int64_t sum = 0;
  int open = -1;
  for (size_t i = 0; i < a.sizes.size(); ++i) {
    if (a.sizes[i] == -1) {
      if (open >= 0) c.fail("There can only be one -1 in the input.");
      open = static_cast<int>(i);
      continue;
    }
    if (a.sizes[i] < 0) {
      c.fail(fmt::format("Split size at index {} must be >= 0. Got: {}", i, a.sizes[i]));
    }
    if (__builtin_add_overflow(sum, a.sizes[i], &sum)) {
      c.fail("size_splits add up to more than fits in 64 bits");
    }
  }
  const Shape& in = c.shape(0);
  const int axis = in.has_rank() ? split_axis(c, a.axis) : 0;
  const int64_t n = in.has_rank() ? in[axis] : kUnknownDim;
  if (n != kUnknownDim && (open >= 0 ? sum > n : sum != n)) {
    c.fail(fmt::format(
        "Determined shape must either match input shape along split_dim exactly if "
        "fully specified, or be less than the size of the input along split_dim "
        "if not fully specified.  Got: {}",
        sum));
  }
  int64_t begin = 0;
  for (int64_t size : a.sizes) {
    Shape out = in;
    const int64_t m = size >= 0 ? size : n == kUnknownDim ? kUnknownDim : n - sum;
    if (out.has_rank()) out.set(axis, m);
    TensorInfo& part = c.add_output(c.dtype(0), out);
    if (begin != kUnknownDim) part_value(c.input(0), begin, part);
    begin = m == kUnknownDim || begin == kUnknownDim ? kUnknownDim : begin + m;
  }
}
void grad_split_v(GradContext& c) { grad_to_concat(c, c.attrs<SplitVAttrs>().axis); }

int new_axis(const InferContext& c, int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    c.fail(fmt::format("axis = {} not in [{}, {})", axis, -rank, rank));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

void infer_pack(InferContext& c) {
  c.require(c.num_inputs() > 0, "needs at least one tensor");
  Shape out = c.shape(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (!out.compatible_with(c.shape(i))) {
      c.fail(
          fmt::format("Shapes of all inputs must match: values[0].shape = {} != "
                      "values[{}].shape = {}",
                      c.shape(0).debug_str(), i, c.shape(i).debug_str()));
    }
    out = out.merged_with(c.shape(i));
  }
  if (out.has_rank()) {
    out.insert(new_axis(c, c.attrs<AxisAttrs>().axis, out.rank() + 1), c.num_inputs());
  }
  join_values(c, c.add_output(c.dtype(0), out));
}
void grad_pack(GradContext& c) {
  static const OpHandle op("Unpack");
  const UnpackAttrs attrs{.num = c.num_inputs(), .axis = c.attrs<AxisAttrs>().axis};
  const std::vector<Tensor> parts = emit_all(op, {c.grad()}, attrs);
  for (int i = 0; i < c.num_inputs(); ++i) c.set(i, parts[static_cast<size_t>(i)]);
}

void infer_unpack(InferContext& c) {
  const auto& a = c.attrs<UnpackAttrs>();
  Shape out = c.shape(0);
  int64_t num = a.num;
  if (out.has_rank()) {
    const int axis = new_axis(c, a.axis, out.rank());
    if (num < 0) num = out[axis];
    if (out[axis] != kUnknownDim && out[axis] != num) {
      c.fail(fmt::format("Input shape axis {} must equal {}, got shape {}", axis, num,
                         out.debug_str()));
    }
    out.erase(axis);
  }
  if (num < 0) {
    throw ValueError(fmt::format("Cannot infer argument `num` from shape {}. Give num.",
                                 c.shape(0).str()));
  }
  check_output_count(c, num);
  for (int64_t i = 0; i < num; ++i) {
    part_value(c.input(0), i, c.add_output(c.dtype(0), out));
  }
}
void grad_unpack(GradContext& c) {
  if (c.num_outputs() == 0) {
    c.set(0, zeros_like(c.input(0)));
    return;
  }
  std::vector<Tensor> parts;
  for (int i = 0; i < c.num_outputs(); ++i) parts.push_back(c.grad(i));
  c.set(0, stack(parts, {c.attrs<UnpackAttrs>().axis}));
}

OpDef cut(const char* name, const char* doc, const AttrsType& attrs,
          void (*infer)(InferContext&), void (*gradient)(GradContext&)) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.inputs = {{.name = "value"}};
  def.outputs = {"output*"};
  def.attrs = &attrs;
  def.infer = infer;
  def.gradient = gradient;
  def.grad_inputs = 0;
  def.grad_outputs = 0;
  return def;
}

}  // namespace

void register_array_join_ops(OpTable& table) {
  table.add({.name = "ConcatV2",
             .doc = "Joins tensors along an axis.",
             .inputs = {{.name = "values", .variadic = true}},
             .attrs = &attrs_type<AxisAttrs>(),
             .infer = infer_concat,
             .gradient = grad_concat,
             .grad_inputs = 0,
             .grad_outputs = 0,
             .view = view_single});
  table.add({.name = "SplitLike",
             .doc = "Cuts a tensor along an axis into parts with the shapes of others.",
             .inputs = {{.name = "value"},
                        {.name = "like", .shape_only = true, .variadic = true}},
             .outputs = {"output*"},
             .attrs = &attrs_type<AxisAttrs>(),
             .infer = infer_split_like,
             .gradient = grad_split_like,
             .grad_inputs = 0,
             .grad_outputs = 0});
  table.add({.name = "Pack",
             .doc = "Stacks tensors of one shape along a new axis.",
             .inputs = {{.name = "values", .variadic = true}},
             .attrs = &attrs_type<AxisAttrs>(),
             .infer = infer_pack,
             .gradient = grad_pack,
             .grad_inputs = 0,
             .grad_outputs = 0,
             .view = view_single});
  table.add(cut("Split", "Cuts a tensor into equal parts along an axis.",
                attrs_type<SplitAttrs>(), infer_split, grad_split));
  table.add(cut("SplitV", "Cuts a tensor into parts of given sizes along an axis.",
                attrs_type<SplitVAttrs>(), infer_split_v, grad_split_v));
  table.add(cut("Unpack", "Takes a tensor apart along an axis, which goes away.",
                attrs_type<UnpackAttrs>(), infer_unpack, grad_unpack));
}

Tensor concat(const std::vector<Tensor>& values, AxisAttrs attrs) {
  static const OpHandle op("ConcatV2");
  return emit_list(op, values, attrs)[0];
}
Tensor stack(const std::vector<Tensor>& values, AxisAttrs attrs) {
  static const OpHandle op("Pack");
  return emit_list(op, values, attrs)[0];
}
std::vector<Tensor> unstack(const Tensor& x, AxisAttrs attrs) {
  static const OpHandle op("Unpack");
  return emit_all(op, {x}, UnpackAttrs{-1, attrs.axis});
}
std::vector<Tensor> split(const Tensor& x, SplitAttrs attrs) {
  static const OpHandle op("Split");
  return emit_all(op, {x}, attrs);
}
std::vector<Tensor> split(const Tensor& x, SplitVAttrs attrs) {
  static const OpHandle op("SplitV");
  return emit_all(op, {x}, attrs);
}

}  // namespace tandem
