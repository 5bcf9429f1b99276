// Files and folders that appear under their names only when they are complete. Until then
// they lie beside, under names of their own (kAsideMark), and are locked for as long as
// their process lives: what a killed process has left there, the next save into the same
// folder removes. One thread at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// How names of what is not complete begin.
inline constexpr std::string_view kAsideMark = ".tandem-new-";

/// Where a symbolic link leads, also where nothing is; other paths as they are.
std::string real_target(std::string path);

/// Removes what killed processes have left in the folder. Returns how much that was.
size_t remove_abandoned(const std::string& folder);

/// A file being written. What is no regular file (a pipe, a device) is written in place.
class NewFile {
 public:
  explicit NewFile(const std::string& path);
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();

  /// Writes the pieces one after the other with as few calls as possible.
  void write(const std::vector<std::string_view>& pieces);
  void write(std::string_view bytes) { write(std::vector{bytes}); }
  /// Bytes to disk, then the name: a reader sees the old file or the whole new one.
  void commit();

 private:
  std::string path_, aside_;  // aside_ is empty where the file is written in place
  int fd_ = -1;
};

/// A folder being filled.
class NewFolder {
 public:
  /// Makes an empty folder beside `path`.
  explicit NewFolder(const std::string& path);
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  /// Removes what was not published.
  ~NewFolder();

  /// Where to write.
  const std::string& path() const { return aside_; }
  /// Brings one of its files to disk and gives it the name `to`, which may be taken.
  void publish(const std::string& name, const std::string& to);
  /// Brings all of it to disk and gives the folder its name, which must be free.
  void commit();
  /// Removes what was not published.
  void close();

 private:
  std::string path_, aside_;
  int fd_ = -1;
};

/// Holds the lock of a folder: savers that change several files in it take turns.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock() { release(); }
  void release();

 private:
  int fd_ = -1;
};

}  // namespace tandem
