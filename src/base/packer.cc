#include "base/packer.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "tandem/error.h"

namespace tandem {

namespace {
constexpr size_t kRoom = 64 << 10;
}  // namespace

Packer::Packer(Compression compression, int level) {
  if (level < Z_DEFAULT_COMPRESSION || level > Z_BEST_COMPRESSION) {
    throw InvalidArgumentError(fmt::format(
        "compression_level must be between 0 and 9, or -1 for zlib's default, not {}",
        level));
  }
  constexpr int kWindow = 15, kGzipHeader = 16, kMemory = 8;
  const int window = compression == Compression::kGzip ? kWindow + kGzipHeader : kWindow;
  if (deflateInit2(&stream_, level, Z_DEFLATED, window, kMemory, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw ResourceExhaustedError("zlib could not start");
  }
}

void Packer::run(std::string_view bytes, std::string& to, int flush) {
  constexpr size_t kMost = std::numeric_limits<uInt>::max();
  do {
    const std::string_view part = bytes.substr(0, kMost);
    bytes.remove_prefix(part.size());
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
    stream_.avail_in = static_cast<uInt>(part.size());
    do {
      const size_t at = to.size();
      to.resize(at + kRoom);
      stream_.next_out = reinterpret_cast<Bytef*>(to.data() + at);
      stream_.avail_out = kRoom;
      (void)deflate(&stream_, bytes.empty() ? flush : Z_NO_FLUSH);
      to.resize(at + kRoom - stream_.avail_out);
    } while (stream_.avail_out == 0);  // else everything was taken and given out
  } while (!bytes.empty());
}

}  // namespace tandem
