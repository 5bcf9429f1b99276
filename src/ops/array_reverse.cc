// ReverseV2, ReverseSequence, Roll.
#include <fmt/format.h>

#include "op/emitter.h"
#include "ops/array_common.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

void infer_reverse(InferContext& c) {
  const Shape& in = c.shape(0);
  const Ints& axes = c.attrs<ReverseAttrs>().axis;
  uint32_t seen = 0;
  for (size_t i = 0; in.has_rank() && i < axes.size(); ++i) {
    const int64_t a = axes[i] < 0 ? axes[i] + in.rank() : axes[i];
    if (a < 0 || a >= in.rank()) {
      c.fail(fmt::format("'axis'[{}] = {} is out of valid range [0, {}]", i, axes[i],
                         in.rank() - 1));
    }
    if (seen >> a & 1u) c.fail(fmt::format("axis {} specified more than once.", a));
    seen |= 1u << a;
  }
  TensorInfo& out = c.add_output(c.dtype(0), in);
  if (c.input(0).has_value && in.has_rank()) {
    PartialValue value = c.input(0).value;
    if (seen) std::reverse(value.begin(), value.end());
    set_value(out, std::move(value));
  }
}
void grad_reverse(GradContext& c) {
  c.set(0, reverse(c.grad(), c.attrs<ReverseAttrs>()));
}

void infer_reverse_sequence(InferContext& c) {
  const auto& a = c.attrs<ReverseSequenceAttrs>();
  const Shape &in = c.shape(0), &lengths = c.shape(1);
  if (lengths.has_rank() && lengths.rank() != 1) {
    c.fail(fmt::format("seq_lengths must be 1-dim, not {}-dim", lengths.rank()));
  }
  if (in.has_rank()) {
    const int seq = c.axis(a.seq_axis, in.rank()),
              batch = c.axis(a.batch_axis, in.rank());
    if (seq == batch) c.fail(fmt::format("batch_dim == seq_dim == {}", seq));
    if (lengths.is_known() && in[batch] != kUnknownDim && in[batch] != lengths[0]) {
      c.fail(fmt::format("Length of seq_lengths != input.dims({}), ({} vs. {})", batch,
                         lengths[0], in[batch]));
    }
    if (lengths.is_known() && in[batch] == kUnknownDim) {
      Shape out = in;
      out.set(batch, lengths[0]);
      c.add_output(c.dtype(0), out);
      return;
    }
  }
  c.add_output(c.dtype(0), in);
}
void grad_reverse_sequence(GradContext& c) {
  c.set(0, reverse_sequence(c.grad(), c.input(1), c.attrs<ReverseSequenceAttrs>()));
}

void infer_roll(InferContext& c) {
  const auto& a = c.attrs<RollAttrs>();
  if (a.shift.size() != a.axis.size()) c.fail("shift and axis must have the same size");
  const Shape& in = c.shape(0);
  if (in.has_rank() && in.rank() < 1) c.fail("input must be 1-D or higher");
  for (int64_t axis : a.axis) {
    if (in.has_rank() && (axis < -in.rank() || axis >= in.rank())) {
      c.fail(fmt::format("axis {} is out of range", axis));
    }
  }
  for (int64_t shift : a.shift) {
    if (shift == INT64_MIN) c.fail(fmt::format("shift {} is out of range", shift));
  }
  c.add_output(c.dtype(0), in);
}
void grad_roll(GradContext& c) {
  RollAttrs back = c.attrs<RollAttrs>();
  for (int64_t& s : back.shift) s = -s;
  c.set(0, roll(c.grad(), back));
}

}  // namespace

void register_array_reverse_ops(OpTable& table) {
  table.add({.name = "ReverseV2",
             .doc = "Reverses dimensions.",
             .inputs = {{.name = "tensor"}},
             .attrs = &attrs_type<ReverseAttrs>(),
             .infer = infer_reverse,
             .gradient = grad_reverse,
             .grad_inputs = 0,
             .grad_outputs = 0});
  table.add(
      {.name = "ReverseSequence",
       .doc = "Reverses the first elements of each batch entry, as many as it is long.",
       .types = {{'T', kAnyDType}, {'I', kIndices}},
       .inputs = {{.name = "input"}, {.name = "seq_lengths", .type = 'I'}},
       .attrs = &attrs_type<ReverseSequenceAttrs>(),
       .infer = infer_reverse_sequence,
       .gradient = grad_reverse_sequence,
       .grad_inputs = 2,
       .grad_outputs = 0,
       .effects = kMayFail});
  table.add({.name = "Roll",
             .doc = "Moves elements along axes, around the end.",
             .inputs = {{.name = "input"}},
             .attrs = &attrs_type<RollAttrs>(),
             .infer = infer_roll,
             .gradient = grad_roll,
             .grad_inputs = 0,
             .grad_outputs = 0});
}

Tensor reverse(const Tensor& x, ReverseAttrs attrs) {
  static const OpHandle op("ReverseV2");
  return emit(op, {x}, attrs);
}
Tensor reverse_sequence(const Tensor& x, const Tensor& seq_lengths,
                        ReverseSequenceAttrs attrs) {
  static const OpHandle op("ReverseSequence");
  return emit(op, {x, seq_lengths}, attrs);
}
Tensor roll(const Tensor& x, RollAttrs attrs) {
  static const OpHandle op("Roll");
  return emit(op, {x}, attrs);
}

}  // namespace tandem
