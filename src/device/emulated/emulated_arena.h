// EmulatedArena: the memory of one emulated device. The same pages are mapped twice: at
// the device addresses without any access, so that host code that follows one faults at
// once, and at a fixed offset from there readable and writable, for the device's own
// tasks. Owned by its device. Any thread may ask; tasks alone touch the contents.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem {

class EmulatedArena {
 public:
  /// Reserves addresses; pages come when they are touched. Throws ResourceExhaustedError.
  explicit EmulatedArena(size_t bytes);
  EmulatedArena(const EmulatedArena&) = delete;
  EmulatedArena& operator=(const EmulatedArena&) = delete;
  ~EmulatedArena();

  /// The first device address.
  std::byte* base() const { return base_; }
  size_t bytes() const { return bytes_; }
  /// Added to a device address, gives the address that tasks use.
  int64_t offset() const { return offset_; }
  /// Bytes of memory that the arena holds now.
  int64_t resident() const;
  /// Gives back the whole pages in [begin, begin + bytes); their contents are lost.
  void discard(size_t begin, size_t bytes);

  /// How a task reaches `address`: through the second mapping when it is memory of an
  /// emulated device, else as it is.
  static void* reachable(void* address);
  static bool owns(const void* address);

 private:
  size_t bytes_;
  size_t mapped_;
  int file_ = -1;
  std::byte* base_ = nullptr;
  std::byte* access_ = nullptr;
  int64_t offset_ = 0;
};

}  // namespace tandem
