#include "where.h"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "base/json.h"
#include "step/training.h"
#include "tandem/profile.h"

namespace bench::gpu {

namespace td = tandem;
using nlohmann::json;

namespace {

constexpr int kSteps = 3;

struct Sum {
  double us = 0;
  int times = 0;
};

using Sums = std::map<std::string, Sum>;

void print_sums(const char* title, const Sums& sums, double all, size_t most) {
  std::vector<std::pair<std::string, Sum>> order(sums.begin(), sums.end());
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.second.us > b.second.us; });
  if (order.size() > most) order.resize(most);
  fmt::print("-- {}\n", title);
  for (const auto& [name, sum] : order) {
    fmt::print("{:5.1f}% {:10.1f} us {:5} x {}\n", 100 * sum.us / all, sum.us / kSteps,
               sum.times / kSteps, name);
  }
}

/// Microseconds in which something ran, whatever ran beside it.
double covered(std::vector<std::pair<double, double>> spans) {
  std::sort(spans.begin(), spans.end());
  double sum = 0, until = 0;
  for (const auto& [begin, end] : spans) {
    sum += std::max(0.0, end - std::max(begin, until));
    until = std::max(until, end);
  }
  return sum;
}

}  // namespace

// What the GPU says it did (CUPTI), by op, by kernel and by node.
void print_where(const step::ModelCase& c) {
  const step::ReadyStep step(c);
  const auto run = [&](int64_t n) {
    for (int64_t i = 0; i < n; ++i) step.run().wait();
  };
  run(kSteps);
  const double plain = time_ns(run, kSteps) / kSteps;
  // The first recording makes captured steps anew, with names.
  td::start_profile();
  run(1);
  td::stop_profile();
  td::start_profile();
  run(kSteps);
  const json trace = json::parse(td::stop_profile().chrome_trace());
  Sums ops, kernels, nodes;
  std::vector<std::pair<double, double>> spans;
  double all = 0;
  for (const json& e : trace.at("traceEvents")) {
    if (e.value("cat", "") != "activity") continue;
    const json& args = e.at("args");
    const double us = e.at("dur").get<double>(), at = e.at("ts").get<double>();
    const auto name = e.at("name").get<std::string>();
    const std::string kernel = args.value("kernel", name);
    const std::string grid = fmt::format(" grid {} block {}", args.value("grid", "-"),
                                         args.value("block", "-"));
    const auto add = [us](Sum& sum) {
      sum.us += us;
      ++sum.times;
    };
    add(ops[name]);
    add(kernels[name + ": " + kernel.substr(0, 100)]);
    add(nodes[args.value("node", name) + " <- " + kernel.substr(0, 60) + grid + " " +
              args.value("source", "")]);
    spans.emplace_back(at, at + us);
    all += us;
  }
  if (trace.contains("otherData")) fmt::print("{}\n", trace["otherData"].dump());
  fmt::print(
      "{}: {:.1f} us a step; of the GPU's time {:.1f} us a step, {:.1f} us covered\n",
      c.name, plain / 1e3, all / kSteps, covered(spans) / kSteps);
  print_sums("by op", ops, all, 40);
  print_sums("by kernel", kernels, all, 40);
  print_sums("by node", nodes, all, 60);
}

}  // namespace bench::gpu
