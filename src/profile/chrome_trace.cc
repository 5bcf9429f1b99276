// Chrome's trace format: one JSON object that Perfetto and chrome://tracing open. A
// process is a device, a thread one of its lanes; memory in use is a counter.
#include <charconv>

#include <fmt/format.h>

#include "base/json.h"
#include "profile/lanes.h"

namespace tandem {

namespace {

using nlohmann::json;

json value_of(const std::string& text) {
  int64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return text;
}

double micros(int64_t ns) { return static_cast<double>(ns) / 1e3; }

json name_event(const char* what, int64_t pid, int64_t tid, const std::string& name) {
  json e = {{"ph", "M"}, {"name", what}, {"pid", pid}, {"args", {{"name", name}}}};
  if (tid) e["tid"] = tid;
  return e;
}

class TraceWriter {
 public:
  explicit TraceWriter(const Profile::State& state) : state_(state) {}

  std::string run() {
    const std::vector<profile::Lane> lanes = profile::lanes_of(state_);
    for (size_t i = 0; i < lanes.size(); ++i) {
      const int64_t pid = pid_of(lanes[i].device);
      const auto tid = static_cast<int64_t>(i + 1);
      events_.push_back(name_event("thread_name", pid, tid, lanes[i].name));
      for (const recorder::Event* e : lanes[i].events) add(*e, pid, tid);
    }
    add_memory();
    json all = {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events_)}};
    if (!state_.notes.empty()) all["otherData"] = {{"notes", state_.notes}};
    return all.dump(-1, ' ', false, json::error_handler_t::replace);
  }

 private:
  int64_t pid_of(const std::string& device) {
    const auto [found, added] =
        pids_.emplace(device, static_cast<int64_t>(pids_.size() + 1));
    if (added) {
      events_.push_back(name_event("process_name", found->second, 0, device));
    }
    return found->second;
  }

  void add(const recorder::Event& e, int64_t pid, int64_t tid) {
    json args = json::object();
    if (e.bytes) args["bytes"] = e.bytes;
    if (const char* source = profile::source_of(e)) args["source"] = source;
    for (const auto& [name, value] : profile::values_of(e)) args[name] = value_of(value);
    json made = {{"ph", "X"},
                 {"name", e.name},
                 {"cat", profile::kind_name(e.kind)},
                 {"pid", pid},
                 {"tid", tid},
                 {"ts", micros(e.begin_ns - state_.start_ns)},
                 {"dur", micros(e.end_ns - e.begin_ns)}};
    if (!args.empty()) made["args"] = std::move(args);
    events_.push_back(std::move(made));
  }

  // What was allocated before the recording is not known: the counter starts at zero.
  void add_memory() {
    std::map<std::string, int64_t> in_use;
    for (const recorder::Event& e : state_.events) {
      const bool alloc = e.kind == recorder::Kind::kAlloc;
      if (!alloc && e.kind != recorder::Kind::kFree) continue;
      const std::string device = e.lane;
      int64_t& bytes = in_use[device];
      bytes += alloc ? e.bytes : -e.bytes;
      events_.push_back({{"ph", "C"},
                         {"name", "memory since start"},
                         {"pid", pid_of(device)},
                         {"ts", micros(e.end_ns - state_.start_ns)},
                         {"args", {{"bytes", bytes}}}});
    }
  }

  const Profile::State& state_;
  json events_ = json::array();
  std::map<std::string, int64_t> pids_;
};

}  // namespace

std::string Profile::chrome_trace() const { return TraceWriter(*state_).run(); }

}  // namespace tandem
