// Bytes packed piece by piece into one GZIP or ZLIB stream, what `open_bytes` reads
// again. A writer of a file owns one. One thread.
#pragma once

#include <string>
#include <string_view>

#include <zlib.h>

#include "base/byte_source.h"

namespace tandem {

class Packer {
 public:
  /// `level`: zlib's, 0 to 9, or -1 for its default.
  Packer(Compression compression, int level);
  ~Packer() { deflateEnd(&stream_); }
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  /// Appends the packed form of `bytes` to `to`: a reader of what was appended so far
  /// gets all of them.
  void pack(std::string_view bytes, std::string& to) { run(bytes, to, Z_SYNC_FLUSH); }
  /// Appends the end of the stream. Called once, last.
  void finish(std::string& to) { run({}, to, Z_FINISH); }

 private:
  void run(std::string_view bytes, std::string& to, int flush);
  z_stream stream_{};
};

}  // namespace tandem
