// The public functions that ask something of logical devices; each initialises the
// runtime.
#include <algorithm>
#include <exception>

#include "device/runtime.h"
#include "tandem/device.h"

namespace tandem {
namespace {

/// The named device, or all of them when the name is empty.
std::vector<Device*> selected(std::string_view name) {
  if (!name.empty()) return {&Runtime::get().named(name)};
  const auto all = Runtime::get().devices();
  return {all.begin(), all.end()};
}

}  // namespace

namespace config {

MemoryInfo get_memory_info(std::string_view device) {
  return Runtime::get().named(device).allocator().info();
}

int64_t get_memory_usage(std::string_view device) {
  return get_memory_info(device).current;
}

void reset_memory_stats(std::string_view device) {
  Runtime::get().named(device).allocator().reset_peak();
}

}  // namespace config

int device_count(std::string_view type) {
  const auto all = Runtime::get().devices();
  return static_cast<int>(std::count_if(
      all.begin(), all.end(), [&](Device* device) { return device->type() == type; }));
}

void synchronize(std::string_view device) {
  std::exception_ptr first;
  for (Device* one : selected(device)) {
    try {
      one->synchronize();
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

void trim_memory(std::string_view device) {
  for (Device* one : selected(device)) one->allocator().trim();
}

}  // namespace tandem
