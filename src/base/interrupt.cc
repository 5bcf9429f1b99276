#include "base/interrupt.h"

#include <algorithm>

#include "base/recorder.h"

namespace tandem {

namespace {
constexpr int64_t kOftenNs = 1'000'000;
constexpr int32_t kMaxEvery = 16;
}  // namespace

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
  InterruptScope* const scope = t_thread.interrupt;
  if (scope && --scope->left_ <= 0) scope->look();
}

void poll_interrupt_now() {
  if (InterruptScope* const scope = t_thread.interrupt) scope->look();
}

}  // namespace tandem
