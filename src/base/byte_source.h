// Bytes of a file from its start to its end: as they are, or what a GZIP or ZLIB file
// holds, unpacked while it is read. Errors have TensorFlow's classes, with the path and
// the place. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tandem {

enum class Compression { kNone, kGzip, kZlib };
/// "", "GZIP" or "ZLIB" in any case; throws InvalidArgumentError for other names.
Compression compression_from_name(std::string_view name);

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Up to `n` bytes; fewer only where the contents end. Throws DataLossError when packed
  /// contents are damaged or cut off.
  virtual size_t read(void* to, size_t n) = 0;
};

/// Throws NotFoundError, PermissionDeniedError, FailedPreconditionError (a folder) or
/// UnknownError.
std::unique_ptr<ByteSource> open_bytes(const std::string& path,
                                       Compression compression = Compression::kNone);

/// Lines without their ends "\n" and "\r\n".
class LineReader {
 public:
  explicit LineReader(const std::string& path,
                      Compression compression = Compression::kNone)
      : source_(open_bytes(path, compression)) {}
  /// False at the end.
  bool read(std::string& line);

 private:
  const std::unique_ptr<ByteSource> source_;
  std::string held_;  // bytes read and not given out yet, from at_ on
  size_t at_ = 0;
};

}  // namespace tandem
