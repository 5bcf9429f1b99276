#include "base/processor.h"

#include <string.h>

// No header of the standard library's templates here: of an inline function that several
// objects have the linker keeps one, which might be compiled for newer processors.

namespace tandem::processor {

namespace {

void append(char* names, size_t size, const char* name) {
  const size_t used = strlen(names), more = strlen(name), comma = used ? 2 : 0;
  if (used + comma + more + 1 > size) return;
  if (comma) memcpy(names + used, ", ", comma);
  memcpy(names + used + comma, name, more + 1);
}

}  // namespace

void list_missing(char* names, size_t size) noexcept {
  if (size) names[0] = 0;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2")) append(names, size, "AVX2");
  if (!__builtin_cpu_supports("fma")) append(names, size, "FMA");
  if (!__builtin_cpu_supports("bmi2")) append(names, size, "BMI2");
  if (!__builtin_cpu_supports("f16c")) append(names, size, "F16C");
  if (!__builtin_cpu_supports("lzcnt")) append(names, size, "LZCNT");
  if (!__builtin_cpu_supports("movbe")) append(names, size, "MOVBE");
#endif
}

}  // namespace tandem::processor
