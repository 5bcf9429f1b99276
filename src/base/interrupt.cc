#include "base/interrupt.h"

#include <algorithm>

#include "base/recorder.h"

namespace tandem {

namespace {
constexpr int64_t kOftenNs = 1'000'000;
constexpr int32_t kMaxEvery = 16;
}  // namespace

thread_local constinit InterruptScope* InterruptScope::current_ = nullptr;

void InterruptScope::look() {
  const int64_t now = recorder::now_ns();
  every_ = now - looked_ns_ < kOftenNs ? std::min(2 * every_, kMaxEvery) : 1;
  left_ = every_;
  looked_ns_ = now;
  if (!checked_ns_) checked_ns_ = now;
  if (now - checked_ns_ < kPeriodNs) return;
  checked_ns_ = now;
  check_(data_);
}

void poll_interrupt() {
  InterruptScope* const scope = InterruptScope::current_;
  if (scope && --scope->left_ <= 0) scope->look();
}

void poll_interrupt_now() {
  if (InterruptScope* const scope = InterruptScope::current_) scope->look();
}

}  // namespace tandem
