#include "profile/steps.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "profile/plugin_names.h"

namespace tandem::profile {

namespace {

using recorder::Event;
using recorder::Kind;

Interval time_of(const Event& e) { return {e.begin_ns, e.end_ns}; }

bool includes(const Event& outer, const Event& inner) {
  return outer.begin_ns <= inner.begin_ns && inner.end_ns <= outer.end_ns;
}

bool is_wait(const Event& e) {
  return is_stage(e) && std::string_view(e.name) == recorder::kInputWait;
}

// The steps of a thread; `launches` gets those within them, by mark.
void add_steps(std::vector<const Event*> events, std::vector<Step>& steps,
               std::vector<std::pair<uint64_t, const Event*>>& launches) {
  sort_nested(events);
  const Event* mark = nullptr;
  for (const Event* e : events) {
    const bool within = mark && includes(*mark, *e);
    int64_t number = 0;
    if (!within && step_number(*e, &number)) {
      mark = e;
      steps.push_back({e, number, {}});
    } else if (within && is_wait(*e)) {
      steps.back().waits.push_back(e);
    } else if (within && e->kind == Kind::kLaunch) {
      launches.emplace_back(e->more.number, mark);
    }
  }
}

// Copies that did not wait for what was launched before them, or were left behind by
// kernels that were launched after them.
void find_beside(const DeviceWork& work, std::set<const Event*>& beside) {
  uint64_t newest = 0;
  for (const Event* e : work.events) {
    if (!moves_bytes(*e)) newest = std::max(newest, e->more.number);
    if (device_name(*e) == "MemcpyDToH" && e->more.number < newest) beside.insert(e);
  }
  std::vector<const Event*> launched;
  for (const Event* e : work.events) {
    if (e->more.number) launched.push_back(e);
  }
  std::stable_sort(launched.begin(), launched.end(), [](const Event* a, const Event* b) {
    return a->more.number < b->more.number;
  });
  int64_t busy_until = 0;
  for (const Event* e : launched) {
    if (device_name(*e) == "MemcpyHToD") {
      if (busy_until > e->begin_ns) beside.insert(e);
    } else {
      busy_until = std::max(busy_until, e->end_ns);
    }
  }
}

// The device has a gap when it has ended the steps before the one that waits.
void find_gaps(const Steps& all, DeviceWork& work) {
  Intervals busy;
  std::vector<int64_t> ends(all.steps.size());
  for (const Event* e : work.events) {
    busy.push_back(time_of(*e));
    const auto of = all.of_launch.find(e->more.number);
    if (of != all.of_launch.end() && !all.beside.contains(e)) {
      ends[of->second] = std::max(ends[of->second], e->end_ns);
    }
  }
  busy = united(std::move(busy));
  int64_t before = 0;
  for (size_t s = 0; s < all.steps.size(); ++s) {
    for (const Event* wait : all.steps[s].waits) {
      const Interval idle{std::max(wait->begin_ns, before), wait->end_ns};
      if (idle.first >= idle.second) continue;
      for (const Interval& i : without(idle, busy)) work.gaps.push_back({i, wait, s});
    }
    before = std::max(before, ends[s]);
  }
  std::stable_sort(work.gaps.begin(), work.gaps.end(),
                   [](const InputGap& a, const InputGap& b) { return a.time < b.time; });
}

/// What a step was on the devices.
struct OnDevices {
  Interval longest{0, 0};  // of any device
  Intervals input, other;
};

void add_device(const Steps& all, const DeviceWork& work, std::vector<OnDevices>& made) {
  struct Piece {
    Interval time;
    bool input;
    std::optional<size_t> step;
  };
  std::vector<Piece> pieces;
  for (const Event* e : work.events) {
    Piece p{time_of(*e), device_name(*e) == "MemcpyHToD", {}};
    const auto of = all.of_launch.find(e->more.number);
    if (of != all.of_launch.end() && !all.beside.contains(e)) p.step = of->second;
    pieces.push_back(p);
  }
  for (const InputGap& g : work.gaps) pieces.push_back({g.time, true, g.step});
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return a.time.first < b.time.first;
  });
  std::optional<size_t> step;
  Interval span;
  for (const Piece& p : pieces) {
    // What belongs to no step counts for the one before it.
    const bool next = p.step && p.step != step;
    if (next) step = p.step;
    if (!step) continue;
    (p.input ? made[*step].input : made[*step].other).push_back(p.time);
    span = next ? p.time : Interval{span.first, std::max(span.second, p.time.second)};
    Interval& longest = made[*step].longest;
    if (span.second - span.first > longest.second - longest.first) longest = span;
  }
}

int64_t length_within(const Intervals& all, Interval bounds) {
  int64_t sum = 0;
  for (const auto& [begin, end] : all) {
    sum += std::max<int64_t>(std::min(end, bounds.second) - std::max(begin, bounds.first),
                             0);
  }
  return sum;
}

}  // namespace

Steps steps_of(const Profile::State& state) {
  Steps all;
  const std::set<std::string> reporting = reporting_devices(state);
  std::map<uint64_t, std::vector<const Event*>> threads;
  for (const Event& e : state.events) {
    if (of_device(e, reporting)) {
      all.devices[device_of(e)].events.push_back(&e);
    } else {
      threads[e.thread].push_back(&e);
    }
  }
  std::vector<std::pair<uint64_t, const Event*>> launches;
  for (auto& [thread, events] : threads) {
    add_steps(std::move(events), all.steps, launches);
  }
  std::stable_sort(all.steps.begin(), all.steps.end(), [](const Step& a, const Step& b) {
    return a.mark->begin_ns < b.mark->begin_ns;
  });
  std::map<const Event*, size_t> of_mark;
  for (size_t i = 0; i < all.steps.size(); ++i) of_mark[all.steps[i].mark] = i;
  for (const auto& [launch, mark] : launches) all.of_launch[launch] = of_mark.at(mark);
  for (auto& [name, work] : all.devices) {
    find_beside(work, all.beside);
    find_gaps(all, work);
  }
  return all;
}

std::vector<StepTime> times_of(const Steps& all) {
  std::vector<OnDevices> on_devices(all.steps.size());
  for (const auto& [name, work] : all.devices) add_device(all, work, on_devices);
  std::vector<StepTime> times;
  for (size_t i = 0; i < all.steps.size(); ++i) {
    const Step& step = all.steps[i];
    OnDevices& d = on_devices[i];
    Interval bounds = time_of(*step.mark);
    Intervals input;
    if (d.longest.first < d.longest.second) {
      bounds = d.longest;
      const Intervals other = united(std::move(d.other));
      for (const Interval& t : united(std::move(d.input))) {
        for (const Interval& left : without(t, other)) input.push_back(left);
      }
    } else {
      for (const Event* wait : step.waits) input.push_back(time_of(*wait));
    }
    times.push_back({bounds.second - bounds.first, length_within(input, bounds)});
  }
  return times;
}

bool step_number(const Event& mark, int64_t* number) {
  if (mark.kind != Kind::kMark || is_stage(mark)) return false;
  for (const auto& [name, value] : values_of(mark)) {
    if (name != "step_num") continue;
    *number = std::strtoll(value.c_str(), nullptr, 10);
    return true;
  }
  return false;
}

void sort_nested(std::vector<const Event*>& events) {
  std::stable_sort(events.begin(), events.end(), [](const Event* a, const Event* b) {
    return a->begin_ns != b->begin_ns ? a->begin_ns < b->begin_ns : a->end_ns > b->end_ns;
  });
}

}  // namespace tandem::profile
