#include <algorithm>

#include <fmt/format.h>

#include "kernels/cpu/image_codec.h"
#include "tandem/error.h"

namespace tandem::cpu {

void fail_image(std::string_view op, std::string_view message) {
  throw InvalidArgumentError(fmt::format("{}: {}", op, message));
}

void check_image_size(std::string_view op, const ImageSize& size,
                      int64_t bytes_per_channel) {
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  int64_t left = kMost / bytes_per_channel;
  for (const int64_t n :
       {std::max<int64_t>(size.frames, 1), size.height, size.width, size.channels}) {
    left = n > 0 ? left / n : 0;
  }
  if (left > 0) return;
  fail_image(op, fmt::format("Image too large or empty: {} frames of {}x{} with {} "
                             "channels of {} bytes; at most {} bytes are decoded",
                             std::max<int64_t>(size.frames, 1), size.height, size.width,
                             size.channels, bytes_per_channel, kMost));
}

ImageFormat image_format(std::string_view bytes) {
  if (bytes.starts_with("\xff\xd8\xff")) return ImageFormat::kJpeg;
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return ImageFormat::kPng;
  if (bytes.starts_with("GIF8")) return ImageFormat::kGif;
  if (bytes.starts_with("BM")) return ImageFormat::kBmp;
  return ImageFormat::kUnknown;
}

}  // namespace tandem::cpu
