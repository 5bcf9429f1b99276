#include "device/copy.h"

#include <atomic>
#include <memory>

namespace tandem {
namespace {

std::atomic<int64_t> copy_count{0};
std::atomic<int64_t> copied_bytes{0};

bool same_backend(const Device& a, const Device& b) {
  return a.platform() == b.platform() && a.emulated() == b.emulated() &&
         a.is_host() == b.is_host();
}

TimePoint copy_on(Device& device, Stream& stream, void* to, const void* from,
                  size_t bytes, TimePoint source_ready) {
  stream.wait(source_ready);
  return device.copy(stream, to, from, bytes);
}

/// Between devices that cannot reach each other's memory: through the host, in two steps.
/// Waits.
TimePoint copy_through_host(CopySide to, CopySide from, size_t bytes,
                            TimePoint source_ready) {
  const auto host = std::make_unique_for_overwrite<std::byte[]>(bytes);
  copy_on(*from.device, from.device->copy_out(), host.get(), from.address, bytes,
          source_ready)
      .host_wait();
  copy_on(*to.device, to.device->copy_in(), to.address, host.get(), bytes, {})
      .host_wait();
  return {};
}

}  // namespace

TimePoint leave_error(Stream& stream, const std::exception_ptr& error) {
  return stream.submit([error](const StreamContext&) { std::rethrow_exception(error); });
}

Stream& copying_stream(Device& to, Device& from) {
  return to.is_host() && !from.is_host() ? from.copy_out() : to.copy_in();
}

bool copies_directly(const Device& to, const Device& from) {
  return to.is_host() || from.is_host() || same_backend(to, from);
}

TimePoint enqueue_copy(CopySide to, CopySide from, size_t bytes, TimePoint source_ready) {
  copy_count.fetch_add(1, std::memory_order_relaxed);
  copied_bytes.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  if (from.device->is_host() || same_backend(*to.device, *from.device)) {
    return copy_on(*to.device, to.device->copy_in(), to.address, from.address, bytes,
                   source_ready);
  }
  if (to.device->is_host()) {
    return copy_on(*from.device, from.device->copy_out(), to.address, from.address, bytes,
                   source_ready);
  }
  return copy_through_host(to, from, bytes, source_ready);
}

CopyStats copy_stats() {
  return {copy_count.load(std::memory_order_relaxed),
          copied_bytes.load(std::memory_order_relaxed)};
}

}  // namespace tandem
