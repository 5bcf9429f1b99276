// Buffer: reference-counted memory on one device, with the point in time when its
// contents are ready, the error that spoiled them (if any), and the last uses. Host
// memory never moves; the address of any other buffer is obtained only by a lease, for
// the time of an enqueue, so that it may be moved between uses (arenas, spilling). Any
// thread may hold a Ref; contents are immutable once ready (variables replace buffers).
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "device/device.h"
#include "tandem/ref.h"

namespace tandem {

class Buffer : public RefCounted {
 public:
  /// Uninitialised memory for work of the device's compute stream.
  static Ref<Buffer> allocate(Device& device, size_t bytes);
  /// For a copy or another stream.
  static Ref<Buffer> allocate(Device& device, size_t bytes, Stream* stream);
  /// Called, without the lock of an ArenaPool, when a device has run out of memory and
  /// its work is over: lets go what nobody needs.
  static void set_give_back(void (*give_back)());
  /// Host memory that somebody else owns.
  static Ref<Buffer> foreign(Device& device, void* address, size_t bytes,
                             std::function<void()> deleter);
  /// `count` default-constructed std::string elements (CPU only).
  static Ref<Buffer> strings(Device& device, size_t count);
  ~Buffer();

  Device& device() const { return *device_; }
  size_t bytes() const { return allocation_.bytes; }
  /// Memory that somebody else owns: only read, never written.
  bool is_foreign() const { return kind_ == Kind::kForeign; }

  /// When the contents are there. Set by the submitter before the buffer is shared; a
  /// null point means ready.
  TimePoint ready() const { return follows_writes() ? device_->compute().now() : ready_; }
  /// The same to who knows what the compute stream was given before.
  TimePoint ready_before(TimePoint now) const { return follows_writes() ? now : ready_; }
  void set_ready(TimePoint point) {
    ready_ = point;
    if (follows_.load(std::memory_order_relaxed) == Follows::kWrites) {
      follows_.store(Follows::kUses, std::memory_order_release);
    }
  }
  /// Notes that work up to `point` reads the buffer; its memory is not reused before.
  void add_use(TimePoint point);
  /// Later work of `writer`, which writes the contents in place, comes after the uses of
  /// other streams (a copy to the host, or to another device).
  void await_uses(Stream& writer);
  /// Work of the device's compute stream that is submitted from now on reads the buffer,
  /// or writes it too, and does not say so each time (the variables of a compiled call).
  void follow_uses();
  void follow_writes() { follows_.store(Follows::kWrites, std::memory_order_release); }
  /// What is submitted from now on does not write it; others may hold the buffer, and do
  /// the same.
  void stop_following();

  /// The work that should have produced the contents failed. Dependants copy the error.
  void poison(std::exception_ptr error);
  /// Null when fine. Meaningful once ready() has passed.
  std::exception_ptr error() const;
  bool poisoned() const { return poisoned_.load(std::memory_order_acquire); }
  /// Waits for the contents and throws what spoiled them; synchronize() does not throw it
  /// again.
  void host_wait() const;

  /// The address of host memory, which never moves.
  void* host_address() const;
  /// Puts the contents elsewhere on the same device: they are in `to` once `filled` has
  /// passed; the old memory is freed after its uses. False, and nothing happens, while
  /// somebody holds a lease. A variable's is moved by who holds the variable's lock.
  bool relocate(const Allocation& to, TimePoint filled);

 private:
  friend class LeaseSet;
  Buffer(Device& device, Allocation allocation)
      : device_(&device), allocation_(allocation) {}

  static constexpr int kMaxUses = 8;  // streams that may touch one buffer
  Device* device_;
  Allocation allocation_;
  TimePoint ready_;
  std::atomic<bool> poisoned_{false};
  std::atomic<int32_t> leases_{0};  // -1 while being moved
  enum class Follows : uint8_t { kNothing, kUses, kWrites, kStopping };
  std::atomic<Follows> follows_{Follows::kNothing};
  /// Else ready_ may be looked at.
  bool follows_writes() const {
    return follows_.load(std::memory_order_acquire) >= Follows::kWrites;
  }
  /// The end of what follows; null: of nothing.
  TimePoint followed() const;
  struct Extra;  // uses, error, foreign owner: allocated when needed
  Extra& extra();
  std::atomic<Extra*> extra_{nullptr};
  enum class Kind : uint8_t { kOwned, kForeign, kStrings } kind_ = Kind::kOwned;
};
void destroy_object(Buffer* buffer);

/// Leases on the buffers of one enqueue: addresses are valid until it is destroyed or
/// cleared. Host buffers cost nothing here. Used by one thread.
class LeaseSet {
 public:
  LeaseSet() = default;
  LeaseSet(const LeaseSet&) = delete;
  LeaseSet& operator=(const LeaseSet&) = delete;
  ~LeaseSet() { clear(); }
  void* address(const Ref<Buffer>& buffer) {
    if (!buffer->device().is_host()) take(buffer);
    return buffer->allocation_.address;
  }
  void clear();

 private:
  void take(const Ref<Buffer>& buffer);
  std::vector<Ref<Buffer>> taken_;
};

}  // namespace tandem
