#include "device/cuda/loop_interrupts.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/interrupt.h"
#include "device/cuda/cuda_device.h"

namespace tandem::cuda {

namespace {

constexpr int kBeforeOthers = -64;  // the driver takes the highest priority that it has

/// Short loops are waited for without a pause, long ones with pauses that do not show.
void pause_after(std::chrono::nanoseconds waited) {
  using namespace std::chrono_literals;
  if (waited < 500us) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(waited / 16, 1ms));
  }
}

}  // namespace

void LoopInterrupts::prepare() {
  std::call_once(prepared_, [this] {
    void* word = nullptr;
    check(driver().cuMemHostAlloc(&word, sizeof(int32_t), CU_MEMHOSTALLOC_PORTABLE),
          "page-locking memory for interrupts");
    word_ = new (word) int32_t(1);
    check(driver().cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING,
                                              kBeforeOthers),
          "making a stream for interrupts");
  });
}

bool LoopInterrupts::under_way() {
  const uint64_t last = last_.load(std::memory_order_acquire);
  return last > 0 && !device_.compute().passed(last);
}

void LoopInterrupts::wait(CudaStream& stream, uint64_t sequence) {
  if (!InterruptScope::listens() || !under_way()) return;
  stream.cover(sequence);
  static_cast<CudaStream&>(device_.compute()).cover(last_.load());
  const auto begin = std::chrono::steady_clock::now();
  while (under_way() && !stream.passed(sequence)) {
    try {
      poll_interrupt_now();
    } catch (...) {
      end();
      stream.wait_quietly(sequence);
      device_.clear_interrupt();
      throw;
    }
    pause_after(std::chrono::steady_clock::now() - begin);
  }
}

void LoopInterrupts::end_all() {
  const uint64_t last = last_.load(std::memory_order_acquire);
  if (!last) return;
  static_cast<CudaStream&>(device_.compute()).cover(last);
  if (under_way()) end();
}

void LoopInterrupts::end() {
  if (!device_.enter() || !stream_) return;
  driver().cuMemcpyHtoDAsync(device_.flags(), word_, sizeof(*word_), stream_);
  // It must not come after the report is cleared again.
  driver().cuStreamSynchronize(stream_);
}

}  // namespace tandem::cuda
