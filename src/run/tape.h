// The record behind GradientTape and ForwardAccumulator: which ops ran on watched
// tensors. Tapes belong to the thread that made them; recording costs one load when none
// is active.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/thread_state.h"
#include "op/call_gradient.h"
#include "op/emitter.h"
#include "run/call_plan.h"
#include "tandem/gradient.h"

namespace tandem {

/// Whether tapes or accumulators of this thread listen; false while recording is paused.
inline bool recording() { return t_thread.listeners > 0 && t_thread.paused == 0; }

/// Tells the thread's tapes and accumulators about an op that has run.
void record_call(const Ref<CallPlan>& plan, std::span<const TensorArg> inputs,
                 std::span<const Tensor> outputs);

/// The same for an op the caller knows by definition (graph calls, tests).
void record_op(const OpDef& op, AttrsRef attrs, std::span<const TensorArg> inputs,
               std::span<const Tensor> outputs);

/// A function with its own way back, recorded as one op.
using RecordedBackward =
    std::function<std::vector<Gradient>(std::span<const Gradient> output_grads)>;
void record_custom(std::span<const TensorArg> inputs, std::span<const Tensor> outputs,
                   RecordedBackward backward);
/// The same where the way back depends on which inputs' gradients are wanted.
using SelectiveBackward = std::function<std::vector<Gradient>(
    std::span<const Gradient> output_grads, std::span<const bool> needs)>;
void record_selective(std::span<const TensorArg> inputs, std::span<const Tensor> outputs,
                      SelectiveBackward backward);

/// Nothing is recorded on this thread while it lives.
class PauseRecording {
 public:
  PauseRecording() { ++t_thread.paused; }
  PauseRecording(const PauseRecording&) = delete;
  PauseRecording& operator=(const PauseRecording&) = delete;
  ~PauseRecording() { --t_thread.paused; }
};

struct Listeners;

/// While it lives, the thread's tapes and accumulators hear nothing; new ones do. For a
/// branch, a loop's or a function's body that is traced on its own: from outside it is
/// one op.
class HideListeners {
 public:
  HideListeners();
  HideListeners(const HideListeners&) = delete;
  HideListeners& operator=(const HideListeners&) = delete;
  ~HideListeners();
  /// Whether one of the hidden ones follows this tensor.
  bool watched(const Tensor& tensor) const;

 private:
  std::unique_ptr<Listeners> outer_;
  int16_t paused_;
};

/// Map from tensor id to a number; open addressing, because a lookup is on the path of
/// every recorded op.
class IdMap {
 public:
  static constexpr uint32_t kAbsent = ~0u;
  uint32_t find(uint64_t id) const {
    if (slots_.empty()) return kAbsent;
    for (size_t i = hash(id);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].id == id) return slots_[i].value;
      if (slots_[i].id == 0) return kAbsent;
    }
  }
  bool contains(uint64_t id) const { return find(id) != kAbsent; }
  void set(uint64_t id, uint32_t value) {
    if ((count_ + 1) * 2 > slots_.size()) grow();
    for (size_t i = hash(id);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].id == id || slots_[i].id == 0) {
        count_ += slots_[i].id == 0;
        slots_[i] = {id, value};
        return;
      }
    }
  }
  void clear() {
    slots_.clear();
    count_ = 0;
  }

 private:
  struct Slot {
    uint64_t id = 0;  // ids start above 0
    uint32_t value = 0;
  };
  size_t hash(uint64_t id) const {
    return (id * 0x9e3779b97f4a7c15ull >> 20) & (slots_.size() - 1);
  }
  void grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(old.empty() ? 64 : old.size() * 2, Slot{});
    count_ = 0;
    for (const Slot& s : old) {
      if (s.id) set(s.id, s.value);
    }
  }
  std::vector<Slot> slots_;
  size_t count_ = 0;
};

class Tape {
 public:
  explicit Tape(TapeOptions options) : options_(options) {}

