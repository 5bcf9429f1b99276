// Recording what the GPU itself did while a profile is recorded: CUPTI is loaded and
// switched on when the first GPU is in use, its records are put together when the
// recording stops (activity_log.h). One object for the process; any thread.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ranges.h"
#include "base/recording_source.h"
#include "device/cuda/activity_log.h"
#include "device/cuda/captured_nodes.h"
#include "device/cuda/cupti.h"

namespace tandem::cuda {

class CudaDevice;

class ActivityRecording final : public recorder::Source {
 public:
  static ActivityRecording& get();

  void start() override;
  std::string stop() override;

  /// A GPU's context and streams are there: from now on it is in use.
  void opened(CudaDevice& device);

  /// Nonzero while the GPU's work is recorded; another number in every recording.
  uint32_t number() const { return number_.load(std::memory_order_acquire); }
  /// Calls `make`, which instantiates a graph, and returns the numbers under which CUPTI
  /// will report the graph's nodes.
  NumberedNodes number_nodes(const LabelledNodes& nodes,
                             const std::function<void()>& make);
  /// Work of these nodes belongs to these steps.
  void add_nodes(const NumberedNodes& nodes);

 private:
  ActivityRecording() = default;
  void attach();
  /// "" when CUPTI is ready and its kinds are on, else why not.
  std::string switch_on();
  void switch_off();
  void add_streams(CudaDevice& device);
  ClockPair read_clocks() const;
  void add_label(uint64_t launch, const char* name);
  void take(uint8_t* buffer, size_t bytes);

  static void push(const char* name);
  static void pop();
  static void CUPTIAPI buffer_requested(uint8_t** buffer, size_t* size, size_t* records);
  static void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream,
                                        uint8_t* buffer, size_t size, size_t valid);
  static void CUPTIAPI resource_event(void* self, CUpti_CallbackDomain domain,
                                      CUpti_CallbackId id, const void* data);

  static constexpr ranges::Sink kSink{push, pop};

  std::atomic<uint32_t> number_{0};
  std::atomic<const ranges::Sink*> outer_{nullptr};  // who else watches ranges
  const CuptiApi* api_ = nullptr;

  std::mutex mutex_;     // starting and stopping; guards what follows
  bool wanted_ = false;  // a profile is being recorded
  bool registered_ = false;
  uint32_t count_ = 0;
  std::string problem_;
  std::vector<CUpti_ActivityKind> kinds_;  // that are on
  ClockPair start_;

  std::mutex records_mutex_;  // taken by CUPTI's threads too; guards what follows
  size_t dropped_ = 0;
  std::optional<ActivityLog> log_;
};

}  // namespace tandem::cuda
