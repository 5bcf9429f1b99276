// JPEG files. The first byte chooses channels, ratio and what happens to files that are
// cut off.
#include "fuzz/readers/image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tandem;
  if (size == 0) return 0;
  constexpr int64_t kChannels[] = {0, 1, 3, 4};
  image::DecodeJpegAttrs attrs;
  attrs.channels = kChannels[data[0] % 4];
  attrs.ratio = 1 << (data[0] / 4 % 4);
  attrs.try_recover_truncated = (data[0] & 16) != 0;
  attrs.acceptable_fraction = 0.25;
  attrs.fancy_upscaling = (data[0] & 32) != 0;
  const cpu::Crop crop = (data[0] & 64) != 0 ? cpu::Crop{1, 2, 3, 4, false} : cpu::Crop{};
  const std::string_view bytes = fuzz::view(data + 1, size - 1);
  fuzz::attempt([&] {
    fuzz::Pixels pixels;
    cpu::decode_jpeg("DecodeJpeg", bytes, attrs, crop, pixels);
  });
  fuzz::attempt([&] { fuzz::use(cpu::jpeg_size("ExtractJpegShape", bytes)); });
  return 0;
}
