#include "where.h"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "step/training.h"
#include "tandem/record.h"

namespace bench::gpu {

namespace td = tandem;

namespace {

constexpr int kSteps = 3;

struct Kernel {
  double seconds = 0;
  int launches = 0;
};

}  // namespace

void print_where(const step::ModelCase& c) {
  const step::ReadyStep step(c);
  const auto run = [&](int64_t n) {
    for (int64_t i = 0; i < n; ++i) step.run().wait();
  };
  run(kSteps);
  const double plain = time_ns(run, kSteps) / kSteps;
  td::start_recording();
  run(kSteps);
  std::map<std::string, Kernel> kernels;
  double sum = 0;
  for (const td::RecordedEvent& e : td::stop_recording()) {
    if (e.kind != "op" && e.kind != "copy") continue;
    Kernel& k = kernels[e.lane + " " + e.name];
    k.seconds += e.end - e.begin;
    ++k.launches;
    sum += e.end - e.begin;
  }
  std::vector<std::pair<std::string, Kernel>> order(kernels.begin(), kernels.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.seconds > b.second.seconds;
  });
  fmt::print("{}: {:.1f} us a step, {:.1f} us in recorded kernels\n", c.name, plain / 1e3,
             sum * 1e6 / kSteps);
  for (const auto& [name, k] : order) {
    fmt::print("{:5.1f}% {:10.1f} us {:5} x {}\n", 100 * k.seconds / sum,
               k.seconds * 1e6 / kSteps, k.launches / kSteps, name);
  }
}

}  // namespace bench::gpu
