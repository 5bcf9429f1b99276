#include <fmt/format.h>

#include "graph/trace.h"
#include "op/emitter.h"
#include "run/tape.h"
#include "tandem/gradient.h"
#include "tandem/ops.h"

namespace tandem {

GradientTape::GradientTape(TapeOptions options) : tape_(std::make_shared<Tape>(options)) {
  push_tape(tape_.get());
}

GradientTape::~GradientTape() { remove_tape(tape_.get()); }

void GradientTape::watch(const Source& source) { tape_->watch(source.tensor()); }

std::vector<Variable> GradientTape::watched_variables() const {
  return tape_->watched_variables();
}

void GradientTape::reset() { tape_->reset(); }

void GradientTape::stop() { remove_tape(tape_.get()); }

void GradientTape::stop_recording(const std::function<void()>& body) {
  if (!tape_->active) return body();
  remove_tape(tape_.get());
  struct Restore {
    Tape* tape;
    ~Restore() { push_tape(tape); }
  } restore{tape_.get()};
  body();
}

std::vector<Gradient> GradientTape::gradient(std::span<const Tensor> targets,
                                             std::span<const Source> sources,
                                             const GradientOptions& options) {
  if (tape_->used) {
    throw RuntimeStateError(
        "A non-persistent GradientTape can only be used to compute one set of gradients "
        "(or "
        "jacobians). Make it persistent to ask again.");
  }
  if (!options.output_gradients.empty() &&
      options.output_gradients.size() != targets.size()) {
    throw ValueError(fmt::format("gradient: {} output gradients for {} targets",
                                 options.output_gradients.size(), targets.size()));
  }
  if (!tape_->options().persistent) {
    remove_tape(tape_.get());
    auto result = tape_->gradient(targets, sources, options);
    tape_->reset();
    tape_->used = true;
    return result;
  }
  return tape_->gradient(targets, sources, options);
}

namespace {

Shape source_shape(const Source& source) {
  const Tensor& t = source.tensor();
  return t.dtype() == DType::kResource ? Variable::from_handle(t).shape() : t.shape();
}

// Rows d flat[i] / d source for all i, stacked: [n, source…].
Tensor jacobian_rows(Tape& tape, const Tensor& target, const Source& source, int64_t n,
                     const std::function<Tensor(int64_t)>& seed) {
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < n; ++i) {
    GradientOptions options{Unconnected::kZero, {seed(i)}};
    rows.push_back(tape.gradient({&target, 1}, {&source, 1}, options)[0].dense());
  }
  return stack(rows, {.axis = 0});
}

void require_reusable(Tape& tape) {
  if (tape.used) {
    throw RuntimeStateError(
        "A non-persistent GradientTape can only be used to compute one set of gradients "
        "(or "
        "jacobians). Make it persistent to ask again.");
  }
}

// A tape that is not persistent stops recording, and is empty afterwards.
class LastUse {
 public:
  explicit LastUse(Tape& tape) : tape_(tape) {
    if (!tape_.options().persistent) remove_tape(&tape_);
  }
  LastUse(const LastUse&) = delete;
  LastUse& operator=(const LastUse&) = delete;
  ~LastUse() {
    if (tape_.options().persistent) return;
    tape_.reset();
    tape_.used = true;
  }

 private:
  Tape& tape_;
};

}  // namespace

Tensor GradientTape::jacobian(const Tensor& target, const Source& source,
                              Unconnected unconnected) {
  require_reusable(*tape_);
  const LastUse last(*tape_);
  if (unconnected == Unconnected::kNone &&
      !tape_->gradient({&target, 1}, {&source, 1}, {})[0].defined()) {
    return {};
  }
  const int64_t n = target.num_elements();
  Shape shape = target.shape();
  for (int64_t d : source_shape(source)) shape.push_back(d);
  Tensor result;
  if (n == 0) {
    result = zeros(shape, target.dtype());
  } else {
    const Tensor basis = eye(n, target.dtype());
    result = reshape(jacobian_rows(*tape_, target, source, n,
                                   [&](int64_t i) {
                                     return reshape(slice(basis, {i, 0}, {1, n}),
                                                    target.shape());
                                   }),
                     shape);
  }
  return result;
}

