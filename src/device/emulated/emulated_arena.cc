#include "device/emulated/emulated_arena.h"

#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/cpu/host_memory.h"
#include "device/out_of_memory.h"
#include "tandem/error.h"

namespace tandem {
namespace {

struct Arenas {
  std::mutex mutex;
  std::vector<const EmulatedArena*> list;
};
Arenas& arenas() {
  static Arenas* const all = new Arenas;
  return *all;
}

/// The offset of the arena that holds `address`; 0 when none does.
int64_t offset_of(const void* address) {
  Arenas& all = arenas();
  std::lock_guard lock(all.mutex);
  const auto* place = static_cast<const std::byte*>(address);
  for (const EmulatedArena* arena : all.list) {
    if (place >= arena->base() && place < arena->base() + arena->bytes()) {
      return arena->offset();
    }
  }
  return 0;
}

std::byte* map(size_t bytes, int protection, int file) {
  void* mapped = mmap(nullptr, bytes, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
}

}  // namespace

EmulatedArena::EmulatedArena(size_t bytes)
    : bytes_(bytes), mapped_((bytes + page_bytes() - 1) / page_bytes() * page_bytes()) {
  file_ = memfd_create("tandem-emulated-gpu", MFD_CLOEXEC);
  if (file_ >= 0 && ftruncate(file_, static_cast<off_t>(mapped_)) == 0) {
    base_ = map(mapped_, PROT_NONE, file_);
    access_ = map(mapped_, PROT_READ | PROT_WRITE, file_);
  }
  if (!base_ || !access_) {
    const std::string why = std::strerror(errno);
    if (base_) munmap(base_, mapped_);
    if (access_) munmap(access_, mapped_);
    if (file_ >= 0) close(file_);
    throw ResourceExhaustedError(
        "emulated GPU: cannot reserve " + format_bytes(static_cast<int64_t>(bytes)) +
        " of memory: " + why + ". Set TANDEM_EMULATED_MEMORY_MB lower.");
  }
  offset_ = reinterpret_cast<intptr_t>(access_) - reinterpret_cast<intptr_t>(base_);
  Arenas& all = arenas();
  std::lock_guard lock(all.mutex);
  all.list.push_back(this);
}

EmulatedArena::~EmulatedArena() {
  {
    Arenas& all = arenas();
    std::lock_guard lock(all.mutex);
    std::erase(all.list, this);
  }
  munmap(base_, mapped_);
  munmap(access_, mapped_);
  close(file_);
}

int64_t EmulatedArena::resident() const {
  struct stat status;
  return fstat(file_, &status) == 0 ? int64_t{status.st_blocks} * 512 : 0;
}

void EmulatedArena::discard(size_t begin, size_t bytes) {
  const size_t page = page_bytes();
  const size_t first = (begin + page - 1) / page * page;
  const size_t last = (begin + bytes) / page * page;
  if (first >= last) return;
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first),
            static_cast<off_t>(last - first));
}

void* EmulatedArena::reachable(void* address) {
  return static_cast<std::byte*>(address) + offset_of(address);
}

bool EmulatedArena::owns(const void* address) { return offset_of(address) != 0; }

}  // namespace tandem
