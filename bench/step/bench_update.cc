// The update of an optimizer over many variables against the same over one variable of as
// many elements: what it costs that they are many. Both are steps of compiled functions
// whose gradients come from kernels of their own; the update's launches alone are timed,
// in turns, by the recorder.
//
//   bench_update [VARIABLES ELEMENTS]    one case; without arguments all
//
// Prints the median over rounds of the ratio, with its quartiles. Under `valgrind
// --tool=callgrind --toggle-collect='*launch_fused*'` one case with `--once` counts the
// instructions of `kSteps` updates of the first.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tandem/device.h"
#include "tandem/function.h"
#include "tandem/record.h"
#include "tandem/tandem.h"
#include "tandem/train.h"

namespace {

namespace td = tandem;

constexpr int kRounds = 21;
constexpr int kSteps = 20;

struct Training {
  std::vector<td::Variable> weights;
  td::optimizers::Adam adam{{.learning_rate = 1e-6}};
  td::Tensor x;
  std::optional<td::TypedFunction<td::Tensor(td::Tensor)>> step;

  Training(int64_t variables, int64_t elements) {
    for (int64_t i = 0; i < variables; ++i) {
      weights.emplace_back(td::zeros({elements}) + 1.f);
    }
    x = td::zeros({variables, elements}) + 0.5f;
    adam.build(weights);
    step = td::function([this, elements](td::Tensor g) {
      // Nothing joins with a reversal: gradients are values in memory.
      std::vector<td::Gradient> gradients;
      for (size_t i = 0; i < weights.size(); ++i) {
        gradients.emplace_back(td::reverse(
            td::reshape(td::slice(g, {static_cast<int64_t>(i), 0}, {1, elements}),
                        {elements}),
            {.axis = {0}}));
      }
      adam.apply(gradients, weights);
      return td::reduce_sum(g);
    });
    for (int i = 0; i < 3; ++i) run();
  }
  void run() const { (*step)(x).wait(); }

  /// Seconds of the updates of `kSteps` steps.
  double update_seconds() const {
    td::start_recording();
    for (int i = 0; i < kSteps; ++i) run();
    double sum = 0;
    const char* const kind = weights.size() > 1 ? "FusedMulti" : "Fused";
    for (const td::RecordedEvent& e : td::stop_recording()) {
      if (e.kind == "op" && e.name == kind) sum += e.end - e.begin;
    }
    return sum;
  }
};

void compare(int64_t variables, int64_t elements) {
  const Training many(variables, elements), one(1, variables * elements);
  std::vector<double> ratios;
  for (int round = 0; round < kRounds; ++round) {
    const double a = many.update_seconds(), b = one.update_seconds();
    ratios.push_back(a / b);
  }
  std::sort(ratios.begin(), ratios.end());
  fmt::print(
      "{:>5} variables of {:>7} elements: {:.2f}x the time of one ({:.2f} to {:.2f})\n",
      variables, elements, ratios[kRounds / 2], ratios[kRounds / 4],
      ratios[3 * kRounds / 4]);
}

}  // namespace

int main(int argc, char** argv) {
  td::config::set_intra_op_parallelism_threads(1);
  if (argc >= 3) {
    const int64_t variables = std::atoll(argv[1]), elements = std::atoll(argv[2]);
    if (argc > 3 && !std::strcmp(argv[3], "--once")) {
      const Training many(variables, elements);
      for (int i = 0; i < kSteps; ++i) many.run();
      return 0;
    }
    compare(variables, elements);
    return 0;
  }
  compare(200, 64);
  compare(200, 1000);
  compare(50, 4096);
  compare(20, 100000);
}
