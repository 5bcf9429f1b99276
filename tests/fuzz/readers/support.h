// What the fuzzers of readers share. A reader may give a value or throw an error of
// Tandem's classes; everything else is a finding: other exceptions, sanitizers' reports,
// more than the limits of memory and time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

#include "tandem/error.h"

namespace tandem::fuzz {

inline std::string_view view(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

template <class Reader>
void attempt(const Reader& reader) {
  try {
    reader();
  } catch (const Error&) {
  }
}

/// A file in memory, for readers that take a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    while (!bytes.empty()) {
      const ssize_t n = write(fd_, bytes.data(), bytes.size());
      if (n <= 0) std::abort();
      bytes.remove_prefix(static_cast<size_t>(n));
    }
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  const int fd_;
};

/// Keeps the compiler from leaving out a computation.
template <class T>
void use(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

}  // namespace tandem::fuzz
