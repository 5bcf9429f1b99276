// Cross-entropies of softmax: one op computes the loss and the gradient of the logits
// together, as TensorFlow's do.
#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/fused_losses.h"
#include "ops/nn_register.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

void infer_dense(InferContext& c) {
  const Shape &logits = c.shape(0), &labels = c.shape(1);
  Shape both;
  if (!broadcast_shapes(logits, labels, &both)) {
    c.fail(fmt::format(
        "logits and labels must be broadcastable: logits_size={} labels_size={}",
        logits.debug_str(), labels.debug_str()));
  }
  if (both.has_rank() && both.rank() != 2) {
    c.fail(fmt::format(
        "logits and labels must be either 2-dimensional, or broadcasted to be "
        "2-dimensional, but their shapes are {} and {}. softmax_cross_entropy() "
        "takes any rank.",
        logits.debug_str(), labels.debug_str()));
  }
  if (!both.has_rank()) both = Shape::unknown_of_rank(2);
  c.add_output(c.dtype(0), {both[0]});
  c.add_output(c.dtype(0), both);
}

/// Checks logits and class numbers; the gradient's shape.
Shape infer_rows(InferContext& c) {
  const Shape &logits = c.shape(0), &labels = c.shape(1);
  if (logits.has_rank() && logits.rank() != 2) {
    c.fail(fmt::format("logits must be 2-D, but got shape {}", logits.debug_str()));
  }
  if (labels.has_rank() && labels.rank() != 1) {
    c.fail(fmt::format("labels must be 1-D, but got shape {}", labels.debug_str()));
  }
  Shape out = logits.has_rank() ? logits : Shape::unknown_of_rank(2);
  if (labels.has_rank() && labels[0] >= 0) {
    if (out[0] >= 0 && out[0] != labels[0]) {
      c.fail(
          fmt::format("logits and labels must have the same first dimension, got logits "
                      "shape {} and labels shape {}",
                      logits.debug_str(), labels.debug_str()));
    }
    out.set(0, labels[0]);
  }
  if (out[1] == 0) {
    c.fail(fmt::format("Must have at least one class, but got logits shape {}",
                       logits.debug_str()));
  }
  return out;
}
void infer_sparse(InferContext& c) {
  const Shape out = infer_rows(c);
  c.add_output(c.dtype(0), {out[0]});
  c.add_output(c.dtype(0), out);
}
void infer_fused_sparse(InferContext& c) {
  const Shape out = infer_rows(c);
  if (c.num_inputs() > kLossScale && c.dtype(kLossScale) != DType::kInvalid) {
    const Shape& scale = c.shape(kLossScale);
    const bool fits = !scale.has_rank() || scale.rank() == 0 ||
                      (scale.rank() == 1 && scale.compatible_with(Shape{out[0]}));
    if (!fits) {
      c.fail(
          fmt::format("scale must be a number or one for each of {} rows, but got "
                      "shape {}",
                      out[0], scale.debug_str()));
    }
  }
  c.add_output(DType::kFloat32, {out[0]});
  c.add_output(c.dtype(0),
               c.attrs<FusedSparseCrossEntropyAttrs>().gradient ? out : Shape{0});
}

// Logits as wide as the second output: one row or column of them may stand for all.
Tensor whole_logits(const GradContext& c) {
  const Tensor& x = c.input(0);
  return x.shape().is_known() && x.shape() == c.output(1).shape()
             ? x
             : broadcast_like(x, c.output(1));
}

// Gradient of the logits: from the loss, and from the second output (second derivatives).
Tensor logits_grad(GradContext& c) {
  Tensor result;
  if (c.has_grad(0)) result = expand_dims(c.grad(0), 1) * c.output(1);
  if (c.has_grad(1)) {
    const Tensor p = nn::softmax(whole_logits(c)), u = c.grad(1);
    const Tensor term = (u - reduce_sum(u * p, {.axis = {1}, .keepdims = true})) * p;
    result = result.defined() ? result + term : term;
  }
  return result.defined() ? sum_like(result, c.input(0)) : result;
}

void grad_dense(GradContext& c) {
  if (c.needs(0)) c.set(0, logits_grad(c));
  if (!c.needs(1)) return;
  Tensor by_labels;
  if (c.has_grad(0)) {
    by_labels = negative(expand_dims(c.grad(0), 1) * nn::log_softmax(whole_logits(c)));
  }
  if (c.has_grad(1)) {
    const Tensor term = negative(c.grad(1));
    by_labels = by_labels.defined() ? by_labels + term : term;
  }
  if (by_labels.defined()) c.set(1, sum_like(by_labels, c.input(1)));
}
void grad_sparse(GradContext& c) { c.set(0, logits_grad(c)); }

