#include "device/wait_until_passed.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace tandem {

void wait_until_passed(const TimePoint& point) {
  std::chrono::microseconds pause(1);
  while (!point.passed()) {
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(200));
  }
}

}  // namespace tandem
