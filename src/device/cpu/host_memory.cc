#include "device/cpu/host_memory.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

namespace tandem {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

/// The tightest memory limit of this process's control group and its parents.
int64_t cgroup_limit() {
  int64_t limit = INT64_MAX;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string text; std::getline(groups, text);) {
    std::istringstream fields(text);
    std::string id, controllers, path;
    std::getline(fields, id, ':');
    std::getline(fields, controllers, ':');
    std::getline(fields, path);
    const bool v2 = controllers.empty();
    if (!v2 && controllers != "memory") continue;
    const std::string root = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const std::string file = v2 ? "/memory.max" : "/memory.limit_in_bytes";
    while (true) {
      int64_t value = 0;
      if (std::ifstream(root + path + file) >> value && value > 0) {
        limit = std::min(limit, value);
      }
      if (path.size() <= 1) break;
      path.erase(path.rfind('/'));
    }
  }
  return limit;
}

}  // namespace

int64_t host_memory_bytes() {
  static const int64_t bytes = std::min(
      int64_t{sysconf(_SC_PHYS_PAGES)} * int64_t{sysconf(_SC_PAGESIZE)}, cgroup_limit());
  return bytes;
}

size_t page_bytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

void* map_pages(size_t bytes) {
  const size_t slack = bytes >= kHugePage ? kHugePage : 0;
  void* mapped = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  if (slack == 0) return mapped;

  auto* const begin = static_cast<std::byte*>(mapped);
  const size_t skip =
      (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
  if (skip > 0) munmap(begin, skip);
  if (slack > skip) munmap(begin + skip + bytes, slack - skip);
  madvise(begin + skip, bytes, MADV_HUGEPAGE);
  return begin + skip;
}

void unmap_pages(void* address, size_t bytes) { munmap(address, bytes); }

}  // namespace tandem