  const TapeOptions& options() const { return options_; }
  void watch(const Tensor& tensor);
  bool watches(const Tensor& t) const { return ids_.contains(t.impl()->id); }
  void record(const Ref<CallPlan>& plan, std::span<const TensorArg> inputs,
              std::span<const Tensor> outputs);
  void record_custom(std::span<const TensorArg> inputs, std::span<const Tensor> outputs,
                     std::shared_ptr<SelectiveBackward> backward);
  std::vector<Gradient> gradient(std::span<const Tensor> targets,
                                 std::span<const Source> sources,
                                 const GradientOptions& options);
  void reset();
  std::vector<Variable> watched_variables() const;

  bool active = false;          // on the thread's list
  bool used = false;            // gradient() was asked of a tape that is not persistent
  bool variables_only = false;  // nothing but the variables that are read

 private:
  // A tensor of a recorded call. Where the gradient does not read its contents they are
  // not kept: dtype and shape are known to the call's plan, and a ghost is made when the
  // gradient runs.
  struct Entry {
    Tensor kept;
    uint64_t id = 0;  // 0: an optional input that was not given
    DType dtype = DType::kInvalid;
    Device* device = nullptr;
  };
  struct Node {
    Ref<CallPlan> plan;  // null for custom
    std::shared_ptr<SelectiveBackward> custom;
    uint32_t first = 0;  // into entries_: inputs, then outputs
    uint32_t num_inputs = 0;
    uint32_t num_outputs = 0;
  };
  void watch_accessed(std::span<const TensorArg> inputs);
  bool any_watched(std::span<const TensorArg> inputs) const;
  void push(Node node, std::span<const TensorArg> inputs, std::span<const Tensor> outputs,
            uint32_t keep_inputs, uint32_t keep_outputs);
  std::span<const Entry> inputs(const Node& n) const {
    return {entries_.data() + n.first, n.num_inputs};
  }
  std::span<const Entry> outputs(const Node& n) const {
    return {entries_.data() + n.first + n.num_inputs, n.num_outputs};
  }
  std::vector<Tensor> input_tensors(const Node& n) const;
  std::vector<Tensor> output_tensors(const Node& n) const;

  TapeOptions options_;
  IdMap ids_;
  std::vector<Node> nodes_;
  std::vector<Entry> entries_;
  std::vector<Tensor> variables_;  // handles, in order of first use
};

/// While it lives nothing else is recorded on this thread; it collects the trainable
/// variables that are read.
class VariableWatcher {
 public:
  VariableWatcher();
  VariableWatcher(const VariableWatcher&) = delete;
  VariableWatcher& operator=(const VariableWatcher&) = delete;
  ~VariableWatcher();
  std::vector<Variable> variables() const { return tape_.watched_variables(); }

 private:
  HideListeners hidden_;
  Tape tape_;
};

/// Whether a tape of this thread would take this tensor, or the variable behind this
/// handle, as something that gradients are wanted for.
bool tapes_want(const Tensor& tensor);

/// How often a call with these sources may be differentiated by who listens now: once for
/// each tape that follows one of them, twice where the tape itself records that.
int gradient_order(std::span<const TensorArg> sources);

/// The thread's listeners; used by the classes of tandem/gradient.h.
void push_tape(Tape* tape);
void remove_tape(Tape* tape);
/// The tape that this thread started last and that still listens; null when there is
/// none.
Tape* newest_tape();

/// Internal face of ForwardAccumulator.
class ForwardListener {
 public:
  /// Gradients of the inputs that are needed, from those of the outputs.
  using Backward = std::function<std::vector<Gradient>(
      std::span<const Gradient> output_grads, std::span<const bool> needs)>;
  virtual ~ForwardListener() = default;
  virtual bool follows(const Tensor& tensor) const = 0;
  virtual void on_call(std::span<const TensorArg> inputs, std::span<const Tensor> outputs,
                       const Backward& backward) = 0;
};
void push_forward(ForwardListener* listener);
void remove_forward(ForwardListener* listener);

}  // namespace tandem
