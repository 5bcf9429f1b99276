// BMP without compression: 8 bits grey, 24 bits colour, 32 bits colour and alpha.
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "kernels/cpu/image_codec.h"

namespace tandem::cpu {

namespace {

int32_t little(std::string_view bytes, size_t at, int n) {
  uint32_t v = 0;
  for (int i = n; i-- > 0;) {
    v = v << 8 | static_cast<uint8_t>(bytes[at + static_cast<size_t>(i)]);
  }
  return n == 2 ? static_cast<int16_t>(v) : static_cast<int32_t>(v);
}

}  // namespace

void decode_bmp(std::string_view op, std::string_view bytes, int64_t channels,
                AllocatePixels allocate) {
  if (bytes.size() < 32) {
    fail_image(op, fmt::format("Incomplete bmp content, requires at least 32 bytes to "
                               "find the header size, got {} bytes",
                               bytes.size()));
  }
  const int64_t start = little(bytes, 10, 4);
  const int64_t width = little(bytes, 18, 4), signed_height = little(bytes, 22, 4);
  const int64_t height = std::abs(signed_height);
  const int64_t in_file = little(bytes, 28, 2) / 8;
  if (in_file != 1 && in_file != 3 && in_file != 4) {
    fail_image(op, fmt::format("Number of channels inferred from bits per pixel is {}; "
                               "8, 24 or 32 bits are supported",
                               in_file));
  }
  if (channels != 0 && channels != in_file) {
    fail_image(op, fmt::format("channels attribute {} does not match bits per pixel from "
                               "file {}",
                               channels, in_file));
  }
  const int64_t row = (width * in_file + 3) / 4 * 4;  // rows end at words
  constexpr int64_t kMost = int64_t{1} << 30;         // TensorFlow's limit, too
  if (width <= 0 || height <= 0 || row > kMost / height) {
    fail_image(op, fmt::format("Invalid bmp content: {}x{} pixels of {} channels; sizes "
                               "must be positive and all bytes fewer than 2^30",
                               width, height, in_file));
  }
  if (start < 0 || start + row * height != static_cast<int64_t>(bytes.size())) {
    fail_image(op, fmt::format("Incomplete bmp content: {} bytes for {}x{} pixels of {} "
                               "channels from byte {}, which are {}",
                               bytes.size(), width, height, in_file, start,
                               start + row * height));
  }
  auto* out = static_cast<uint8_t*>(allocate({0, height, width, in_file}));
  for (int64_t y = 0; y < height; ++y) {
    const int64_t line = signed_height > 0 ? height - 1 - y : y;
    const auto* from =
        reinterpret_cast<const uint8_t*>(bytes.data()) + start + line * row;
    uint8_t* to = out + y * width * in_file;
    for (int64_t x = 0; x < width; ++x, from += in_file, to += in_file) {
      if (in_file == 1) {
        to[0] = from[0];
        continue;
      }
      to[0] = from[2];
      to[1] = from[1];
      to[2] = from[0];
      if (in_file == 4) to[3] = from[3];
    }
  }
}

}  // namespace tandem::cpu
