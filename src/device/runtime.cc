#include "device/runtime.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>

#include "base/flags.h"
#include "device/physical.h"
#include "device/runtime_config.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr double kBytesPerMiB = 1 << 20;

/// TensorFlow's order of device types.
int type_priority(const std::string& type) { return type == "CPU" ? 70 : 210; }

using Visible = std::vector<const PhysicalEntry*>;

/// Visible devices with the CPU first: ops that nothing else can run need it, hidden or
/// not.
Visible visible_entries(const Runtime::Config& config) {
  const PhysicalDevices& physical = physical_devices();
  Visible visible;
  for (const PhysicalDevice& device : config.visible_devices()) {
    visible.push_back(&physical.at(device));
  }
  const auto is_cpu = [](const PhysicalEntry* e) {
    return e->device.device_type == "CPU";
  };
  std::stable_partition(visible.begin(), visible.end(), is_cpu);
  if (visible.empty() || !is_cpu(visible.front())) {
    visible.insert(visible.begin(), &physical.entries.front());
  }
  return visible;
}

void check_gpus(const Visible& visible, Runtime::Config& config) {
  std::optional<std::optional<bool>> growth;
  bool some_priority = false, some_without = false;
  for (const PhysicalEntry* entry : visible) {
    if (entry->device.device_type != "GPU") continue;
    const auto& settings = config.of(entry->device);
    if (growth && *growth != settings.memory_growth) {
      throw ValueError("Memory growth cannot differ between GPU devices");
    }
    growth = settings.memory_growth;
    if (!settings.logical) continue;
    for (const auto& logical : *settings.logical) {
      (logical.priority ? some_priority : some_without) = true;
    }
  }
  if (some_priority && some_without) {
    throw ValueError("priority must be specified for all virtual devices");
  }
}

/// The CPU shares the cores with the emulated devices: one part for it, one for each of
/// them.
std::vector<CoreSet> cores_for(const Visible& visible) {
  std::vector<size_t> owners;  // of parts after the first
  for (size_t i = 0; i < visible.size(); ++i) {
    if (visible[i]->probed.details.emulated) owners.push_back(i);
  }
  const auto parts = split_cores(available_cores(), static_cast<int>(owners.size()) + 1);
  std::vector<CoreSet> cores(visible.size());
  cores[0] = parts[0];
  for (size_t i = 0; i < owners.size(); ++i) cores[owners[i]] = parts[i + 1];
  return cores;
}

}  // namespace

struct Runtime::State {
  Config config;
  std::vector<std::unique_ptr<Device>> owned;
  std::vector<Device*> devices;
  std::vector<Device*> by_priority;

  void open(const Visible& visible);
  /// Opens the logical devices that one physical device is cut into.
  void open_one(const PhysicalEntry& entry, const CoreSet& cores,
                std::map<std::string, int>& index);
  void shutdown() {
    for (auto it = owned.rbegin(); it != owned.rend(); ++it) (*it)->shutdown();
  }
};

void Runtime::State::open(const Visible& visible) {
  const auto cores = cores_for(visible);
  std::map<std::string, int> index;  // of the next logical device of a type
  for (size_t i = 0; i < visible.size(); ++i) open_one(*visible[i], cores[i], index);
  for (const auto& device : owned) devices.push_back(device.get());
  by_priority = devices;
  std::stable_sort(by_priority.begin(), by_priority.end(),
                   [](Device* a, Device* b) { return a->priority() > b->priority(); });
}

void Runtime::State::open_one(const PhysicalEntry& entry, const CoreSet& cores,
                              std::map<std::string, int>& index) {
  const auto& settings = config.of(entry.device);
  std::vector<LogicalDeviceConfiguration> logical(1);
  if (settings.logical && !settings.logical->empty()) logical = *settings.logical;
  // TensorFlow forgets the growth of a device that is cut; here both hold together.
  const bool growth =
      settings.memory_growth.value_or(true) && !(settings.logical && strict_tf());
  const auto parts = split_cores(cores, static_cast<int>(logical.size()));
  for (size_t i = 0; i < logical.size(); ++i) {
    OpenRequest request;
    request.physical = entry.index;
    request.info.type = entry.device.device_type;
    request.info.index = index[request.info.type]++;
    request.info.ordinal = static_cast<int>(owned.size());
    request.info.priority = type_priority(request.info.type);
    request.memory_limit =
        static_cast<int64_t>(logical[i].memory_limit.value_or(0) * kBytesPerMiB);
    request.memory_growth = growth;
    request.cores = parts[i];
    if (request.info.type == "CPU") request.threads = config.intra_op_threads;
    owned.push_back(entry.backend->open(request));
  }
}

Runtime::Runtime() : state_(new State) {}

Runtime& Runtime::get() {
  static Runtime* const runtime = new Runtime;  // devices outlive every tensor
  return *runtime;
}

void Runtime::initialize_slow() {
  std::lock_guard lock(state_->config.mutex);
  if (initialized()) return;
  const Visible visible = visible_entries(state_->config);
  check_gpus(visible, state_->config);
  try {
    state_->open(visible);
  } catch (...) {
    state_->shutdown();
    state_->devices.clear();
    state_->owned.clear();
    throw;
  }
  join_threads_before_statics();
  initialized_.store(true, std::memory_order_release);
}

void Runtime::join_threads_before_statics() {
  // The devices themselves stay, since tensors in static objects free their memory later.
  static State* const exiting = state_;
  std::atexit([] { exiting->shutdown(); });
}

std::span<Device* const> Runtime::devices() {
  initialize();
  return state_->devices;
}

Device& Runtime::cpu() {
  initialize();
  return *state_->devices.front();
}

std::span<Device* const> Runtime::by_priority() {
  initialize();
  return state_->by_priority;
}

Device* Runtime::find(std::string_view type, int index) {
  for (Device* device : devices()) {
    if (device->type() == type && device->index() == index) return device;
  }
  return nullptr;
}

Device& Runtime::named(std::string_view name) {
  const std::string text(name);
  const DeviceSpec spec = DeviceSpec::parse(name);
  if (!spec.type) {
    throw ValueError(
        "Failed parsing device name: '" + text +
        "'. Note a valid device string should at least contain a device type "
        "and a device index, like \"GPU:0\".");
  }
  const bool local = spec.job.value_or("localhost") == "localhost" &&
                     spec.replica.value_or(0) == 0 && spec.task.value_or(0) == 0;
  Device* match = nullptr;
  for (Device* device : devices()) {
    if (!local || device->type() != *spec.type) continue;
    if (spec.index && device->index() != *spec.index) continue;
    if (match) {
      throw ValueError("Multiple devices matching '" + text +
                       "'. Name one of them: " + device_list());
    }
    match = device;
  }
  if (!match) {
    throw ValueError("No matching devices found for '" + text +
                     "'. There are: " + device_list());
  }
  return *match;
}

Runtime::Config& Runtime::config() { return state_->config; }

std::vector<std::string> Runtime::absence_reasons() {
  return physical_devices().absence_reasons;
}

std::string device_list() {
  std::string text;
  for (Device* device : Runtime::get().devices()) {
    if (!text.empty()) text += ", ";
    text += device->full_name();
  }
  return text;
}

}  // namespace tandem
