// Functions of saved models.
#include "fuzz/readers/stored.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tandem;
  std::string begin(stored::kMagic);
  fuzz::put(begin, stored::kVersion);
  const std::string bytes = fuzz::stored(begin, fuzz::view(data, size));
  fuzz::attempt([&] { from_bytes(bytes, fuzz::variable); });
  return 0;
}
