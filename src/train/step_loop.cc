#include "train/step_loop.h"

#include <cmath>

#include <fmt/format.h>

#include "base/interrupt.h"
#include "base/recorder.h"
#include "tandem/ops.h"
#include "tensor/tensor_impl.h"

namespace tandem::train {

namespace {

// Steps that may be submitted before the first of them is done: as many as batches have
// slots (design, decision 6).
constexpr size_t kStepsAhead = 3;

bool is_finite_value(const Tensor& result) {
  const Tensor t = result.to_host();
  if (t.num_elements() != 1) return true;
  switch (t.dtype()) {
    case DType::kFloat32:
      return std::isfinite(*static_cast<const float*>(t.host_data()));
    case DType::kFloat64:
      return std::isfinite(*static_cast<const double*>(t.host_data()));
    case DType::kFloat16:
    case DType::kBFloat16:
      return std::isfinite(cast(t, DType::kFloat32).item<float>());
    default:
      return true;
  }
}

}  // namespace

bool StepLoop::step() {
  if (!recorder::enabled()) return run_step();
  const int64_t begin = recorder::now_ns();
  if (!run_step()) return false;
  if (!name_) name_ = recorder::intern(step_->function().graph().name());
  const char* const values =
      recorder::intern(fmt::format("step_num={}\n_r=1\n", recorder::next_step()));
  recorder::record(recorder::Kind::kMark, name_, "Program", begin, recorder::now_ns(), 0,
                   values);
  return true;
}

bool StepLoop::run_step() {
  poll_interrupt();
  if (!source_->next(batch_)) return false;
  // Handles of the last step are let go first: the plan gives their memory out again.
  results_.clear();
  results_ = step_->call(batch_);
  batch_.clear();
  if (!results_.empty() && results_[0].impl()->buffer &&
      !results_[0].impl()->device->is_host()) {
    ahead_.push_back(results_[0]);
    if (ahead_.size() > kStepsAhead) {
      ahead_.front().wait();
      ahead_.pop_front();
    }
  }
  if (rows_) rows_->append(results_);
  return true;
}

StepLoop::Outcome StepLoop::run(const Limits& limits) {
  Outcome outcome;
  while (outcome.executions < limits.executions) {
    int64_t steps = 0;
    while (steps < limits.steps_per_execution && step()) ++steps;
    if (!steps) {
      outcome.end = End::kNoData;
      return outcome;
    }
    ++outcome.executions;
    if (limits.watched >= 0 &&
        !is_finite_value(results_[static_cast<size_t>(limits.watched)])) {
      outcome.end = End::kNotFinite;
      return outcome;
    }
    if (outcome.executions < limits.executions &&
        recorder::now_ns() >= limits.deadline_ns) {
      outcome.end = End::kTime;
      return outcome;
    }
  }
  return outcome;
}

}  // namespace tandem::train
