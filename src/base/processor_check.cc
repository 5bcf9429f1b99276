// Says what the processor lacks when the library is loaded. In the library alone: the
// Python package asks earlier.
#include <string.h>
#include <unistd.h>

#include "base/processor.h"

namespace tandem::processor {

namespace {

void say(const char* text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, strlen(text));
}

/// Runs before the library's other initialisers, which are compiled for newer processors:
/// a sentence instead of an illegal instruction. The Python package asks earlier and
/// raises ImportError.
[[gnu::constructor(101)]] void check_when_loaded() {
  char missing[64];
  list_missing(missing, sizeof missing);
  if (!missing[0]) return;
  say(kNeeds);
  say(missing);
  say("\n");
  _exit(1);
}

}  // namespace

}  // namespace tandem::processor
