// Tandem's worker of `make bench-step`: one training step with Adam of each model.
// common/worker.h has the protocol; a case also answers with the losses of its first
// steps and with what the step became.
#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "base/version.h"
#include "common/worker.h"
#include "run/function_access.h"
#include "tandem/function.h"
#include "tandem/record.h"
#include "training.h"

namespace {

namespace td = tandem;
using bench::Case;
using bench::step::ModelCase;
using bench::step::ReadyStep;
using td::Tensor;

double thread_ns(const std::function<void(int64_t)>& body, int64_t n) {
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
  };
  const double begin = now();
  body(n);
  return now() - begin;
}

/// The bare launches of a step's kernels; false where there is more to a call than them.
bool replay(const ReadyStep& step, int64_t times) {
  const std::array<Tensor, 2> arguments = {step.training->x, step.training->y};
  return td::FunctionAccess::replay_kernels(step.function, arguments, times);
}

/// What the library adds to a step: whole steps, and the bare launches of the same
/// prepared kernels in the same order on the same memory, in turns, so that both find the
/// same caches and the same machine. By the calling thread's processor time: what the
/// library adds is its work, and what others do on the machine meanwhile does not count.
/// The median over rounds of the difference, and half the distance between its quartiles.
std::string overheads(const ReadyStep& step) {
  constexpr size_t kMost = 41;
  constexpr double kBudgetNs = 4e9;
  constexpr double kRoundNs = 5e6;
  if (!replay(step, 1)) return "{}";
  const auto steps = [&](int64_t n) {
    for (int64_t i = 0; i < n; ++i) step.run().wait();
  };
  const auto kernels = [&](int64_t n) { replay(step, n); };
  const double once = std::max(1.0, thread_ns(steps, 3) / 3);
  const auto n = std::max<int64_t>(1, static_cast<int64_t>(kRoundNs / once));
  std::vector<double> whole, bare, difference;
  for (double spent = 0; difference.size() < kMost && spent < kBudgetNs;) {
    // Whoever comes first in a round is not always the same.
    const bool steps_first = difference.size() % 2 == 0;
    double a = 0, b = 0;
    if (steps_first) a = thread_ns(steps, n);
    b = thread_ns(kernels, n);
    if (!steps_first) a = thread_ns(steps, n);
    spent += a + b;
    whole.push_back(a / static_cast<double>(n));
    bare.push_back(b / static_cast<double>(n));
    difference.push_back((a - b) / static_cast<double>(n));
  }
  const auto quantile = [](std::vector<double> v, double q) {
    std::sort(v.begin(), v.end());
    return v[static_cast<size_t>(q * static_cast<double>(v.size() - 1))];
  };
  std::ostringstream out;
  out << "{\"step_ns\": " << quantile(whole, 0.5) << ", \"ns\": " << quantile(bare, 0.5)
      << ", \"overhead_ns\": " << quantile(difference, 0.5) << ", \"spread_ns\": "
      << (quantile(difference, 0.75) - quantile(difference, 0.25)) / 2
      << ", \"rounds\": " << difference.size() << '}';
  return out.str();
}

/// The same by what of a step lies in none of its kernels, minus what of their bare
/// launches does, both as the recorder saw them: the recorder's own work is in both, and
/// how long the kernels took does not count, so that steps of any length can be judged.
/// Empty where lanes run side by side.
std::string recorded_overheads(const ReadyStep& step) {
  constexpr size_t kRounds = 61;
  constexpr double kBudget = 6;  // seconds
  using Clock = std::chrono::steady_clock;
  double spent = 0;
  const auto outside = [&](const std::function<void()>& body) {
    td::start_recording();
    const Clock::time_point begin = Clock::now();
    body();
    const double whole = std::chrono::duration<double>(Clock::now() - begin).count();
    const auto lanes = td::summarize(td::stop_recording());
    spent += whole;
    return lanes.size() == 1 ? (whole - lanes[0].busy) * 1e9 : -1.0;
  };
  std::vector<double> difference;
  while (difference.size() < kRounds && spent < kBudget) {
    const double whole = outside([&] { step.run().wait(); });
    const double bare = outside([&] { replay(step, 1); });
    if (whole < 0 || bare < 0) return "";
    difference.push_back(whole - bare);
  }
  std::sort(difference.begin(), difference.end());
  const size_t n = difference.size();
  std::ostringstream out;
  out << ", \"recorded_ns\": " << difference[n / 2]
      << ", \"recorded_spread_ns\": " << (difference[n * 3 / 4] - difference[n / 4]) / 2;
  return out.str();
}

Case make_case(const ModelCase& c) {
  return bench::step::make_step_case(c, [](const ReadyStep& step) {
    return ", \"kernels\": " + overheads(step) + recorded_overheads(step);
  });
}

/// A chain of a thousand ops, none of which can be joined with the next: what planning
/// takes is in its explanation.
Case plan_1000() {
  auto chain = td::function([](Tensor x) {
    for (int i = 0; i < 1000; ++i) x = td::reverse(x, {.axis = {i % 2}});
    return x;
  });
  const Tensor x = td::constant(bench::random_values(1, 16), {4, 4});
  Case result;
  result.body = [chain, x](int64_t n) {
    for (int64_t i = 0; i < n; ++i) chain(x).wait();
  };
  result.more = [chain] {
    return ", \"explain\": " + bench::json_string(chain.explain());
  };
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Worker w{.name = "tandem", .library = "Tandem " TANDEM_VERSION " (C++)"};
  w.threads = bench::threads_argument(argc, argv);
  td::config::set_intra_op_parallelism_threads(w.threads);
  for (const ModelCase& c : bench::step::model_cases()) {
    w.cases.emplace_back(c.name, [&c] { return make_case(c); });
  }
  w.cases.emplace_back("plan_1000", plan_1000);
  return bench::serve(w);
}
