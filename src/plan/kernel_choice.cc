#include "plan/kernel_choice.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "op/kernel_fit.h"
#include "plan/cost_store.h"
#include "tandem/error.h"
#include "tensor/buffer.h"
#include "tensor/tensor_impl.h"

namespace tandem {

namespace {

// Below this the choice cannot matter much and measuring costs more than it gains.
constexpr double kWorthMeasuringBytes = 64 << 10;
constexpr double kWorthMeasuringFlops = 2e5;
constexpr int kRuns = 5;
// Long kernels are told apart by fewer runs.
constexpr double kEnoughUs = 20e3;

std::vector<const Kernel*> candidates(const Signature& s, Platform platform) {
  std::vector<const Kernel*> list;
  const Kernel* first = KernelRegistry::get().choose(s, platform);
  if (!first) return list;
  list.push_back(first);
  for (const Kernel* k : KernelRegistry::get().find(*s.op, platform)) {
    if (k != first && kernel_fits(*k, s)) list.push_back(k);
  }
  return list;
}

// Memory for a run with contents that cannot fail: zeros are valid indices and
// probabilities.
struct TrialMemory {
  Device& device;
  std::vector<Ref<Buffer>> buffers;
  LeaseSet leases;
  std::vector<void*> in, out;
  void* workspace = nullptr;

  TrialMemory(const Signature& s, const Prepared& prepared, Device& d);
  void* zeros(size_t bytes) {
    buffers.push_back(Buffer::allocate(device, bytes));
    void* const p = leases.address(buffers.back());
    if (device.is_host()) {
      std::fill_n(static_cast<std::byte*>(p), bytes, std::byte{0});
    } else if (bytes) {
      const std::vector<std::byte> host(bytes);
      device.copy(device.compute(), p, host.data(), bytes).host_wait();
    }
    return p;
  }
};

TrialMemory::TrialMemory(const Signature& s, const Prepared& prepared, Device& d)
    : device(d) {
  for (size_t i = 0; i < s.inputs.size(); ++i) {
    const InputDef& def = s.op->input_def(static_cast<int>(i));
    const TensorInfo& t = s.inputs[i];
    const bool pointer = t.dtype != DType::kInvalid && !def.host && !def.shape_only;
    in.push_back(pointer ? zeros(static_cast<size_t>(checked_bytes(t.dtype, t.shape)))
                         : nullptr);
  }
  for (const TensorInfo& t : s.outputs) {
    out.push_back(zeros(static_cast<size_t>(checked_bytes(t.dtype, t.shape))));
  }
  if (prepared.workspace_bytes) workspace = zeros(prepared.workspace_bytes);
}

double since_us(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() -
                                                   begin)
      .count();
}

// Recorded work is timed as it will run: many launches in a row, without the host's part.
double measure_native_us(const Signature& s, const Kernel& kernel,
                         const Prepared& prepared, Device& device) {
  const TrialMemory memory(s, prepared, device);
  const LaunchArgs args{memory.in.data(), memory.out.data(), memory.workspace, nullptr};
  constexpr int kLaunches = 32;
  const auto captured = device.compute().capture([&](const StreamContext& context) {
    LaunchArgs on = args;
    on.stream = &context;
    for (int i = 0; i < kLaunches; ++i) kernel.launch(prepared, on);
  });
  if (!captured) return 0;
  double best = 1e30;
  captured->launch().host_wait();
  for (int run = 0; run < kRuns; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    captured->launch().host_wait();
    best = std::min(best, since_us(begin) / kLaunches);
  }
  return best;
}

double measure_us(const Signature& s, const Kernel& kernel, const Prepared& prepared,
                  Device& device) {
  if (device.platform() != kHostPlatform) {
    return measure_native_us(s, kernel, prepared, device);
  }
  const TrialMemory memory(s, prepared, device);
  const LaunchArgs args{memory.in.data(), memory.out.data(), memory.workspace, nullptr};
  // A share of the device's threads behaves like a smaller team.
  Team share(s.threads);
  const bool whole = device.team() && device.team()->threads() == s.threads;
  Team* const team = whole ? device.team() : &share;
  CurrentTeam current(team);
  TeamToken token(team);
  double best = 1e30, sum = 0;
  for (int run = 0; run < kRuns && sum < kEnoughUs; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    kernel.launch(prepared, args);
    const double took = since_us(begin);
    best = std::min(best, took);
    sum += took;
  }
  return best;
}

bool worth_measuring(const Signature& s, Device& device) {
  const bool emulated = !device.is_host() && device.platform() == kHostPlatform;
  if (s.deterministic || emulated || s.op->dynamic) return false;
  for (size_t i = 0; i < s.inputs.size(); ++i) {
    if (s.op->input_def(static_cast<int>(i)).resource ||
        s.inputs[i].dtype == DType::kString) {
      return false;
    }
  }
  const Cost cost = cost_of(s);
  return cost.bytes >= kWorthMeasuringBytes || cost.flops >= kWorthMeasuringFlops;
}

}  // namespace

std::optional<double> kernel_us(const Signature& s, Device& device, bool measure) {
  if (!measure || !device.is_host() || !worth_measuring(s, device)) return std::nullopt;
  const Kernel* kernel = KernelRegistry::get().choose(s, device.platform());
  if (!kernel) return std::nullopt;
  const std::string key = cost_key(s, kernel->id);
  if (const std::optional<double> us = CostStore::get().find(key)) return us;
  const double us = measure_us(s, *kernel, *kernel->prepare(s), device);
  CostStore::get().put(key, us);
  return us;
}

KernelChoice choose_kernel(const Signature& s, Device& device, bool measure) {
  const std::vector<const Kernel*> list = candidates(s, device.platform());
  if (list.empty()) {
    throw NotFoundError("Could not find kernel for " + s.op->name + " on " +
                        device.full_name());
  }
  if (list.size() == 1) return {list[0], list[0]->prepare(s), "only one"};
  if (!measure || !worth_measuring(s, device)) {
    return {list[0], list[0]->prepare(s), fmt::format("default of {}", list.size())};
  }
  struct Timed {
    double us;
    const Kernel* kernel;
    Ref<Prepared> prepared;
  };
  std::vector<Timed> timed;
  bool stored = true;
  for (const Kernel* k : list) {
    Ref<Prepared> prepared = k->prepare(s);
    const std::string key = cost_key(s, k->id);
    std::optional<double> us = CostStore::get().find(key);
    if (!us) {
      stored = false;
      us = measure_us(s, *k, *prepared, device);
      CostStore::get().put(key, *us);
    }
    timed.push_back({*us, k, std::move(prepared)});
  }
  // The default wins unless another one is clearly faster.
  size_t best = 0;
  for (size_t i = 1; i < timed.size(); ++i) {
    if (timed[i].us < 0.95 * timed[best].us) best = i;
  }
  std::string others;
  for (size_t i = 0; i < timed.size(); ++i) {
    if (i == best) continue;
    others += fmt::format("{}{} {:.1f}", others.empty() ? "" : ", ", timed[i].kernel->id,
                          timed[i].us);
  }
  return {timed[best].kernel, timed[best].prepared,
          fmt::format("{} {:.1f} µs ({})", stored ? "stored" : "measured", timed[best].us,
                      others)};
}

}  // namespace tandem
