// Record files in TFRecord's format: length, its masked CRC-32C, the bytes, their masked
// CRC-32C. Event files and checkpoints of elements use it, too. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "base/packer.h"

namespace tandem {

/// Adds a record in its form in files.
void append_record(std::string& to, std::string_view record);

struct RecordWriterOptions {
  bool exclusive = false;  // throws AlreadyExistsError where there is a file
  Compression compression = Compression::kNone;
  int compression_level = -1;  // zlib's, 0 to 9; -1: its default
};

/// Writes a file in place, packed as it goes. A write or flush that fails, as on a full
/// disk, throws and leaves the file with the whole records that it had; what was not
/// written stays in memory, and the next flush tries again.
class RecordWriter {
 public:
  explicit RecordWriter(const std::string& path, const RecordWriterOptions& options = {});
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;
  ~RecordWriter();
  /// A record whose write throws is not taken.
  void write(std::string_view record);
  void flush();
  /// Later writes throw FailedPreconditionError. One that throws can be called again.
  void close();

 private:
  /// Takes what is pending to the file.
  void put();

  std::string path_;
  std::string records_;  // not packed yet; empty where nothing is packed
  std::string pending_;  // what the file gets next, as it stands there
  std::optional<Packer> packer_;
  uint64_t written_ = 0;  // bytes in the file, all of them of whole records
  int fd_ = -1;
  bool ended_ = false;  // the end of the packed stream is written or pending
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
