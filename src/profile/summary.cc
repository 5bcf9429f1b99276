// A recording in figures: straight from its events, not from the files, so that a test
// can compare what TensorBoard reads with it.
#include <algorithm>

#include "profile/memory.h"
#include "profile/plugin_names.h"
#include "profile/steps.h"

namespace tandem {

namespace {

using recorder::Event;
using recorder::Kind;

constexpr double kSecondsPerNano = 1e-9;

double seconds(int64_t ns) { return static_cast<double>(ns) * kSecondsPerNano; }

class Summarizer {
 public:
  explicit Summarizer(const Profile::State& state)
      : state_(state), reporting_(profile::reporting_devices(state)) {}

  ProfileSummary run() {
    std::map<uint64_t, std::vector<const Event*>> threads;
    for (const Event& e : state_.events) {
      if (profile::of_device(e, reporting_)) {
        add_work(e);
      } else {
        threads[e.thread].push_back(&e);
      }
    }
    for (auto& [thread, events] : threads) {
      profile::sort_nested(events);
      add_thread(events);
    }
    for (auto& [key, op] : ops_) result_.ops.push_back(std::move(op));
    for (auto& [key, kernel] : kernels_) result_.kernels.push_back(std::move(kernel));
    for (auto& [path, stage] : stages_) result_.stages.push_back(std::move(stage));
    add_steps();
    for (const auto& [device, points] : profile::memory_of(state_)) {
      add_memory(device, points);
    }
    return std::move(result_);
  }

 private:
  void add_work(const Event& e) {
    const std::string device = profile::device_of(e);
    const std::string op = profile::op_name(e);
    const std::string name = profile::device_name(e);
    const int64_t ns = e.end_ns - e.begin_ns;
    auto& k = kernels_[{device, name, op}];
    k.device = device;
    k.name = name;
    k.op = op.substr(0, op.find(':'));
    ++k.count;
    k.seconds += seconds(ns);
    if (profile::moves_bytes(e)) k.bytes += e.bytes;
    if (!op.empty()) count(device, op, ns, ns);
  }

  void count(const std::string& device, const std::string& op, int64_t all,
             int64_t self) {
    auto& o = ops_[{device, op}];
    o.device = device;
    o.name = op.substr(0, op.find(':'));
    o.type = profile::op_type(op);
    ++o.count;
    o.seconds += seconds(all);
    o.self_seconds += seconds(self);
  }

  // Ops and stages of a thread, each without those within it.
  void add_thread(const std::vector<const Event*>& events) {
    struct Open {
      const Event* event;
      int64_t within = 0;
    };
    std::vector<Open> open;
    const auto close = [&] {
      const Open o = open.back();
      open.pop_back();
      const int64_t ns = o.event->end_ns - o.event->begin_ns;
      add_host(*o.event, ns, ns - o.within);
      if (!open.empty()) open.back().within += ns;
    };
    for (const Event* e : events) {
      const bool stage =
          profile::is_stage(*e) && std::string_view(e->name) != recorder::kInputWait;
      if (!stage && profile::op_name(*e).empty()) continue;
      while (!open.empty() && open.back().event->end_ns < e->end_ns) close();
      open.push_back({e});
    }
    while (!open.empty()) close();
  }

  void add_host(const Event& e, int64_t all, int64_t self) {
    if (const std::string op = profile::op_name(e); !op.empty()) {
      count("CPU:0", op, all, self);
      return;
    }
    const std::string path = profile::host_name(e);
    auto& s = stages_[path];
    s.path = path;
    ++s.elements;
    s.seconds += seconds(all);
    s.self_seconds += seconds(self);
  }

  void add_steps() {
    const profile::Steps all = profile::steps_of(state_);
    const std::vector<profile::StepTime> times = profile::times_of(all);
    for (size_t i = 0; i < times.size(); ++i) {
      const profile::Step& step = all.steps[i];
      result_.steps.push_back({step.mark->name, step.number, seconds(times[i].ns),
                               seconds(times[i].input_ns)});
    }
  }

  void add_memory(const std::string& device,
                  const std::vector<profile::MemoryPoint>& points) {
    ProfileSummary::Memory m{.device = device};
    for (const profile::MemoryPoint& p : points) {
      m.allocations += p.event->kind == Kind::kAlloc;
      m.peak_bytes = std::max(m.peak_bytes, p.in_use);
    }
    result_.memory.push_back(std::move(m));
  }

  const Profile::State& state_;
  const std::set<std::string> reporting_;
  std::map<std::pair<std::string, std::string>, ProfileSummary::Op> ops_;
  std::map<std::tuple<std::string, std::string, std::string>, ProfileSummary::Kernel>
      kernels_;
  std::map<std::string, ProfileSummary::Stage> stages_;
  ProfileSummary result_;
};

}  // namespace

ProfileSummary Profile::summary() const { return Summarizer(*state_).run(); }

}  // namespace tandem
