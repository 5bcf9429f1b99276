// Rates of each device, measured with the public API: what a user's program would get.
#include <algorithm>
#include <chrono>
#include <vector>

#include <fmt/core.h>

#include "cli/commands.h"
#include "device/runtime.h"
#include "tandem/tandem.h"

namespace tandem::cli {

namespace {

// Median seconds of `runs` calls after one warm-up; work on devices is waited for.
template <class F>
double median_seconds(int runs, F&& body) {
  body();
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    times.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
  return times[static_cast<size_t>(runs / 2)];
}

}  // namespace

void print_measurements() {
  constexpr int64_t kMatrix = 1024;
  constexpr int64_t kElements = 16 << 20;
  for (Device* device : Runtime::get().devices()) {
    DeviceScope scope(device->full_name());
    const Tensor a = random::normal({kMatrix, kMatrix});
    const double matmul_time = median_seconds(5, [&] { matmul(a, a).wait(); });
    const Tensor x = random::normal({kElements});
    const double add_time = median_seconds(5, [&] { add(x, x).wait(); });
    const double flops = 2.0 * kMatrix * kMatrix * kMatrix;
    // Both inputs are the same tensor: one read and one write.
    const double bytes = 2.0 * kElements * sizeof(float);
    fmt::print("  {:<8} matmul float32 {:8.1f} GFLOP/s   elementwise {:6.1f} GB/s{}\n",
               device->short_name(), flops / matmul_time * 1e-9, bytes / add_time * 1e-9,
               device->emulated() ? "   (emulated on CPU cores)" : "");
    if (device->is_host()) continue;
    const double link_bytes = static_cast<double>(kElements) * sizeof(float);
    Tensor host;
    const double out = median_seconds(3, [&] { host = x.to_host(); });
    const double in = median_seconds(3, [&] { host.to(device->full_name()).wait(); });
    fmt::print("  {:<8} link: to device {:.1f} GB/s, from device {:.1f} GB/s\n",
               device->short_name(), link_bytes / in * 1e-9, link_bytes / out * 1e-9);
  }
}

}  // namespace tandem::cli
