#include "base/ranges.h"

namespace tandem::ranges {

std::atomic<const Sink*> detail::sink{nullptr};

void set_sink(const Sink* sink) { detail::sink.store(sink, std::memory_order_relaxed); }

}  // namespace tandem::ranges
