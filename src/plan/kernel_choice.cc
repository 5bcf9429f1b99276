#include "plan/kernel_choice.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <sys/resource.h>

#include "op/kernel_fit.h"
#include "op/output_memory.h"
#include "op/uncaptured.h"
#include "plan/cost_store.h"
#include "tandem/error.h"
#include "tensor/buffer.h"
#include "tensor/live_memory.h"
#include "tensor/tensor_impl.h"

namespace tandem {

namespace {

// Below this the choice cannot matter much and measuring costs more than it gains.
constexpr double kWorthMeasuringBytes = 64 << 10;
constexpr double kWorthMeasuringFlops = 2e5;
// A second set of operands is made for a measurement. Whoever only wants to know how long
// a step takes does without where they are large: memory's bandwidth tells.
constexpr double kMostMeasuredBytes = 64 << 20;
constexpr int kRuns = 5;
// Long kernels are told apart by fewer runs.
constexpr double kEnoughUs = 20e3;
constexpr double kNever = 1e30;

std::vector<const Kernel*> candidates(const Signature& s, Platform platform) {
  std::vector<const Kernel*> list;
  const Kernel* first = KernelRegistry::get().choose(s, platform);
  if (!first) return list;
  list.push_back(first);
  if (first == &kernel_of_nothing()) return list;
  for (const Kernel* k : KernelRegistry::get().find(*s.op, platform)) {
    if (k != first && kernel_fits(*k, s)) list.push_back(k);
  }
  return list;
}

// Memory for runs with contents that cannot fail: zeros are valid indices and
// probabilities. Candidates share it but for their workspaces, whose contents are theirs.
struct TrialMemory {
  Device& device;
  const char* op;
  std::vector<Ref<Buffer>> buffers;
  LeaseSet leases;
  std::vector<void*> in, out;

  TrialMemory(const Signature& s, Device& d);
  void* zeros(size_t bytes) {
    buffers.push_back(allocate_for({"trial of kernels of", op}, device, bytes));
    void* const p = leases.address(buffers.back());
    if (device.is_host()) {
      std::fill_n(static_cast<std::byte*>(p), bytes, std::byte{0});
      return p;
    }
    // A first piece comes from the host, the rest are copies of what is there.
    const std::vector<std::byte> host(std::min(bytes, kPiece));
    if (!bytes) return p;
    device.copy(device.compute(), p, host.data(), host.size()).host_wait();
    for (size_t done = host.size(); done < bytes;) {
      const size_t more = std::min(done, bytes - done);
      device.copy(device.compute(), static_cast<std::byte*>(p) + done, p, more)
          .host_wait();
      done += more;
    }
    return p;
  }
  static constexpr size_t kPiece = 1 << 20;
};

TrialMemory::TrialMemory(const Signature& s, Device& d)
    : device(d), op(s.op->name.c_str()) {
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
}

double since_us(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() -
                                                   begin)
      .count();
}

// Times of the same work.
class Runs {
 public:
  bool wanted(int most) const { return runs_ < most && sum_ < kEnoughUs; }
  void add(double us, int launches) {
    least_ = runs_ ? std::min(least_, us) : us;
    most_ = std::max(most_, us);
    sum_ += us * launches;
    ++runs_;
  }
  MeasuredTime summary(bool busy) const {
    return {least_, least_ > 0 ? most_ / least_ - 1 : 0, runs_, busy};
  }

