#include "base/file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tandem/error.h"

namespace tandem {

namespace {

ErrorCode code_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::kPermissionDenied;
    case EEXIST:
      return ErrorCode::kAlreadyExists;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
      return ErrorCode::kResourceExhausted;
    case EISDIR:
    case ENOTEMPTY:
      return ErrorCode::kFailedPrecondition;
    case EINVAL:
    case ENAMETOOLONG:
      return ErrorCode::kInvalidArgument;
    default:
      return ErrorCode::kUnknown;
  }
}

/// A renamed file survives a power cut once its folder is on disk. Some file systems
/// cannot do that for folders; they need not be told.
void sync_folder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

void throw_file_error(int error, const std::string& doing, const std::string& path) {
  throw_error(code_of(error), fmt::format("{}; {}: {}", path, doing, strerror(error)));
}

NewFile::NewFile(std::string path) : path_(std::move(path)) {
  static std::atomic<uint64_t> number{0};
  temporary_ = fmt::format("{}.tmp-{}-{}", path_, getpid(), ++number);
  fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) throw_file_error(errno, "cannot be written", path_);
}

NewFile::~NewFile() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(temporary_.c_str());
}

void NewFile::write(const std::vector<std::string_view>& pieces) {
  std::vector<iovec> parts;
  for (std::string_view piece : pieces) {
    if (piece.empty()) continue;
    parts.push_back({const_cast<char*>(piece.data()), piece.size()});
  }
  constexpr size_t kMostParts = 1024;  // IOV_MAX of Linux
  size_t first = 0;
  while (first < parts.size()) {
    const auto count = static_cast<int>(std::min(parts.size() - first, kMostParts));
    const ssize_t done = writev(fd_, &parts[first], count);
    if (done < 0) {
      if (errno == EINTR) continue;
      throw_file_error(errno, "cannot be written", path_);
    }
    auto left = static_cast<size_t>(done);
    while (first < parts.size() && left >= parts[first].iov_len) {
      left -= parts[first++].iov_len;
    }
    if (left > 0) {
      parts[first].iov_base = static_cast<char*>(parts[first].iov_base) + left;
      parts[first].iov_len -= left;
    }
  }
}

void NewFile::commit() {
  if (fsync(fd_) != 0 && errno != EINVAL && errno != EROFS) {
    throw_file_error(errno, "cannot be brought to disk", path_);
  }
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    throw_file_error(errno, "cannot be given its name", path_);
  }
  close(fd_);
  fd_ = -1;
  sync_folder(folder_of(path_));
}

OpenFile::OpenFile(const std::string& path) : path_(path) {
  fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) throw_file_error(errno, "cannot be read", path);
  struct stat about{};
  if (fstat(fd_, &about) != 0 || S_ISDIR(about.st_mode)) {
    const int error = S_ISDIR(about.st_mode) ? EISDIR : errno;
    close(fd_);
    throw_file_error(error, "cannot be read", path);
  }
  size_ = static_cast<uint64_t>(about.st_size);
}

OpenFile::~OpenFile() { close(fd_); }

void OpenFile::read(uint64_t offset, void* to, uint64_t bytes) const {
  auto* p = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = pread(fd_, p, bytes, static_cast<off_t>(offset));
    if (got < 0) {
      if (errno == EINTR) continue;
      throw_file_error(errno, "cannot be read", path_);
    }
    if (got == 0) {
      throw DataLossError(
          fmt::format("{}: the file ends {} bytes before what is stored in it. It was "
                      "cut off; use an "
                      "earlier copy.",
                      path_, bytes));
    }
    p += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<uint64_t>(got);
  }
}

std::string read_whole_file(const std::string& path) {
  const OpenFile file(path);
  std::string bytes(file.size(), '\0');
  file.read(0, bytes.data(), bytes.size());
  return bytes;
}

void make_folders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw_file_error(error.value(), "cannot be made", path);
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace tandem
