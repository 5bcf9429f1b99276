// Memory for the pixels of a fuzzed image: exactly as much as is asked for, up to a
// limit.
#pragma once

#include "fuzz/readers/support.h"
#include "kernels/cpu/image_codec.h"

namespace tandem::fuzz {

class Pixels {
 public:
  explicit Pixels(int64_t bytes_per_channel = 1)
      : bytes_per_channel_(bytes_per_channel) {}
  void* operator()(const cpu::ImageSize& size) {
    constexpr int64_t kMost = 64 << 20;
    const int64_t frames = size.frames > 0 ? size.frames : 1;
    const int64_t bytes =
        frames * size.height * size.width * size.channels * bytes_per_channel_;
    if (bytes > kMost) throw ResourceExhaustedError("the fuzzer has no such memory");
    memory_.reset(new uint8_t[static_cast<size_t>(bytes)]);
    return memory_.get();
  }

 private:
  const int64_t bytes_per_channel_;
  std::unique_ptr<uint8_t[]> memory_;
};

}  // namespace tandem::fuzz
