#include "data/batching.h"

namespace tandem::data {

int64_t batches_of(int64_t n, const Size& size, bool drop_remainder) {
  if (!is_number(n)) return n;
  if (!size.known()) return kUnknown;
  return n / size.get() + (n % size.get() != 0 && !drop_remainder);
}

bool collect(Cursor& input, int64_t size, bool drop_remainder, std::vector<Element>& to) {
  to.clear();
  Element element;
  while (static_cast<int64_t>(to.size()) < size && input.next(element)) {
    to.push_back(std::move(element));
    element.clear();
  }
  const bool full = static_cast<int64_t>(to.size()) == size;
  return full || (!to.empty() && !drop_remainder);
}

}  // namespace tandem::data
