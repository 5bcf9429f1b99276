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

// A run with contents that cannot fail: zeros are valid indices and probabilities.
double measure_us(const Signature& s, const Kernel& kernel, const Prepared& prepared,
                  Device& device) {
  std::vector<Ref<Buffer>> buffers;
  const auto memory = [&](size_t bytes) -> void* {
    buffers.push_back(Buffer::allocate(device, bytes));
    void* p = buffers.back()->host_address();
    std::fill_n(static_cast<std::byte*>(p), bytes, std::byte{0});
    return p;
  };
  std::vector<void*> in, out;
  for (size_t i = 0; i < s.inputs.size(); ++i) {
    const InputDef& def = s.op->input_def(static_cast<int>(i));
    const TensorInfo& t = s.inputs[i];
    const bool pointer = t.dtype != DType::kInvalid && !def.host && !def.shape_only;
    in.push_back(pointer ? memory(static_cast<size_t>(checked_bytes(t.dtype, t.shape)))
                         : nullptr);
  }
  for (const TensorInfo& t : s.outputs) {
    out.push_back(memory(static_cast<size_t>(checked_bytes(t.dtype, t.shape))));
  }
  LaunchArgs args{in.data(), out.data(), nullptr, nullptr};
  if (prepared.workspace_bytes) args.workspace = memory(prepared.workspace_bytes);
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
    const std::chrono::duration<double, std::micro> took =
        std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
    sum += took.count();
  }
  return best;
}

bool worth_measuring(const Signature& s, Device& device) {
  if (s.deterministic || !device.is_host() || s.op->dynamic) return false;
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
  if (!measure || !worth_measuring(s, device)) return std::nullopt;
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