Tensor GradientTape::batch_jacobian(const Tensor& target, const Source& source,
                                    Unconnected unconnected) {
  require_reusable(*tape_);
  const Shape in = source_shape(source);
  const Shape& out = target.shape();
  if (out.rank() < 1 || in.rank() < 1 || out[0] != in[0]) {
    throw ValueError(fmt::format(
        "Need first dimension of target shape ({}) and source shape ({}) to match.",
        out.debug_str(), in.debug_str()));
  }
  const LastUse last(*tape_);
  if (unconnected == Unconnected::kNone &&
      !tape_->gradient({&target, 1}, {&source, 1}, {})[0].defined()) {
    return {};
  }
  const int64_t batch = out[0];
  const int64_t columns = batch ? out.num_elements() / batch : 0;
  Shape shape = out;
  for (int i = 1; i < in.rank(); ++i) shape.push_back(in[i]);
  Tensor result;
  if (columns == 0) {
    result = zeros(shape, target.dtype());
  } else {
    // Examples are independent: one seed per output element serves the whole batch.
    const Tensor basis = eye(columns, target.dtype());
    const Tensor rows = jacobian_rows(*tape_, target, source, columns, [&](int64_t i) {
      const Tensor row = slice(basis, {i, 0}, {1, columns});
      return reshape(broadcast_to(row, Shape{batch, columns}), out);
    });
    Ints perm{1, 0};
    for (int i = 2; i < rows.rank(); ++i) perm.push_back(i);
    result = reshape(transpose(rows, {.perm = perm}), shape);
  }
  return result;
}

namespace {

// Outputs as they were computed, with an identity of their own and the gradient
// `backward`. In a trace the gradient becomes part of the graph as well: for tapes
// outside of the function, and for the gradients of branches and loops around it.
std::vector<Tensor> attach_gradient(std::span<const Tensor> inputs,
                                    std::vector<Tensor> outputs,
                                    const RecordedBackward& backward) {
  if (Tracer* tracer = current_tracer()) {
    const HideListeners outside;
    outputs = tracer->with_gradient(inputs, outputs, backward);
  } else {
    const PauseRecording pause;
    for (Tensor& t : outputs) t = identity(t);
  }
  const std::vector<TensorArg> args(inputs.begin(), inputs.end());
  record_custom(args, outputs, backward);
  return outputs;
}

}  // namespace

std::vector<Tensor> custom_gradient(const CustomForwardFn& forward,
                                    const std::vector<Tensor>& inputs) {
  auto [outputs, back] = forward(inputs);
  const RecordedBackward backward = [back = std::move(back), outputs = outputs,
                                     n = inputs.size()](std::span<const Gradient> grads) {
    std::vector<Tensor> dense;
    for (size_t i = 0; i < grads.size(); ++i) {
      dense.push_back(grads[i].defined() ? grads[i].dense() : zeros_like(outputs[i]));
    }
    std::vector<Tensor> made = back(dense);
    if (made.size() != n) {
      throw ValueError(fmt::format(
          "custom_gradient: the backward function returned {} gradients for {} inputs",
          made.size(), n));
    }
    return std::vector<Gradient>(made.begin(), made.end());
  };
  return attach_gradient(inputs, std::move(outputs), backward);
}

std::vector<Tensor> recompute_grad(
    const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f,
    const std::vector<Tensor>& inputs) {
  std::vector<Tensor> outputs;
  std::vector<Source> sources(inputs.begin(), inputs.end());
  std::vector<Tensor> recorded = inputs;
  {
    VariableWatcher watcher;
    outputs = f(inputs);
    for (const Variable& v : watcher.variables()) {
      sources.emplace_back(v);
      recorded.push_back(v.handle());
    }
  }
  const RecordedBackward backward = [f, inputs,
                                     sources](std::span<const Gradient> grads) {
    GradientTape tape({.watch_accessed_variables = false});
    for (const Source& source : sources) tape.watch(source);
    const std::vector<Tensor> again = f(inputs);
    GradientOptions options;
    for (size_t i = 0; i < again.size(); ++i) {
      options.output_gradients.push_back(grads[i].defined() ? grads[i].dense()
                                                            : zeros_like(again[i]));
    }
    return tape.gradient(again, sources, options);
  };
  return attach_gradient(recorded, std::move(outputs), backward);
}

}  // namespace tandem
