#include "kernels/cuda/host_words.h"

#include <algorithm>
#include <cstring>

namespace tandem::cuda {
namespace {

/// The layout is known to device/host_words.cuh; arguments may have 32 KiB in all.
struct Words {
  int64_t w[3000];
};
constexpr size_t kAtOnce = std::size(Words{}.w);

}  // namespace

std::string host_words_text() {
  return std::string(device_text("prelude.cuh")) +
         std::string(device_text("host_words.cuh"));
}

HostWords::HostWords(Device* device, std::vector<int64_t> words)
    : words_(std::move(words)) {
  if (!words_.empty()) {
    function_ = find_function(device, "host_words", host_words_text(), "store_words");
  }
}

void HostWords::run(const StreamContext& stream, int64_t* to) const {
  for (size_t at = 0; at < words_.size(); at += kAtOnce) {
    const size_t n = std::min(kAtOnce, words_.size() - at);
    Words some;
    std::memcpy(some.w, words_.data() + at, n * sizeof(int64_t));
    int64_t* const here = to + at;
    const int count = static_cast<int>(n);
    launch(function_, stream, Grid{.x = static_cast<unsigned>((n + 255) / 256)}, here,
           count, some);
  }
}

}  // namespace tandem::cuda
