#include "base/new_file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <random>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/file.h"

namespace tandem {

namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // of Linux

/// A renamed file survives a power cut once its folder is on disk. Some file systems
/// cannot do that for folders; they need not be told.
void sync_folder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

void sync_open_file(int fd, const std::string& path) {
  if (fsync(fd) != 0 && errno != EINVAL && errno != EROFS) {
    throw_file_error(errno, "cannot be brought to disk", path);
  }
}

void sync_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw_file_error(errno, "cannot be brought to disk", path);
  try {
    sync_open_file(fd, path);
  } catch (...) {
    close(fd);
    throw;
  }
  close(fd);
}

void sync_tree(const std::string& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_symlink()) continue;
    if (entry.is_regular_file()) sync_file(entry.path().string());
    if (entry.is_directory()) sync_folder(entry.path().string());
  }
  sync_folder(folder);
}

/// Waits for the lock. Where a file system has no locks, nothing is removed either.
void lock(int fd) {
  while (flock(fd, LOCK_EX) != 0 && errno == EINTR) {
  }
}

struct Aside {
  std::string path;
  int fd = -1;
};

/// Makes a file or a folder under a name that nobody has, and locks it.
Aside make_aside(const std::string& wanted, bool is_folder) {
  static std::atomic<uint64_t> number{0};
  thread_local std::mt19937_64 random{std::random_device{}()};
  const std::string folder = folder_of(wanted);
  // What lies in a folder that is not complete goes with that folder.
  if (folder.find(kAsideMark) == std::string::npos) remove_abandoned(folder);
  while (true) {
    Aside made;
    made.path = fmt::format("{}/{}{}-{}-{:08x}", folder, kAsideMark, getpid(), ++number,
                            static_cast<uint32_t>(random()));
    const bool there = is_folder && mkdir(made.path.c_str(), 0777) != 0;
    if (!there) {
      made.fd = open(made.path.c_str(),
                     is_folder ? O_RDONLY | O_DIRECTORY | O_CLOEXEC
                               : O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                     0666);
    }
    if (made.fd < 0) {
      const int error = errno;
      // Another process may have taken the new folder for an abandoned one.
      if (error == EEXIST || (is_folder && !there && error == ENOENT)) continue;
      throw_file_error(error, "cannot be written", wanted);
    }
    lock(made.fd);
    struct stat about{};
    if (fstat(made.fd, &about) == 0 && about.st_nlink > 0) return made;
    close(made.fd);
  }
}

/// What stands under the name that a new file is to get.
struct Present {
  bool in_place = false;  // no regular file
  int mode = -1;
};

Present look_at(const std::string& path) {
  struct stat about{};
  if (stat(path.c_str(), &about) != 0) return {};
  if (S_ISDIR(about.st_mode)) throw_file_error(EISDIR, "cannot be written", path);
  if (!S_ISREG(about.st_mode)) return {.in_place = true};
  // A file that must not be written must not be replaced, either.
  if (access(path.c_str(), W_OK) != 0) throw_file_error(errno, "cannot be written", path);
  return {.mode = static_cast<int>(about.st_mode & 07777)};
}

void give_name(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) {
    throw_file_error(errno, "cannot be given its name", to);
  }
  sync_folder(folder_of(to));
}

}  // namespace

std::string real_target(std::string path) {
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, error); ++i) {
    const fs::path to = fs::read_symlink(path, error);
    if (error) break;
    path = to.is_absolute() ? to.string() : (fs::path(path).parent_path() / to).string();
  }
  return path;
}

size_t remove_abandoned(const std::string& folder) {
  size_t removed = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (!at->path().filename().string().starts_with(kAsideMark)) continue;
    const std::string path = at->path().string();
    // Over a network, a file's lock is given to who may write it.
    constexpr int kHow = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int fd = open(path.c_str(), O_RDWR | kHow);
    if (fd < 0) fd = open(path.c_str(), O_RDONLY | kHow);
    if (fd < 0) continue;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
      std::error_code ignored;
      fs::remove_all(path, ignored);
      if (!ignored) ++removed;
    }
    close(fd);
  }
  return removed;
}

NewFile::NewFile(const std::string& path) : path_(real_target(checked_path(path))) {
  const Present present = look_at(path_);
  if (present.in_place) {
    fd_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) throw_file_error(errno, "cannot be written", path_);
    return;
  }
  Aside made = make_aside(path_, false);
  aside_ = std::move(made.path);
  fd_ = made.fd;
  if (present.mode >= 0) (void)fchmod(fd_, static_cast<mode_t>(present.mode));
}

NewFile::~NewFile() {
  if (fd_ < 0) return;
  if (!aside_.empty()) unlink(aside_.c_str());
  close(fd_);
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
  sync_open_file(fd_, path_);
  if (!aside_.empty()) give_name(aside_, path_);
  close(fd_);
  fd_ = -1;
}

NewFolder::NewFolder(const std::string& path) : path_(real_target(checked_path(path))) {
  Aside made = make_aside(path_, true);
  aside_ = std::move(made.path);
  fd_ = made.fd;
}

NewFolder::~NewFolder() { close(); }

void NewFolder::close() {
  if (fd_ < 0) return;
  std::error_code ignored;
  if (!aside_.empty()) fs::remove_all(aside_, ignored);
  ::close(fd_);
  fd_ = -1;
}

void NewFolder::publish(const std::string& name, const std::string& to) {
  const std::string from = aside_ + "/" + name, target = real_target(checked_path(to));
  const Present present = look_at(target);
  if (present.mode >= 0) (void)chmod(from.c_str(), static_cast<mode_t>(present.mode));
  sync_file(from);
  give_name(from, target);
}

void NewFolder::commit() {
  sync_tree(aside_);
  give_name(aside_, path_);
  aside_.clear();
  close();
}

FolderLock::FolderLock(const std::string& folder) {
  fd_ = open(checked_path(folder).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd_ < 0) throw_file_error(errno, "cannot be written", folder);
  lock(fd_);
}

void FolderLock::release() {
  if (fd_ < 0) return;
  close(fd_);
  fd_ = -1;
}

}  // namespace tandem
