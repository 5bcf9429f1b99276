// Files as Tandem writes and reads them: a new file appears under its name only when it
// is complete, and errors have TensorFlow's classes with the path. A File belongs to one
// thread; OpenFile may be read by many.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// The error class that belongs to `errno` (NotFound, PermissionDenied, …), about `path`.
[[noreturn]] void throw_file_error(int error, const std::string& doing,
                                   const std::string& path);

/// A file being written. Until commit() its contents are under a temporary name in the
/// same folder, which goes away when the object does.
class NewFile {
 public:
  explicit NewFile(std::string path);
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();

  /// Writes the pieces one after the other with as few calls as possible.
  void write(const std::vector<std::string_view>& pieces);
  void write(std::string_view bytes) { write(std::vector{bytes}); }
  /// Bytes to disk, then the name: a reader sees the old file or the whole new one.
  void commit();

 private:
  std::string path_, temporary_;
  int fd_ = -1;
};

/// A file opened for reading at any offset.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path);
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile();

  uint64_t size() const { return size_; }
  /// Throws DataLossError when the file ends before.
  void read(uint64_t offset, void* to, uint64_t bytes) const;

 private:
  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

std::string read_whole_file(const std::string& path);
/// Makes the folder and those above it.
void make_folders(const std::string& path);
/// The folder part of a path; "." where there is none.
std::string folder_of(const std::string& path);

}  // namespace tandem
