#include "base/core_set.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <list>
#include <mutex>
#include <sstream>
#include <tuple>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "base/log.h"

namespace tandem {
namespace {

/// A cpu_set_t of any size.
class CpuMask {
 public:
  explicit CpuMask(int cpus) : cpus_(cpus), set_(CPU_ALLOC(static_cast<size_t>(cpus))) {
    CPU_ZERO_S(bytes(), set_);
  }
  CpuMask(const CpuMask&) = delete;
  CpuMask& operator=(const CpuMask&) = delete;
  ~CpuMask() { CPU_FREE(set_); }
  size_t bytes() const { return CPU_ALLOC_SIZE(static_cast<size_t>(cpus_)); }
  cpu_set_t* get() { return set_; }
  bool has(int cpu) const { return CPU_ISSET_S(static_cast<size_t>(cpu), bytes(), set_); }
  void add(int cpu) { CPU_SET_S(static_cast<size_t>(cpu), bytes(), set_); }
  int cpus() const { return cpus_; }

 private:
  int cpus_;
  cpu_set_t* set_;
};

std::vector<int> affinity_cores() {
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    CpuMask mask(cpus);
    if (sched_getaffinity(0, mask.bytes(), mask.get()) == 0) {
      std::vector<int> cores;
      for (int cpu = 0; cpu < mask.cpus(); ++cpu) {
        if (mask.has(cpu)) cores.push_back(cpu);
      }
      if (!cores.empty()) return cores;
    }
    if (errno != EINVAL) break;
  }
  std::vector<int> cores;
  const long count = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
  for (int cpu = 0; cpu < count; ++cpu) cores.push_back(cpu);
  return cores;
}

template <class T>
bool read_file(const std::string& path, T& value) {
  std::ifstream file(path);
  return static_cast<bool>(file >> value);
}

/// quota/period of one control group directory in cores; infinite when there is none.
double quota_of(const std::string& folder) {
  double period = 0;
  std::ifstream v2(folder + "/cpu.max");
  std::string word;
  if (v2 >> word >> period && word != "max" && period > 0) {
    return std::strtod(word.c_str(), nullptr) / period;
  }
  double quota = -1;
  if (read_file(folder + "/cpu.cfs_quota_us", quota) && quota > 0 &&
      read_file(folder + "/cpu.cfs_period_us", period) && period > 0) {
    return quota / period;
  }
  return HUGE_VAL;
}

/// The tightest CPU quota of this process's control group and its parents, in cores.
double cgroup_quota() {
  double quota = HUGE_VAL;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string text; std::getline(groups, text);) {
    std::istringstream fields(text);
    std::string id, controllers, path;
    std::getline(fields, id, ':');
    std::getline(fields, controllers, ':');
    std::getline(fields, path);
    std::string root;
    if (controllers.empty()) {
      root = "/sys/fs/cgroup";
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      root = "/sys/fs/cgroup/" + controllers;
      if (access(root.c_str(), X_OK) != 0) root = "/sys/fs/cgroup/cpu";
    } else {
      continue;
    }
    while (path.size() > 1) {
      quota = std::min(quota, quota_of(root + path));
      path.erase(path.rfind('/'));
    }
    quota = std::min(quota, quota_of(root));
  }
  return quota;
}

/// Orders hardware threads so that those of one core, and cores of one package, are
/// neighbours.
std::tuple<int, int, int> place_of(int cpu) {
  const std::string folder =
      "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
  int package = 0, core = cpu;
  read_file(folder + "physical_package_id", package);
  read_file(folder + "core_id", core);
  return {package, core, cpu};
}

struct Claims {
  std::mutex mutex;
  std::list<std::pair<const CoreLease*, CoreClaim>> list;
};
Claims& claims() {
  static Claims* const all = new Claims;  // outlives every lease
  return *all;
}

}  // namespace

CoreSet available_cores() {
  CoreSet set{affinity_cores()};
  const double quota = cgroup_quota();
  if (quota < set.size()) {
    set.cores.resize(static_cast<size_t>(std::max(1.0, std::ceil(quota))));
  }
  return set;
}

std::vector<CoreSet> split_cores(const CoreSet& all, int parts) {
  std::vector<std::tuple<int, int, int>> places;
  for (int cpu : all.cores) places.push_back(place_of(cpu));
  std::sort(places.begin(), places.end());

  const int count = all.size();
  std::vector<CoreSet> result(static_cast<size_t>(std::max(parts, 0)));
  for (int part = 0; part < parts && count > 0; ++part) {
    int begin = static_cast<int>(int64_t{count} * part / parts);
    int end = static_cast<int>(int64_t{count} * (part + 1) / parts);
    if (count < parts) {
      begin = part % count;
      end = begin + 1;
    }
    auto& cores = result[static_cast<size_t>(part)].cores;
    for (int i = begin; i < end; ++i) {
      cores.push_back(std::get<2>(places[static_cast<size_t>(i)]));
    }
    std::sort(cores.begin(), cores.end());
  }
  return result;
}

CoreLease::CoreLease(std::string owner, CoreSet cores) : cores_(std::move(cores)) {
  Claims& all = claims();
  std::lock_guard lock(all.mutex);
  all.list.emplace_back(this, CoreClaim{std::move(owner), cores_});
}

CoreLease::~CoreLease() {
  Claims& all = claims();
  std::lock_guard lock(all.mutex);
  all.list.remove_if([this](const auto& entry) { return entry.first == this; });
}

std::vector<CoreClaim> core_claims() {
  Claims& all = claims();
  std::lock_guard lock(all.mutex);
  std::vector<CoreClaim> result;
  for (const auto& entry : all.list) result.push_back(entry.second);
  return result;
}

void bind_this_thread(const CoreSet& cores) {
  if (cores.cores.empty()) return;
  CpuMask mask(*std::max_element(cores.cores.begin(), cores.cores.end()) + 1);
  for (int cpu : cores.cores) mask.add(cpu);
  if (sched_setaffinity(0, mask.bytes(), mask.get()) != 0) {
    logging::debug(std::string("cannot bind a thread to its cores: ") +
                   std::strerror(errno));
  }
}

void name_this_thread(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

}  // namespace tandem
