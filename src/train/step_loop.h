// StepLoop: runs a compiled step over batches until somebody outside has to be asked:
// a number of executions, a point in time, the end of the data, or a watched result that
// is not finite. Nothing outside this library is called in between. Steps on devices are
// submitted without waiting for those before, as far as a few steps ahead. One thread at
// a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "run/compiled_function.h"
#include "train/batch_source.h"
#include "train/output_rows.h"

namespace tandem::train {

class StepLoop {
 public:
  StepLoop(std::shared_ptr<CompiledFunction> step, std::shared_ptr<BatchSource> source)
      : step_(std::move(step)), source_(std::move(source)) {}

  struct Limits {
    int64_t executions = 1;
    int64_t steps_per_execution = 1;
    int64_t deadline_ns = INT64_MAX;  // recorder::now_ns()
    int watched = -1;                 // result that must be finite
  };
  enum class End : uint8_t { kExecutions, kTime, kNoData, kNotFinite };
  struct Outcome {
    int64_t executions = 0;  // begun and not empty
    End end = End::kExecutions;
  };
  /// An execution is up to `steps_per_execution` steps; fewer when data ends in the
  /// middle. kNoData: an execution found no batch at all.
  Outcome run(const Limits& limits);

  /// From now on the results of all steps are kept as rows.
  void collect(int64_t rows) { rows_ = std::make_unique<OutputRows>(rows); }
  std::vector<Tensor> collected() { return rows_->finish(); }

  /// Of the last step.
  const std::vector<Tensor>& results() const { return results_; }

 private:
  bool step();
  bool run_step();

  std::shared_ptr<CompiledFunction> step_;
  std::shared_ptr<BatchSource> source_;
  std::vector<Tensor> batch_;
  std::vector<Tensor> results_;
  std::deque<Tensor> ahead_;  // a result of each step that may not be done
  std::unique_ptr<OutputRows> rows_;
  const char* name_ = nullptr;  // of the step, for the recorder; null: not asked for yet
};

}  // namespace tandem::train
