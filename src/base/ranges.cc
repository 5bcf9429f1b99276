#include "base/ranges.h"

namespace tandem::ranges {

std::atomic<const Sink*> detail::sink{nullptr};

const Sink* set_sink(const Sink* sink) {
  return detail::sink.exchange(sink, std::memory_order_relaxed);
}

}  // namespace tandem::ranges
