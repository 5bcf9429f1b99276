// Record files in TFRecord's format: length, its masked CRC-32C, the bytes, their masked
// CRC-32C. Event files and checkpoints of elements use it, too. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/byte_source.h"

namespace tandem {

/// Adds a record in its form in files.
void append_record(std::string& to, std::string_view record);

/// Writes a file in place. A write or flush that fails, as on a full disk, throws and
/// leaves the file with the whole records that it had; what was not written stays in
/// memory, and the next flush tries again.
class RecordWriter {
 public:
  /// `exclusive`: throws AlreadyExistsError where there is a file.
  explicit RecordWriter(const std::string& path, bool exclusive = false);
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;
  ~RecordWriter();
  /// A record whose write throws is not taken.
  void write(std::string_view record);
  void flush();
  /// Later writes throw FailedPreconditionError.
  void close();

 private:
  std::string path_, pending_;
  uint64_t written_ = 0;  // bytes in the file, all of them of whole records
  int fd_ = -1;
};

class RecordReader {
 public:
  explicit RecordReader(const std::string& path,
                        Compression compression = Compression::kNone);
  /// False at the end of the file; DataLossError when it is cut off or a checksum is
  /// wrong. Offsets in errors are those of the unpacked contents.
  bool read(std::string& record);

 private:
  [[noreturn]] void fail(const char* what) const;
  std::string path_;
  std::unique_ptr<ByteSource> source_;
  int64_t offset_ = 0;  // of the record being read
};

}  // namespace tandem
