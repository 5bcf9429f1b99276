#include "base/cache_files.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <mutex>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/trusted_files.h"

namespace tandem {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMagic = 0x6e6962646e617404ull;  // changes with the format
constexpr uint64_t kMostBytesOfOne = uint64_t{1} << 30;
constexpr int kWritesPerSweep = 64;

struct Header {
  uint64_t magic, bytes, check;
};

uint64_t check_of(const std::vector<char>& contents) {
  return hash_bytes({contents.data(), contents.size()}, kMagic);
}

struct OwnedFile {
  int fd;
  explicit OwnedFile(int file) : fd(file) {}
  OwnedFile(const OwnedFile&) = delete;
  OwnedFile& operator=(const OwnedFile&) = delete;
  ~OwnedFile() {
    if (fd >= 0) close(fd);
  }
  bool read(void* to, size_t bytes) const {
    for (auto* at = static_cast<char*>(to); bytes;) {
      const ssize_t got = ::read(fd, at, bytes);
      if (got <= 0) return false;
      at += got;
      bytes -= static_cast<size_t>(got);
    }
    return true;
  }
};

}  // namespace

bool read_cache_file(const fs::path& path, std::vector<char>& contents) {
  const OwnedFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0) return false;
  static std::once_flag told;
  std::string why = reason_to_distrust(file.fd, path.string());
  if (why.empty()) why = reason_to_distrust(path.parent_path().string());
  if (!why.empty()) {
    std::call_once(told,
                   [&] { logging::warn(why + ": what is cached there is not used"); });
    return false;
  }
  Header header{};
  if (!file.read(&header, sizeof(header))) return false;
  if (header.magic != kMagic || header.bytes > kMostBytesOfOne) return false;
  contents.resize(header.bytes);
  return file.read(contents.data(), contents.size()) &&
         check_of(contents) == header.check;
}

void write_cache_file(const fs::path& path, const std::vector<char>& contents) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return;
  const fs::path fresh =
      path.string() +
      fmt::format(".{}.{}", getpid(), reinterpret_cast<uintptr_t>(&contents));
  {
    std::ofstream out(fresh, std::ios::binary);
    const Header header{kMagic, contents.size(), check_of(contents)};
    out.write(reinterpret_cast<const char*>(&header), sizeof(header));
    out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
    out.close();
    if (!out) {
      fs::remove(fresh, error);
      return;
    }
  }
  fs::rename(fresh, path, error);
  if (error) fs::remove(fresh, error);
  static std::atomic<int> written{0};
  if (written++ % kWritesPerSweep == 0) forget_oldest_files(path.parent_path());
}

void forget_oldest_files(const fs::path& folder, uintmax_t most) {
  std::error_code error;
  struct Kept {
    fs::file_time_type time;
    uintmax_t bytes;
    fs::path path;
  };
  std::vector<Kept> files;
  uintmax_t sum = 0;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::error_code gone;  // another process may sweep, too
    if (!entry.is_regular_file(gone)) continue;
    const Kept kept{entry.last_write_time(gone), entry.file_size(gone), entry.path()};
    if (gone) continue;
    sum += kept.bytes;
    files.push_back(kept);
  }
  std::sort(files.begin(), files.end(),
            [](const Kept& a, const Kept& b) { return a.time < b.time; });
  for (const Kept& file : files) {
    if (sum <= most) return;
    if (fs::remove(file.path, error)) sum -= file.bytes;
  }
}

}  // namespace tandem