 private:
  double least_ = 0, most_ = 0, sum_ = 0;
  int runs_ = 0;
};

// How often a thread of this process had to leave a core that it wanted to keep.
long displacements() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

// Recorded work is timed as it will run: many launches in a row, without the host's part.
// One launch tells how many are enough, and whether it can be the fastest at all: `best`
// is what another candidate takes.
MeasuredTime time_native(const Kernel& kernel, const Prepared& prepared,
                         const LaunchArgs& args, Device& device, double best) {
  constexpr int kMostLaunches = 32;
  constexpr double kHopeless = 4;
  const auto run = [&](int launches, int runs) -> MeasuredTime {
    const auto captured = device.compute().capture([&](const StreamContext& context) {
      LaunchArgs on = args;
      on.stream = &context;
      for (int i = 0; i < launches; ++i) kernel.launch(prepared, on);
    });
    if (!captured) return {};
    captured->launch().host_wait();
    Runs times;
    while (times.wanted(runs)) {
      const auto begin = std::chrono::steady_clock::now();
      captured->launch().host_wait();
      times.add(since_us(begin) / launches, launches);
    }
    return times.summary(false);
  };
  const MeasuredTime once = run(1, 2);
  if (once.us == 0 || once.us > kHopeless * best) return once;
  const int launches =
      static_cast<int>(std::clamp(kEnoughUs / kRuns / once.us, 1.0, 1.0 * kMostLaunches));
  return run(launches, kRuns);
}

MeasuredTime time_kernel(const Signature& s, const Kernel& kernel,
                         const Prepared& prepared, TrialMemory& memory, double best) {
  Device& device = memory.device;
  const Ref<Buffer> scratch =
      allocate_for({"trial of kernels of", memory.op}, device, prepared.workspace_bytes);
  LeaseSet lease;
  void* const workspace = prepared.workspace_bytes ? lease.address(scratch) : nullptr;
  const LaunchArgs args{memory.in.data(), memory.out.data(), workspace, nullptr};
  if (device.platform() != kHostPlatform) {
    return time_native(kernel, prepared, args, device, best);
  }
  // A share of the device's threads behaves like a smaller team.
  Team share(s.threads);
  const bool whole = device.team() && device.team()->threads() == s.threads;
  Team* const team = whole ? device.team() : &share;
  CurrentTeam current(team);
  TeamToken token(team);
  const long displaced = displacements();
  Runs times;
  while (times.wanted(kRuns)) {
    const auto begin = std::chrono::steady_clock::now();
    kernel.launch(prepared, args);
    times.add(since_us(begin), 1);
  }
  return times.summary(displacements() != displaced);
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
  if (!measure || !device.is_host() || !worth_measuring(s, device) ||
      cost_of(s).bytes > kMostMeasuredBytes) {
    return std::nullopt;
  }
  const Kernel* kernel = KernelRegistry::get().choose(s, device.platform());
  if (!kernel) return std::nullopt;
  const std::string key = cost_key(s, kernel->id);
  if (const std::optional<double> us = CostStore::get().find(key)) return us;
  try {
    TrialMemory memory(s, device);
    const MeasuredTime time =
        time_kernel(s, *kernel, *kernel->prepare(s), memory, kNever);
    CostStore::get().put(key, time);
    return time.us;
  } catch (const ResourceExhaustedError&) {
    return std::nullopt;  // the program may fit where a second set of operands does not
  }
}

namespace {

// Runs are timed as captures are launched; what cannot be captured has no time.
bool will_measure(const std::vector<const Kernel*>& list, const Signature& s,
                  Device& device, bool measure) {
  return list.size() > 1 && measure &&
         std::none_of(list.begin(), list.end(),
                      [](const Kernel* k) { return is_uncaptured(*k); }) &&
         worth_measuring(s, device);
}

}  // namespace

KernelTrials prepare_trials(const Signature& s, Device& device, bool measure,
                            std::set<std::string>& asked) {
  if (device.platform() == kHostPlatform) return {};
  const std::vector<const Kernel*> list = candidates(s, device.platform());
  if (!will_measure(list, s, device, measure)) return {};
  KernelTrials trials;
  for (const Kernel* k : list) {
    KernelTrial& trial = trials.emplace_back();
    const std::string key = cost_key(s, k->id);
    if (CostStore::get().find(key) || !asked.insert(key).second) continue;
    try {
      const CollectBuilds collected;
      trial.prepared = k->prepare(s);
      trial.builds = collected.builds();
    } catch (const Error&) {
      // Said again, or found harmless, when it is chosen from.
    }
  }
  return trials;
}

KernelChoice choose_kernel(const Signature& s, Device& device, bool measure,
                           const KernelTrials& trials) {
  const std::vector<const Kernel*> list = candidates(s, device.platform());
  if (list.empty()) {
    throw NotFoundError("Could not find kernel for " + s.op->name + " on " +
                        device.full_name());
  }
  check_output_memory(s);
  if (list.size() == 1) return {list[0], list[0]->prepare(s), "only one"};
  if (!will_measure(list, s, device, measure)) {
    return {list[0], list[0]->prepare(s), fmt::format("default of {}", list.size())};
  }
  struct Timed {
    double us;
    const Kernel* kernel;
    Ref<Prepared> prepared;  // of what was measured now
  };
  std::vector<Timed> timed;
  std::optional<TrialMemory> memory;
  double least = kNever;
  for (size_t i = 0; i < list.size(); ++i) {
    const Kernel* const k = list[i];
    KernelTrial trial;
    const std::string key = cost_key(s, k->id);
    std::optional<double> us = CostStore::get().find(key);
    if (!us) {
      try {
        if (i < trials.size()) trial = trials[i];
        if (!trial.prepared) {
          const CollectBuilds collected;
          trial.prepared = k->prepare(s);
          trial.builds = collected.builds();
        }
        trial.builds.get();  // compiling is not what is timed
        if (!memory) memory.emplace(s, device);
        const MeasuredTime time = time_kernel(s, *k, *trial.prepared, *memory, least);
        CostStore::get().put(key, time);
        us = time.us;
      } catch (const ResourceExhaustedError&) {
        // The program may still fit where one more copy of its tensors does not.
        memory.reset();
        return {list[0], list[0]->prepare(s), "default: no memory for a measurement"};
      } catch (const Error&) {
        // A library may refuse a candidate after all: the others serve.
        if (k == list.back() && timed.empty()) throw;
        continue;
      }
    }
    least = std::min(least, *us);
    timed.push_back({*us, k, std::move(trial.prepared)});
  }
  const bool stored = !memory;
  memory.reset();
  // Nobody will ask for memory of just these sizes at once again.
  if (!stored && device.is_host() && cost_of(s).bytes > kMostMeasuredBytes) {
    device.allocator().trim();
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
  Timed& chosen = timed[best];
  try {
    if (!chosen.prepared) chosen.prepared = chosen.kernel->prepare(s);
  } catch (const Error&) {
    // Its time was stored with another version of a library: the default serves.
    if (chosen.kernel == list[0]) throw;
    return {list[0], list[0]->prepare(s), "default: " + chosen.kernel->id + " refused"};
  }
  return {chosen.kernel, chosen.prepared,
          fmt::format("{} {:.1f} µs ({})", stored ? "stored" : "measured", chosen.us,
                      others)};
}

}  // namespace tandem
