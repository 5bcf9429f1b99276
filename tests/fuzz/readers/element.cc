// Elements of datasets as files of saved and cached ones hold them.
#include "data/element_file.h"
#include "fuzz/readers/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tandem;
  fuzz::attempt([&] { data::decode_element(fuzz::view(data, size)); });
  return 0;
}
