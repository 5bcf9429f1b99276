// Tandem's worker of `make bench-gpu`: the training steps of bench-step and of the large
// models, and single ops for the roofline. common/worker.h has the protocol. Arguments:
// --threads N, --small (the large models and tensors at sizes for a machine without GPU),
// --where NAME (prints where the time of that model's step goes, and ends), --loops
// (prints what branches and loops over the GPU's data cost, and ends).
// A step also answers with the losses of its first steps, with what it costs the caller
// to submit one, and with where its kernels run.
#include <algorithm>

#include <fmt/core.h>

#include "base/version.h"
#include "common/worker.h"
#include "gpu/loops.h"
#include "gpu/models.h"
#include "gpu/roofline.h"
#include "gpu/where.h"
#include "step/training.h"
#include "tandem/function.h"

namespace {

namespace td = tandem;
using bench::Case;
using bench::step::ModelCase;
using td::Tensor;

double quantile(std::vector<double>& samples, double q) {
  std::sort(samples.begin(), samples.end());
  return samples[static_cast<size_t>(q * static_cast<double>(samples.size() - 1))];
}

/// Nanoseconds until a call of the step returns, while the device is still busy with the
/// step before, as in a loop that reads nothing: the median and half the distance of the
/// quartiles. `idle_ns`: when the device has nothing to do.
template <class Step>
std::string submit_cost(const Step& step) {
  constexpr size_t kMost = 201;
  constexpr double kBudgetNs = 1e9;
  std::vector<double> behind, idle;
  for (double spent = 0; behind.size() < kMost && spent < kBudgetNs;) {
    spent += bench::time_ns(
        [&](int64_t) {
          Tensor first, second;
          idle.push_back(bench::time_ns([&](int64_t) { first = step(); }, 1));
          behind.push_back(bench::time_ns([&](int64_t) { second = step(); }, 1));
          second.wait();
        },
        1);
  }
  return "{\"ns\": " + std::to_string(quantile(behind, 0.5)) + ", \"spread_ns\": " +
         std::to_string((quantile(behind, 0.75) - quantile(behind, 0.25)) / 2) +
         ", \"idle_ns\": " + std::to_string(quantile(idle, 0.5)) + "}";
}

Case make_case(const ModelCase& c) {
  return bench::step::make_step_case(c, [](const bench::step::ReadyStep& step) {
    // Copies between devices in one step: 0 where all of it is on the GPU.
    const td::CopyStats before = td::copy_stats();
    step.run().wait();
    const td::CopyStats after = td::copy_stats();
    return ", \"copies\": " + std::to_string(after.count - before.count) +
           ", \"submit\": " + submit_cost([&] { return step.run(); });
  });
}

bool has_argument(int argc, char** argv, const char* name) {
  return std::any_of(argv + 1, argv + argc,
                     [&](const char* a) { return std::strcmp(a, name) == 0; });
}

/// Prints where the time of the step that `--where` names goes; false: no such argument.
bool print_where_asked(int argc, char** argv, bool small) {
  const char* const* found = std::find_if(argv + 1, argv + argc, [](const char* a) {
    return std::strcmp(a, "--where") == 0;
  });
  if (found == argv + argc) return false;
  std::vector<ModelCase> cases = bench::step::model_cases();
  for (ModelCase& c : bench::gpu::large_cases(small)) cases.push_back(std::move(c));
  for (const ModelCase& c : cases) {
    if (found + 1 != argv + argc && c.name == std::string(found[1])) {
      bench::gpu::print_where(c);
      return true;
    }
  }
  fmt::print("--where wants one of:\n");
  for (const ModelCase& c : cases) fmt::print("  {}\n", c.name);
  return true;
}

/// What the steps run on, as the worker calls itself.
std::string gpu_name() {
  for (const td::PhysicalDevice& d : td::config::list_physical_devices("GPU")) {
    const td::config::DeviceDetails details = td::config::get_device_details(d);
    return details.device_name + (details.emulated ? " (emulated)" : "");
  }
  return "the CPU: there is no GPU here";
}

}  // namespace

int main(int argc, char** argv) {
  bench::Worker w{.name = "tandem",
                  .library = "Tandem " TANDEM_VERSION " (C++) on " + gpu_name()};
  w.threads = bench::threads_argument(argc, argv);
  const bool small = has_argument(argc, argv, "--small");
  td::config::set_intra_op_parallelism_threads(w.threads);
  if (print_where_asked(argc, argv, small)) return 0;
  if (has_argument(argc, argv, "--loops")) {
    bench::gpu::print_loops();
    return 0;
  }
  for (const ModelCase& c : bench::step::model_cases()) {
    w.cases.emplace_back(c.name, [&c] { return make_case(c); });
  }
  for (ModelCase& c : bench::gpu::large_cases(small)) {
    const std::string name = c.name;
    w.cases.emplace_back(name, [c = std::move(c)] { return make_case(c); });
  }
  for (auto& [name, setup] : bench::gpu::op_cases(small)) {
    w.cases.emplace_back(name, std::move(setup));
  }
  return bench::serve(w);
}
