// CTC: the loss computes its gradient together with itself, as the cross-entropies do.
#include "tandem/ops/nn_ctc.h"

#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/nn_register.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

// Logits as [time, batch, classes] with what the lengths say about the batch.
Shape logits_shape(InferContext& c, std::initializer_list<int> batched) {
  c.rank(0, 3);
  Shape out = c.shape(0).has_rank() ? c.shape(0) : Shape::unknown_of_rank(3);
  for (int i : batched) {
    if (!c.shape(i).has_rank() || c.shape(i).rank() == 0 || c.shape(i)[0] < 0) continue;
    if (out[1] >= 0 && out[1] != c.shape(i)[0]) {
      c.fail(fmt::format("input {} has a batch of {}, the logits {} one of {}.", i,
                         c.shape(i)[0], out.debug_str(), out[1]));
    }
    out.set(1, c.shape(i)[0]);
  }
  return out;
}

void check_blank(InferContext& c, int64_t blank, int64_t classes) {
  if (classes < 0) return;
  if (blank < -classes || blank >= classes) {
    c.fail(fmt::format("blank_index must be in [{}, {}), got {}.", -classes, classes,
                       blank));
  }
}

void infer_loss(InferContext& c) {
  c.rank(1, 2);
  c.rank(2, 1);
  c.rank(3, 1);
  const Shape logits = logits_shape(c, {1, 2, 3});
  check_blank(c, c.attrs<nn::CtcAttrs>().blank_index, logits[2]);
  c.add_output(c.dtype(0), {logits[1]});
  c.add_output(c.dtype(0), logits);
}

void grad_loss(GradContext& c) {
  if (c.has_grad(1)) {
    throw UnimplementedError(
        "CTCLossDense has no second derivative. Take the gradient once.");
  }
  c.set(0, expand_dims(expand_dims(c.grad(0), 0), 2) * c.output(1));
}

void infer_greedy(InferContext& c) {
  c.rank(1, 1);
  const Shape logits = logits_shape(c, {1});
  check_blank(c, c.attrs<nn::CtcGreedyAttrs>().blank_index, logits[2]);
  c.add_output(DType::kInt64, {1, logits[1], logits[0]});
  c.add_output(c.dtype(0), {logits[1], 1});
}

void infer_beam(InferContext& c) {
  c.rank(1, 1);
  const Shape logits = logits_shape(c, {1});
  const auto& attrs = c.attrs<nn::CtcBeamAttrs>();
  if (attrs.top_paths < 1 || attrs.beam_width < attrs.top_paths) {
    c.fail(fmt::format("beam_width must be at least top_paths, got {} and {}.",
                       attrs.beam_width, attrs.top_paths));
  }
  // Prefixes are numbered by 32 bits.
  const int64_t steps = std::max<int64_t>(logits[0], 0) + 1;
  if (attrs.beam_width > INT32_MAX / steps) {
    c.fail(fmt::format("beam_width {} is too large for {} steps.", attrs.beam_width,
                       steps - 1));
  }
  if (logits[2] == 0) c.fail("logits have no class, not even the blank.");
  c.add_output(DType::kInt64, {attrs.top_paths, logits[1], logits[0]});
  c.add_output(c.dtype(0), {logits[1], attrs.top_paths});
}

Cost loss_cost(const Signature& s) {
  Cost cost = default_cost(s);
  const Shape& logits = s.in(0).shape;
  const double states = 2.0 * static_cast<double>(s.in(1).shape.dim(-1)) + 1;
  cost.flops = static_cast<double>(logits[0] * logits[1]) *
               (60 * states + 14 * static_cast<double>(logits[2]));
  return cost;
}

constexpr DTypeMask kCtcTypes = mask(DType::kFloat32, DType::kFloat64);

}  // namespace

void register_nn_ctc_ops(OpTable& table) {
  const InputDef length{.name = "logit_length", .type = 'L'};
  table.add({.name = "CTCLossDense",
             .doc = "-log p(labels | logits) by connectionist temporal classification, "
                    "and its gradient.",
             .types = {{'T', kCtcTypes}, {'L', mask(DType::kInt32)}},
             .inputs = {{.name = "logits"},
                        {.name = "labels", .type = 'L'},
                        length,
                        {.name = "label_length", .type = 'L'}},
             .outputs = {"loss", "backprop"},
             .attrs = &attrs_type<nn::CtcAttrs>(),
             .infer = infer_loss,
             .gradient = grad_loss,
             .grad_inputs = 0,
             .grad_outputs = 0b10,
             .cost = loss_cost,
             .effects = kMayFail});
  table.add({.name = "CTCGreedyDecode",
             .doc = "The best class of each step, without repetitions and blanks.",
             .types = {{'T', kCtcTypes}, {'L', mask(DType::kInt32)}},
             .inputs = {{.name = "logits"}, length},
             .outputs = {"labels", "score"},
             .attrs = &attrs_type<nn::CtcGreedyAttrs>(),
             .infer = infer_greedy,
             .differentiable = false,
             .effects = kMayFail});
  table.add({.name = "CTCBeamDecode",
             .doc = "The most probable label sequences, by beam search over prefixes.",
             .types = {{'T', kCtcTypes}, {'L', mask(DType::kInt32)}},
             .inputs = {{.name = "logits"}, length},
             .outputs = {"labels", "score"},
             .attrs = &attrs_type<nn::CtcBeamAttrs>(),
             .infer = infer_beam,
             .differentiable = false,
             .effects = kMayFail});
}

namespace nn {

Tensor ctc_loss(const Tensor& logits, const Tensor& labels, const Tensor& logit_length,
                const Tensor& label_length, CtcAttrs attrs) {
  static const OpHandle op("CTCLossDense");
  return emit_all(op, {logits, labels, logit_length, label_length}, attrs)[0];
}

CtcDecoded ctc_greedy_decode(const Tensor& logits, const Tensor& logit_length,
                             CtcGreedyAttrs attrs) {
  static const OpHandle op("CTCGreedyDecode");
  const std::vector<Tensor> out = emit_all(op, {logits, logit_length}, attrs);
  return {out[0], out[1]};
}

CtcDecoded ctc_beam_decode(const Tensor& logits, const Tensor& logit_length,
                           CtcBeamAttrs attrs) {
  static const OpHandle op("CTCBeamDecode");
  const std::vector<Tensor> out = emit_all(op, {logits, logit_length}, attrs);
  return {out[0], out[1]};
}

}  // namespace nn

}  // namespace tandem
