// Files of records: TFRecord's framing, plain and packed, and lines of text. The first
// byte chooses the packing.
#include "base/byte_source.h"
#include "base/record_file.h"
#include "fuzz/readers/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tandem;
  if (size == 0) return 0;
  const auto packing = static_cast<Compression>(data[0] % 3);
  const fuzz::MemoryFile file(fuzz::view(data + 1, size - 1));
  fuzz::attempt([&] {
    RecordReader reader(file.path(), packing);
    std::string record;
    while (reader.read(record)) fuzz::use(record);
  });
  fuzz::attempt([&] {
    LineReader reader(file.path(), packing);
    std::string line;
    while (reader.read(line)) fuzz::use(line);
  });
  return 0;
}
