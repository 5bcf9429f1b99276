// Record files in TFRecord's format: length, its masked CRC-32C, the bytes, their masked
// CRC-32C. Event files and checkpoints of elements use it, too. One thread at a time.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace tandem {

struct CloseFile {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using FileHandle = std::unique_ptr<std::FILE, CloseFile>;

/// fopen; throws NotFoundError, PermissionDeniedError or UnknownError with the path.
FileHandle open_file(const std::string& path, const char* mode);

class RecordWriter {
 public:
  explicit RecordWriter(const std::string& path, bool append = false);
  void write(std::string_view record);
  void flush();
  /// Later writes throw FailedPreconditionError.
  void close();

 private:
  void put(const void* data, size_t bytes);
  std::string path_;
  FileHandle file_;
};

class RecordReader {
 public:
  explicit RecordReader(const std::string& path);
  /// False at the end of the file; DataLossError when it is cut off or a checksum is
  /// wrong.
  bool read(std::string& record);

 private:
  [[noreturn]] void fail(const char* what) const;
  std::string path_;
  FileHandle file_;
  int64_t offset_ = 0;  // of the record being read
};

}  // namespace tandem