Cost cross_entropy_cost(const Signature& s) {
  Cost cost = default_cost(s);
  cost.flops = 14.0 * static_cast<double>(s.out(1).shape.num_elements());
  return cost;
}

Cost fused_sparse_cost(const Signature& s) {
  Cost cost = default_cost(s);
  cost.flops = 14.0 * static_cast<double>(s.in(0).shape.num_elements());
  return cost;
}

}  // namespace

void register_nn_cross_entropy_ops(OpTable& table) {
  table.add(
      {.name = "SoftmaxCrossEntropyWithLogits",
       .doc = "Cross-entropy of softmax(logits) against probabilities, and its gradient.",
       .types = {{'T', kFloats}},
       .inputs = {{.name = "features"}, {.name = "labels"}},
       .outputs = {"loss", "backprop"},
       .infer = infer_dense,
       .gradient = grad_dense,
       .grad_outputs = 0b10,
       .cost = cross_entropy_cost});
  table.add(
      {.name = "SparseSoftmaxCrossEntropyWithLogits",
       .doc = "Cross-entropy of softmax(logits) against class numbers, and its gradient.",
       .types = {{'T', kFloats}, {'L', kIndices}},
       .inputs = {{.name = "features"}, {.name = "labels", .type = 'L'}},
       .outputs = {"loss", "backprop"},
       .infer = infer_sparse,
       .gradient = grad_sparse,
       .grad_inputs = 0b01,
       .grad_outputs = 0b10,
       .cost = cross_entropy_cost,
       .effects = kMayFail});
  table.add({.name = "FusedSparseCrossEntropy",
             .doc =
                 "Cross-entropy of softmax(logits) against class numbers in float32, "
                 "and its gradient, scaled, in the logits' dtype; made by graph passes.",
             .types = {{'T', kHalfs | mask(DType::kFloat32)},
                       {'L', kIndices},
                       {'S', mask(DType::kFloat32)}},
             .inputs = {{.name = "features"},
                        {.name = "labels", .type = 'L'},
                        {.name = "scale", .type = 'S', .optional = true}},
             .outputs = {"loss", "backprop"},
             .attrs = &attrs_type<FusedSparseCrossEntropyAttrs>(),
             .infer = infer_fused_sparse,
             .cost = fused_sparse_cost,
             .effects = kMayFail});
}

namespace nn {

namespace {

// Everything but the last dimension as one.
Tensor as_rows(const Tensor& x) {
  if (x.rank() == 2) return x;
  if (x.dim(-1) >= 0) return reshape(x, {-1, x.dim(-1)});
  const Tensor sizes = shape(x);
  const Tensor last = slice(sizes, {x.rank() - 1}, {1});
  return reshape(x, concat({constant(std::vector<int32_t>{-1}), last}, {.axis = 0}));
}

Tensor move_last(const Tensor& x, int64_t axis) {
  const int rank = x.rank();
  const int64_t at = axis < 0 ? axis + rank : axis;
  if (at == rank - 1 || at < 0 || at >= rank) return x;
  Ints perm;
  for (int i = 0; i < rank; ++i) {
    if (i != at) perm.push_back(i);
  }
  perm.push_back(at);
  return transpose(x, {perm});
}

}  // namespace

Tensor softmax_cross_entropy(const Tensor& labels, const Tensor& logits,
                             AxisAttrs attrs) {
  static const OpHandle op("SoftmaxCrossEntropyWithLogits");
  const int rank = logits.rank();
  if (rank < 1 || attrs.axis < -rank || attrs.axis >= rank) {
    throw InvalidArgumentError(
        fmt::format("softmax_cross_entropy: axis {} is out of range for logits {}",
                    attrs.axis, logits.shape().str()));
  }
  const Tensor x = move_last(logits, attrs.axis), y = move_last(labels, attrs.axis);
  const Tensor loss = emit_all(op, {as_rows(x), as_rows(y)})[0];
  if (rank == 2) return loss;
  return reshape(loss, slice(shape(x), {0}, {rank - 1}));
}

Tensor sparse_softmax_cross_entropy(const Tensor& labels, const Tensor& logits) {
  static const OpHandle op("SparseSoftmaxCrossEntropyWithLogits");
  if (logits.rank() == 2 && labels.rank() == 1) return emit_all(op, {logits, labels})[0];
  if (!labels.shape().compatible_with(logits.shape().slice(0, logits.rank() - 1))) {
    throw InvalidArgumentError(
        fmt::format("sparse_softmax_cross_entropy: `labels.shape` must equal "
                    "`logits.shape` except for the "
                    "last dimension. Received: labels.shape={} and logits.shape={}",
                    labels.shape().str(), logits.shape().str()));
  }
  const Tensor loss = emit_all(op, {as_rows(logits), reshape(labels, Shape{-1})})[0];
  return reshape_like(loss, labels);
}

}  // namespace nn

}  // namespace tandem
