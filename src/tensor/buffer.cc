#include "tensor/buffer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <new>
#include <string>
#include <vector>

#include "base/interrupt.h"
#include "device/runtime.h"
#include "device/wait_until_passed.h"
#include "tandem/error.h"
#include "tensor/live_memory.h"

namespace tandem {

struct Buffer::Extra {
  std::mutex mutex;
  TimePoint uses[kMaxUses];
  int use_count = 0;
  std::exception_ptr error;
  std::function<void()> deleter;
};

namespace {

void (*g_give_back)() = nullptr;

std::array<Stream*, 3> queues(Device& device) {
  return {&device.compute(), &device.copy_in(), &device.copy_out()};
}

constexpr std::chrono::milliseconds kBetweenLooks(50);  // for an interrupt

// Work that is queued holds what it reads, on any device: once it is done there may be
// room. Nothing of the caller's is in use yet, so that an interrupt need not wait for the
// queue. Other devices may be busy with something else, for ever even.
void wait_for_memory(Device& device) {
  std::vector<TimePoint> own;
  for (Stream* queue : queues(device)) own.push_back(queue->now());
  while (!pass_within(own, kBetweenLooks)) poll_interrupt_now();
  std::vector<TimePoint> others;
  for (Device* other : Runtime::get().devices()) {
    if (other == &device) continue;
    for (Stream* queue : queues(*other)) others.push_back(queue->now());
  }
  constexpr int kMostTurns = 200;
  for (int i = 0; i < kMostTurns && !pass_within(others, kBetweenLooks); ++i) {
    poll_interrupt_now();
  }
}

}  // namespace

void Buffer::set_give_back(void (*give_back)()) { g_give_back = give_back; }

Ref<Buffer> Buffer::allocate(Device& device, size_t bytes) {
  return allocate(device, bytes, device.is_host() ? nullptr : &device.compute());
}

Ref<Buffer> Buffer::allocate(Device& device, size_t bytes, Stream* stream) {
  const auto make = [&] {
    Ref<Buffer> made(new Buffer(device, device.allocator().allocate(bytes, stream)));
    if (is_noted(device, bytes)) note_buffer(*made);
    return made;
  };
  const auto explained = [&](const ResourceExhaustedError& e) {
    return ResourceExhaustedError(e.what() + explain_memory(device));
  };
  try {
    return make();
  } catch (const ResourceExhaustedError& e) {
    const int64_t limit = device.allocator().info().limit;
    if (device.is_host() || on_stream_thread ||
        (limit && static_cast<int64_t>(bytes) > limit)) {
      throw explained(e);
    }
  }
  wait_for_memory(device);
  if (g_give_back) g_give_back();
  try {
    return make();
  } catch (const ResourceExhaustedError& e) {
    throw explained(e);
  }
}

Ref<Buffer> Buffer::foreign(Device& device, void* address, size_t bytes,
                            std::function<void()> deleter) {
  Ref<Buffer> b(new Buffer(device, {address, bytes, 0}));
  b->kind_ = Kind::kForeign;
  if (deleter) b->extra().deleter = std::move(deleter);
  return b;
}

Ref<Buffer> Buffer::strings(Device& device, size_t count) {
  Ref<Buffer> b = allocate(device, count * sizeof(std::string), nullptr);
  auto* p = static_cast<std::string*>(b->allocation_.address);
  for (size_t i = 0; i < count; ++i) new (p + i) std::string;
  b->kind_ = Kind::kStrings;
  return b;
}

Buffer::~Buffer() {
  Extra* x = extra_.load(std::memory_order_acquire);
  if (kind_ == Kind::kForeign) {
    if (x) {
      // Somebody else will reuse this memory: nothing may still be reading it. Tasks of a
      // stream's thread hold the buffers they read, so there the last one has just
      // finished (and must not wait for itself).
      if (!on_stream_thread) {
        for (int i = 0; i < x->use_count; ++i) wait_until_passed(x->uses[i]);
        wait_until_passed(ready_);
        wait_until_passed(followed());
      }
      if (x->deleter) x->deleter();
    }
  } else {
    if (is_noted(*device_, allocation_.bytes)) forget_buffer(*this);
    if (kind_ == Kind::kStrings) {
      auto* p = static_cast<std::string*>(allocation_.address);
      const size_t n = allocation_.bytes / sizeof(std::string);
      for (size_t i = 0; i < n; ++i) p[i].~basic_string();
    }
    TimePoint points[kMaxUses + 2];
    size_t n = 0;
    if (ready_) points[n++] = ready_;
    if (const TimePoint end = followed()) points[n++] = end;
    if (x) {
      for (int i = 0; i < x->use_count; ++i) points[n++] = x->uses[i];
    }
    device_->allocator().free(allocation_, {points, n});
  }
  delete x;
}

void destroy_object(Buffer* buffer) { delete buffer; }

Buffer::Extra& Buffer::extra() {
  Extra* x = extra_.load(std::memory_order_acquire);
  if (x) return *x;
  auto* fresh = new Extra;
  if (extra_.compare_exchange_strong(x, fresh, std::memory_order_acq_rel)) return *fresh;
  delete fresh;
  return *x;
}

void Buffer::add_use(TimePoint point) {
  if (!point) return;
  Extra& x = extra();
  std::lock_guard lock(x.mutex);
  for (int i = 0; i < x.use_count; ++i) {
    if (x.uses[i].stream == point.stream) {
      if (x.uses[i].sequence < point.sequence) x.uses[i] = point;
      return;
    }
  }
  if (x.use_count == kMaxUses) {
    // More streams than there are places: replace one that has passed, or wait for the
    // oldest.
    for (int i = 0; i < x.use_count; ++i) {
      if (x.uses[i].passed()) {
        x.uses[i] = point;
        return;
      }
    }
    wait_until_passed(x.uses[0]);  // who submitted the work must not be interrupted here
    x.uses[0] = point;
    return;
  }
  x.uses[x.use_count++] = point;
}

void Buffer::await_uses(Stream& writer) {
  Extra* const x = extra_.load(std::memory_order_acquire);
  if (!x) return;
  TimePoint others[kMaxUses];
  size_t n = 0;
  {
    const std::lock_guard lock(x->mutex);
    for (int i = 0; i < x->use_count; ++i) {
      if (x->uses[i].stream != &writer) others[n++] = x->uses[i];
    }
  }
  for (size_t i = 0; i < n; ++i) writer.wait(others[i]);
}

void Buffer::follow_uses() {
  Follows nothing = Follows::kNothing;
  follows_.compare_exchange_strong(nothing, Follows::kUses, std::memory_order_acq_rel);
}

void Buffer::stop_following() {
  Follows writes = Follows::kWrites;
  if (!follows_.compare_exchange_strong(writes, Follows::kStopping,
                                        std::memory_order_acq_rel)) {
    return;
  }
  ready_ = device_->compute().now();
  follows_.store(Follows::kUses, std::memory_order_release);
}

TimePoint Buffer::followed() const {
  if (follows_.load(std::memory_order_acquire) == Follows::kNothing) return {};
  return device_->compute().now();
}

void Buffer::poison(std::exception_ptr error) {
  Extra& x = extra();
  {
    std::lock_guard lock(x.mutex);
    if (!x.error) x.error = std::move(error);
  }
  poisoned_.store(true, std::memory_order_release);
}

std::exception_ptr Buffer::error() const {
  if (!poisoned()) return nullptr;
  Extra* x = extra_.load(std::memory_order_acquire);
  std::lock_guard lock(x->mutex);
  return x->error;
}

void* Buffer::host_address() const {
  if (!device_->is_host()) {
    throw InternalError("the memory of " + device_->full_name() +
                        " has no host address; take a lease");
  }
  return allocation_.address;
}

bool Buffer::relocate(const Allocation& to, TimePoint filled) {
  int32_t free = 0;
  if (!leases_.compare_exchange_strong(free, -1, std::memory_order_acq_rel)) return false;
  TimePoint points[kMaxUses + 3];
  size_t n = 0;
  if (ready_) points[n++] = ready_;
  if (filled) points[n++] = filled;
  if (const TimePoint end = followed()) points[n++] = end;
  Extra& x = extra();
  {
    std::lock_guard lock(x.mutex);
    for (int i = 0; i < x.use_count; ++i) points[n++] = x.uses[i];
    x.use_count = 0;
  }
  const Allocation old = allocation_;
  allocation_ = {to.address, old.bytes, to.granted};
  set_ready(filled);
  leases_.store(0, std::memory_order_release);
  device_->allocator().free(old, {points, n});
  return true;
}

void LeaseSet::take(const Ref<Buffer>& buffer) {
  for (;;) {
    int32_t count = buffer->leases_.load(std::memory_order_relaxed);
    // A move is a few instructions on another thread; it does no waiting of its own.
    if (count >= 0 && buffer->leases_.compare_exchange_weak(count, count + 1,
                                                            std::memory_order_acquire)) {
      break;
    }
  }
  taken_.push_back(buffer);
}

void LeaseSet::clear() {
  for (const auto& b : taken_) b->leases_.fetch_sub(1, std::memory_order_release);
  taken_.clear();
}

void Buffer::host_wait() const {
  ready().host_wait();
  auto e = error();
  if (!e) return;
  // The caller sees it now: the stream it came from need not report it as well.
  for (Device* device : Runtime::get().devices()) device->forget_error(e);
  std::rethrow_exception(e);
}

}  // namespace tandem
