// Files as Tandem reads them: errors have TensorFlow's classes with the path. Any thread;
// an OpenFile may be read by many. base/new_file.h has those that are written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// The error class that belongs to `errno` (NotFound, PermissionDenied, …), about `path`.
[[noreturn]] void throw_file_error(int error, const std::string& doing,
                                   const std::string& path);

/// The path, for a call that takes C's texts: without the "file://" of a URL. Throws
/// InvalidArgumentError for one with a zero byte: the call would take what stands before
/// it for the name.
std::string checked_path(const std::string& path);

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
/// The path of what a file of `folder` names. Throws InvalidArgumentError, which says
/// where the name stands, for a name that leads out of the folder: an absolute one, one
/// with "..", or one that a symbolic link takes elsewhere. What it names need not exist.
std::string path_inside(const std::string& folder, const std::string& name,
                        const std::string& where);
/// What a file is, by its first and last bytes: "a table in TensorFlow's own checkpoint
/// format". Empty: there is no such file, or it is empty.
std::string describe_file(const std::string& path);

}  // namespace tandem
