#include "op/check_numerics.h"

#include <atomic>

#include <fmt/format.h>

#include "tandem/ops/array.h"

namespace tandem {

namespace {

std::atomic<bool> g_on{false};

const OpDef& check_op() {
  static const OpHandle op("CheckNumerics");
  return op;
}

class CheckingEmitter final : public Emitter {
 public:
  void set(Emitter& eager) { eager_ = &eager; }
  void emit(const OpDef& op, AttrsRef attrs, std::span<const TensorArg> inputs,
            std::vector<Tensor>& outputs) override {
    eager_->emit(op, attrs, inputs, outputs);
    check_outputs(op, *eager_, outputs);
  }
  Tensor emit_one(const OpDef& op, AttrsRef attrs,
                  std::span<const TensorArg> inputs) override {
    std::vector<Tensor> outputs{eager_->emit_one(op, attrs, inputs)};
    check_outputs(op, *eager_, outputs);
    return outputs[0];
  }

 private:
  Emitter* eager_ = nullptr;
};

}  // namespace

void set_check_numerics(bool on) { g_on.store(on, std::memory_order_relaxed); }
bool checks_numerics() { return g_on.load(std::memory_order_relaxed); }

void check_outputs(const OpDef& op, Emitter& by, std::vector<Tensor>& outputs) {
  if (&op == &check_op()) return;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined() || !is_floating(outputs[i].dtype())) continue;
    const MessageAttrs attrs{fmt::format(
        "\n\n!!! Detected Infinity or NaN in output {} of {} op \"{}\" (# of "
        "outputs: {}) !!!",
        i, by.tracing() ? "graph" : "eagerly-executing", op.name, outputs.size())};
    const TensorArg args[] = {outputs[i]};
    Tensor checked = by.emit_one(check_op(), attrs_ref(attrs), args);
    outputs[i] = std::move(checked);
  }
}

Emitter& checking_emitter(Emitter& eager) {
  static thread_local CheckingEmitter emitter;
  emitter.set(eager);
  return emitter;
}

}  // namespace tandem
