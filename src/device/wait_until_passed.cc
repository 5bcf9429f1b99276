#include "device/wait_until_passed.h"

#include <algorithm>
#include <thread>

namespace tandem {

namespace {
using Clock = std::chrono::steady_clock;

bool pass_until(std::span<const TimePoint> points, Clock::time_point end) {
  std::chrono::microseconds pause(1);
  for (const TimePoint& p : points) {
    while (!p.passed()) {
      if (Clock::now() > end) return false;
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, std::chrono::microseconds(200));
    }
  }
  return true;
}
}  // namespace

void wait_until_passed(const TimePoint& point) {
  pass_until({&point, 1}, Clock::time_point::max());
}

bool pass_within(std::span<const TimePoint> points, std::chrono::nanoseconds most) {
  return pass_until(points, Clock::now() + most);
}

}  // namespace tandem
