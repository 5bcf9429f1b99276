// tf.train.Example: which features there are, and the values of each.
#include "fuzz/readers/support.h"
#include "ops/example_message.h"

namespace {

using namespace tandem;

void read_all(std::string_view feature) {
  const FeatureValues v = read_feature(feature);
  size_t sum = 0;
  for (const std::string_view s : v.strings) {
    for (const char c : s) sum += static_cast<unsigned char>(c);
  }
  fuzz::use(sum);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::attempt([&] {
    for (const auto& entry : read_example(fuzz::view(data, size))) {
      fuzz::attempt([&] { read_all(entry.second); });
    }
  });
  return 0;
}
