// Core sets: which processor cores a device, a worker or a lane may use. Claims are
// listed so that `tandem doctor` can say who uses what. Any thread.
#pragma once

#include <string>
#include <vector>

namespace tandem {

struct CoreSet {
  std::vector<int> cores;  // operating-system processor numbers, ascending
  int size() const { return static_cast<int>(cores.size()); }
};

struct CoreClaim {
  std::string owner;
  CoreSet cores;
};

/// The cores this process may run on (affinity mask and cgroup quota respected).
CoreSet available_cores();
/// Cuts `all` into `parts` runs of nearly equal size, each at least one core (shared when
/// there are fewer cores than parts).
std::vector<CoreSet> split_cores(const CoreSet& all, int parts);

/// Records who uses which cores while it lives.
class CoreLease {
 public:
  CoreLease(std::string owner, CoreSet cores);
  CoreLease(const CoreLease&) = delete;
  CoreLease& operator=(const CoreLease&) = delete;
  ~CoreLease();
  const CoreSet& cores() const { return cores_; }

 private:
  CoreSet cores_;
};
std::vector<CoreClaim> core_claims();

/// Binds the calling thread, and the OpenMP workers it will start, to these cores.
void bind_this_thread(const CoreSet& cores);
void name_this_thread(const std::string& name);

}  // namespace tandem
