#include "device/cpu/guarded_memory.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include <sys/mman.h>

#include "base/flags.h"
#include "device/cpu/host_memory.h"

namespace tandem {
namespace {

constexpr size_t kGuardedAlignment = 16;
std::atomic<unsigned char> g_fill{0xa5};

/// Where the pages of a block begin, and how many bytes they are.
struct Pages {
  void* begin;
  size_t bytes;
};
std::mutex g_mutex;
std::unordered_map<void*, Pages>& blocks() {  // guarded by g_mutex
  static auto* map = new std::unordered_map<void*, Pages>;
  return *map;
}

/// Bytes of the pages that can be touched.
size_t usable(size_t bytes) {
  const size_t page = page_bytes();
  return (bytes + page - 1) / page * page;
}

}  // namespace

bool guards_memory() {
  static const bool guards = env_bool("TANDEM_GUARD_PAGES", false);
  return guards;
}

void* guarded_allocate(size_t bytes) {
  const size_t aligned =
      (bytes + kGuardedAlignment - 1) / kGuardedAlignment * kGuardedAlignment;
  if (aligned < bytes) return nullptr;
  const size_t whole = usable(aligned);
  void* mapped = mmap(nullptr, whole + page_bytes(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const end = static_cast<std::byte*>(mapped) + whole;
  mprotect(end, page_bytes(), PROT_NONE);
  std::memset(end - aligned, g_fill.load(std::memory_order_relaxed), aligned);
  const std::lock_guard lock(g_mutex);
  blocks()[end - aligned] = {mapped, whole + page_bytes()};
  return end - aligned;
}

void guarded_free(void* address) {
  Pages pages{};
  {
    const std::lock_guard lock(g_mutex);
    const auto found = blocks().find(address);
    if (found == blocks().end()) std::abort();  // freed twice, or never ours
    pages = found->second;
    blocks().erase(found);
  }
  munmap(pages.begin, pages.bytes);
}

void set_guard_fill(unsigned char byte) { g_fill.store(byte, std::memory_order_relaxed); }

}  // namespace tandem
