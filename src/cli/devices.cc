#include <fmt/core.h>

#include "cli/commands.h"
#include "device/runtime.h"
#include "tandem/device.h"

namespace tandem::cli {

int devices() {
  fmt::print("physical devices\n");
  for (const PhysicalDevice& d : config::list_physical_devices()) {
    const config::DeviceDetails details = config::get_device_details(d);
    fmt::print("  {:<24} {}{}{}\n", d.name, details.device_name,
               details.compute_capability.empty()
                   ? ""
                   : fmt::format(", compute capability {}", details.compute_capability),
               details.emulated ? " (emulated)" : "");
  }
  fmt::print("logical devices\n");
  for (Device* d : Runtime::get().devices()) {
    const MemoryInfo info = d->allocator().info();
    fmt::print("  {:<52} {}{}\n", d->full_name(),
               info.limit ? fmt::format("memory limit {} MiB", info.limit >> 20)
                          : "no memory limit",
               d->emulated() ? ", emulated" : "");
  }
  return 0;
}

}  // namespace tandem::cli
