// Pad, PadV2, MirrorPad and its gradient.
#include <fmt/format.h>

#include "op/emitter.h"
#include "ops/array_common.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

// Checks that paddings are [rank, 2] and not negative; the output shape as far as known.
// `sign` is +1 for padding, -1 for taking it away again.
Shape padded_shape(const InferContext& c, const char* negative, int sign) {
  const Shape &in = c.shape(0), &p = c.shape(1);
  if (p.has_rank() && (p.rank() != 2 || (p[1] != 2 && p[1] != kUnknownDim))) {
    c.fail(fmt::format("paddings must be a matrix with 2 columns: {}", p.debug_str()));
  }
  const int64_t rows = p.has_rank() ? p[0] : kUnknownDim;
  if (in.has_rank() && rows != kUnknownDim && rows != in.rank()) {
    c.fail(fmt::format("The first dimension of paddings must be the rank of inputs{} {}",
                       p.debug_str(), in.debug_str()));
  }
  if (!in.has_rank()) {
    return rows == kUnknownDim ? Shape::unknown()
                               : Shape::unknown_of_rank(static_cast<int>(rows));
  }
  const auto values = known_ints(c.input(1));
  if (!values) return Shape::unknown_of_rank(in.rank());
  Shape out = in;
  for (int i = 0; i < in.rank(); ++i) {
    const int64_t before = (*values)[static_cast<size_t>(2 * i)];
    const int64_t after = (*values)[static_cast<size_t>(2 * i + 1)];
    if (before < 0 || after < 0) {
      c.fail(fmt::format("{} must be non-negative: {} {}", negative, before, after));
    }
    if (in[i] != kUnknownDim) out.set(i, in[i] + sign * (before + after));
    if (in[i] != kUnknownDim && out[i] < 0) {
      c.fail(fmt::format("dimension {} of size {} is smaller than its paddings {} and {}",
                         i, in[i], before, after));
    }
  }
  return out;
}

void infer_pad(InferContext& c) {
  const Shape out = padded_shape(c, "Paddings", 1);
  if (c.num_inputs() > 2) c.rank(2, 0);
  c.add_output(c.dtype(0), out);
}
void grad_pad(GradContext& c) {
  // Column 0 of the paddings is where the input begins in the output.
  const DType type = c.input(1).dtype();
  const Tensor begin = index(c.input(1), {Index::all(), 0});
  if (c.needs(0) || c.num_inputs() > 2) {
    const Tensor inner = slice(c.grad(), begin, c.shape_of_input(0, type));
    c.set(0, inner);
    if (c.num_inputs() > 2 && c.needs(2)) {
      c.set(2, subtract(reduce_sum(c.grad()), reduce_sum(inner)));
    }
  }
}

void check_mirror(const InferContext& c, const Shape& in) {
  const auto values = known_ints(c.input(1));
  if (!values || !in.has_rank()) return;
  const bool reflect = c.attrs<MirrorPadAttrs>().mode == MirrorMode::kReflect;
  for (int i = 0; i < in.rank(); ++i) {
    const int64_t before = (*values)[static_cast<size_t>(2 * i)];
    const int64_t after = (*values)[static_cast<size_t>(2 * i + 1)];
    const int64_t most = in[i] - (reflect ? 1 : 0);
    if (in[i] == kUnknownDim || (before <= most && after <= most)) continue;
    if (before == 0 && after == 0) continue;
    c.fail(reflect ? fmt::format("paddings must be less than the dimension size: {}, {} "
                                 "not less than {}",
                                 before, after, in[i])
                   : fmt::format(
                         "paddings must be no greater than the dimension size: {}, {} "
                         "greater than {}",
                         before, after, in[i]));
  }
}
void infer_mirror_pad(InferContext& c) {
  const Shape out = padded_shape(c, "paddings", 1);
  check_mirror(c, c.shape(0));
  c.add_output(c.dtype(0), out);
}
void infer_mirror_pad_grad(InferContext& c) {
  const Shape out = padded_shape(c, "paddings", -1);
  check_mirror(c, out);
  c.add_output(c.dtype(0), out);
}
void grad_mirror_pad(GradContext& c) {
  static const OpHandle op("MirrorPadGrad");
  c.set(0, emit(op, {c.grad(), c.input(1)}, c.attrs<MirrorPadAttrs>()));
}
void grad_mirror_pad_grad(GradContext& c) {
  c.set(0, mirror_pad(c.grad(), c.input(1), c.attrs<MirrorPadAttrs>()));
}

Tensor paddings_tensor(const Paddings& paddings) {
  std::vector<int64_t> flat;
  for (const auto& [before, after] : paddings) {
    flat.push_back(before);
    flat.push_back(after);
  }
  return reshape(host_vector(std::span<const int64_t>(flat)),
                 Shape{static_cast<int64_t>(paddings.size()), 2});
}

}  // namespace

void register_array_pad_ops(OpTable& table) {
  const InputDef input{.name = "input"};
  const InputDef paddings{.name = "paddings", .type = 'I', .host = true};
  const std::vector<TypeVar> types = {{'T', kAnyDType}, {'I', kIndices}};
  table.add({.name = "Pad",
             .doc = "Pads with zeros.",
             .types = types,
             .inputs = {input, paddings},
             .infer = infer_pad,
             .gradient = grad_pad,
             .grad_inputs = 2,
             .grad_outputs = 0});
  table.add({.name = "PadV2",
             .doc = "Pads with a given value.",
             .types = types,
             .inputs = {input, paddings, {.name = "constant_values"}},
             .infer = infer_pad,
             .gradient = grad_pad,
             .grad_inputs = 2,
             .grad_outputs = 0});
  table.add(
      {.name = "MirrorPad",
       .doc =
           "Pads with mirrored contents, with (SYMMETRIC) or without (REFLECT) the edge.",
       .types = types,
       .inputs = {input, paddings},
       .attrs = &attrs_type<MirrorPadAttrs>(),
       .infer = infer_mirror_pad,
       .gradient = grad_mirror_pad,
       .grad_inputs = 2,
       .grad_outputs = 0});
  table.add({.name = "MirrorPadGrad",
             .doc = "Folds mirrored paddings back and adds them up.",
             .types = {{'T', kNumbers}, {'I', kIndices}},
             .inputs = {input, paddings},
             .attrs = &attrs_type<MirrorPadAttrs>(),
             .infer = infer_mirror_pad_grad,
             .gradient = grad_mirror_pad_grad,
             .grad_inputs = 2,
             .grad_outputs = 0});
}

Tensor pad(const Tensor& x, const Tensor& paddings) {
  static const OpHandle op("Pad");
  return emit(op, {x, paddings});
}
Tensor pad(const Tensor& x, const Tensor& paddings, const Tensor& value) {
  static const OpHandle op("PadV2");
  return emit(op, {x, paddings, value});
}
Tensor pad(const Tensor& x, const Paddings& paddings) {
  return pad(x, paddings_tensor(paddings));
}
Tensor pad(const Tensor& x, const Paddings& paddings, Scalar value) {
  return pad(x, paddings_tensor(paddings), scalar(value, x.dtype()));
}
Tensor mirror_pad(const Tensor& x, const Tensor& paddings, MirrorPadAttrs attrs) {
  static const OpHandle op("MirrorPad");
  return emit(op, {x, paddings}, attrs);
}
Tensor mirror_pad(const Tensor& x, const Paddings& paddings, MirrorPadAttrs attrs) {
  return mirror_pad(x, paddings_tensor(paddings), attrs);
}

}  // namespace tandem
