// Copies between pageable memory and the GPU, through page-locked blocks. Large ones are
// cut into pieces, which several threads move between the caller's memory and the blocks
// while others are on their way.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <utility>

#include "device/cuda/copy_team.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/streaming_copy.h"

namespace tandem::cuda {
namespace {

constexpr size_t kKiB = 1 << 10, kMiB = 1 << 20;
/// Bytes that occupy one more thread.
constexpr size_t kBytesWorthHelp = kMiB;
/// From here on a copy is past the caches: the host will not have read all of it soon.
constexpr size_t kPastCaches = 4 * kMiB;
/// Small copies share an event; a thread that runs out of blocks waits for no more.
constexpr uint64_t kCovered = 8;

struct Pieces {
  size_t bytes;  // of each but the last
  size_t count;
};

/// Small enough for the first to be on its way soon, large enough for the driver's calls
/// not to count.
Pieces cut_in_pieces(size_t bytes) {
  if (bytes <= 512 * kKiB) return {bytes, 1};
  const size_t even = (bytes / 16 + 64 * kKiB - 1) / (64 * kKiB) * (64 * kKiB);
  const size_t piece = std::clamp(even, 256 * kKiB, PinnedPool::kBlock);
  return {piece, (bytes + piece - 1) / piece};
}

size_t helpers_for(size_t bytes) {
  return bytes < kBytesWorthHelp ? 0 : bytes / kBytesWorthHelp - 1;
}

}  // namespace

TimePoint CudaDevice::lend(CudaStream& stream, std::byte* block, bool returns,
                           StreamTask task) {
  try {
    const TimePoint done = stream.enqueue(std::move(task));
    pinned_.lend(block, stream, done.sequence, returns);
    return done;
  } catch (...) {
    pinned_.release(block);
    throw;
  }
}

TimePoint CudaDevice::send(CudaStream& stream, std::byte* block, CUdeviceptr to,
                           size_t bytes) {
  return lend(stream, block, /*returns=*/false, [=](const StreamContext& context) {
    check(driver().cuMemcpyHtoDAsync(to, block, bytes,
                                     static_cast<CUstream>(context.native)),
          "copying to the GPU");
  });
}

TimePoint CudaDevice::fetch(CudaStream& stream, std::byte* block, CUdeviceptr from,
                            size_t bytes) {
  return lend(stream, block, /*returns=*/true, [=](const StreamContext& context) {
    check(driver().cuMemcpyDtoHAsync(block, from, bytes,
                                     static_cast<CUstream>(context.native)),
          "copying from the GPU");
  });
}

TimePoint CudaDevice::copy_to_gpu(CudaStream& stream, void* to, const void* from,
                                  size_t bytes) {
  activate();
  const auto* const source = static_cast<const std::byte*>(from);
  const Pieces pieces = cut_in_pieces(bytes);
  if (pieces.count == 1) {
    std::byte* const block = pinned_.acquire();
    std::memcpy(block, source, bytes);
    const TimePoint done = send(stream, block, address_of(to), bytes);
    if (done.sequence % kCovered == 0) stream.cover(done.sequence);
    return done;
  }
  std::atomic<size_t> next{0};
  std::atomic<uint64_t> last{0};
  std::atomic<bool> failed{false};
  const auto work = [&](bool helping) {
    if (helping && !enter()) return;
    std::chrono::microseconds pause(20);
    while (next.load() < pieces.count && !failed) {
      // Only the caller waits for the GPU: whoever helps has nothing then.
      std::byte* const block = helping ? pinned_.try_acquire() : pinned_.acquire();
      if (!block) {
        pinned_.nap(pause);
        pause = std::min(2 * pause, std::chrono::microseconds(1000));
        continue;
      }
      pause = std::chrono::microseconds(20);
      const size_t i = next.fetch_add(1);
      if (i >= pieces.count) {
        pinned_.release(block);
        return;
      }
      const size_t at = i * pieces.bytes, n = std::min(pieces.bytes, bytes - at);
      streaming_copy(block, source + at, n);
      try {
        const uint64_t sent = send(stream, block, address_of(to) + at, n).sequence;
        stream.cover(sent);
        uint64_t before = last.load();
        while (before < sent && !last.compare_exchange_weak(before, sent)) {
        }
      } catch (...) {
        failed = true;
        throw;
      }
    }
  };
  CopyTeam::get().run(helpers_for(bytes), work);
  return {&stream, last.load()};
}

TimePoint CudaDevice::copy_to_host(CudaStream& stream, void* to, const void* from,
                                   size_t bytes) {
  activate();
  auto* const target = static_cast<std::byte*>(to);
  const Pieces pieces = cut_in_pieces(bytes);
  const bool past_caches = bytes >= kPastCaches;
  TimePoint first, done;
  size_t next = 0;
  const auto fetch_next = [&](std::byte* block) {
    const size_t at = next++ * pieces.bytes, n = std::min(pieces.bytes, bytes - at);
    done = fetch(stream, block, address_of(from) + at, n);
    if (!first) first = done;
    stream.when_done(done.sequence, [this, block, to = target + at, n, past_caches] {
      past_caches ? streaming_copy(to, block, n) : void(std::memcpy(to, block, n));
      pinned_.release(block);
    });
    if (pieces.count > 1) stream.cover(done.sequence);
  };
  fetch_next(pinned_.acquire());
  while (next < pieces.count) {
    std::byte* const block = pinned_.try_acquire();
    if (!block) break;
    fetch_next(block);
  }
  if (next == pieces.count) return done;
  // More than the blocks hold: others empty them from when the first is here.
  loops_.wait(stream, first.sequence);
  stream.wait_for_gpu(first.sequence);
  std::atomic<bool> over{false};
  CopyTeam::get().run(helpers_for(bytes), [&](bool helping) {
    while (helping && !over) {
      if (!stream.help()) pinned_.nap(std::chrono::microseconds(20));
    }
    if (helping) return;
    try {
      while (next < pieces.count) fetch_next(pinned_.acquire());
    } catch (...) {
      over = true;
      throw;
    }
    over = true;
  });
  return done;
}

size_t CudaDevice::trim_pinned() {
  if (!is_open() || !enter()) return 0;
  return pinned_.trim();
}

}  // namespace tandem::cuda
