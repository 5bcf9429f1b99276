// Stored plans.
#include "fuzz/readers/stored.h"
#include "plan/stored_plan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tandem;
  const std::string bytes = fuzz::stored("TDMPLAN1", fuzz::view(data, size));
  fuzz::attempt([&] { planned_from_bytes(bytes, fuzz::variable); });
  return 0;
}
