#include "tandem/profile.h"

#include <chrono>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include "base/file.h"
#include "base/new_file.h"
#include "base/recorder.h"
#include "base/recording_source.h"
#include "device/runtime.h"
#include "profile/lanes.h"
#include "tandem/device.h"
#include "tandem/error.h"

namespace tandem {

namespace {

/// The recording under way.
struct Session {
  std::mutex mutex;
  std::optional<Profile::State> state;
};
Session& session() {
  static Session* const one = new Session;
  return *one;
}

int64_t wall_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

int64_t memory_of_machine() {
  return int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
}

std::vector<ProfiledDevice> devices_now() {
  std::vector<ProfiledDevice> devices;
  if (!Runtime::get().initialized()) return devices;
  for (Device* d : Runtime::get().devices()) {
    ProfiledDevice made{d->short_name(), d->allocator().info(), {}};
    if (d->is_host() && made.memory.limit == 0) made.memory.limit = memory_of_machine();
    // As many logical devices as physical ones: none is cut into several.
    const auto physical = config::get_visible_devices(d->type());
    if (static_cast<int>(physical.size()) == device_count(d->type())) {
      made.details =
          config::get_device_details(physical[static_cast<size_t>(d->index())]);
    }
    devices.push_back(std::move(made));
  }
  return devices;
}

/// A folder of its own for each run, named by the second it was written in.
std::string run_folder(const std::string& log_folder) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y_%m_%d_%H_%M_%S", &parts);
  const std::string base = log_folder + "/plugins/profile/" + text;
  std::string folder = base;
  for (int n = 2; std::filesystem::exists(folder); ++n) {
    folder = fmt::format("{}_{}", base, n);
  }
  return folder;
}

}  // namespace

void start_profile() {
  Session& s = session();
  const std::lock_guard lock(s.mutex);
  if (s.state) {
    throw AlreadyExistsError("Another profiler is running. Stop it first.");
  }
  s.state.emplace();
  s.state->start_ns = recorder::now_ns();
  s.state->wall_start_ns = wall_ns();
  s.state->devices = devices_now();
  recorder::start();
  for (recorder::Source* source : recorder::sources()) source->start();
}

Profile stop_profile() {
  Session& s = session();
  const std::lock_guard lock(s.mutex);
  if (!s.state) {
    throw UnavailableError(
        "Cannot export profiling results. No profiler is running. Start one first.");
  }
  // Work that devices have been given belongs to the recording.
  if (Runtime::get().initialized()) synchronize();
  for (recorder::Source* source : recorder::sources()) {
    if (std::string note = source->stop(); !note.empty()) {
      s.state->notes.push_back(std::move(note));
    }
  }
  recorder::stop();
  auto state = std::make_shared<Profile::State>(std::move(*s.state));
  s.state.reset();
  state->end_ns = recorder::now_ns();
  state->events = recorder::collect();
  return Profile(std::move(state));
}

bool profiling() {
  Session& s = session();
  const std::lock_guard lock(s.mutex);
  return s.state.has_value();
}

size_t Profile::events() const { return state_->events.size(); }

void Profile::write_chrome_trace(const std::string& path) const {
  make_folders(folder_of(path));
  NewFile file(path);
  file.write(chrome_trace());
  file.commit();
}

std::string Profile::write(const std::string& log_folder) const {
  const std::string folder = run_folder(log_folder);
  make_folders(folder);
  const std::string base = folder + "/" + host_name();
  write_chrome_trace(base + ".trace.json");
  NewFile file(base + ".xplane.pb");
  file.write(xspace());
  file.commit();
  return folder;
}

ProfileMark::ProfileMark(const std::string& name, const Values& values) {
  if (!recorder::enabled()) return;
  name_ = name;
  add(values);
  begin_ = recorder::now_ns();
}

void ProfileMark::add(const Values& values) {
  for (const auto& [key, value] : values) detail_ += key + "=" + value + "\n";
}

ProfileMark::~ProfileMark() {
  if (!begin_ || !recorder::enabled()) return;
  recorder::record(recorder::Kind::kMark, recorder::intern(name_), "Program", begin_,
                   recorder::now_ns(), 0,
                   detail_.empty() ? nullptr : recorder::intern(detail_));
}

}  // namespace tandem
