// Lines of comma-separated values. The first byte is the delimiter, the second chooses
// whether there are quotes.
#include "fuzz/readers/support.h"
#include "kernels/cpu/csv_line.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tandem;
  if (size < 2) return 0;
  fuzz::attempt([&] {
    for (const std::string& field :
         cpu::csv_fields(fuzz::view(data + 2, size - 2), static_cast<char>(data[0]),
                         data[1] % 2 != 0)) {
      fuzz::attempt([&] { fuzz::use(cpu::csv_number<float>(field, 0)); });
      fuzz::attempt([&] { fuzz::use(cpu::csv_number<int64_t>(field, 0)); });
    }
  });
  return 0;
}
