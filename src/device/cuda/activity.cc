#include "device/cuda/activity.h"

#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "base/recorder.h"
#include "device/cuda/cuda_device.h"

namespace tandem::cuda {

namespace {

constexpr size_t kBufferBytes = size_t{4} << 20;
constexpr size_t kBufferAlignment = 8;

struct WantedKind {
  CUpti_ActivityKind kind;
  const char* name;
};
/// Calls of the driver and of the runtime are recorded only because the numbers that are
/// pushed around launches come with them.
constexpr WantedKind kWanted[] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kernels"},
    {CUPTI_ACTIVITY_KIND_MEMCPY, "copies"},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, "copies between GPUs"},
    {CUPTI_ACTIVITY_KIND_MEMSET, "fills"},
    {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, "names of launches"},
    {CUPTI_ACTIVITY_KIND_DRIVER, "calls of the driver"},
    {CUPTI_ACTIVITY_KIND_RUNTIME, "calls of the runtime"},
};

/// What a thread that instantiates a graph wants to know.
struct Cloning {
  const CuptiApi* api;
  LabelledNodes labels;  // clones are added: they may be cloned again
  NumberedNodes numbered;
};
thread_local Cloning* t_cloning = nullptr;

/// What this thread is launching, the innermost last.
struct Launch {
  uint64_t number;
  int64_t begin_ns;
  const char* name;
};
thread_local std::vector<Launch> t_launches;

}  // namespace

ActivityRecording& ActivityRecording::get() {
  static auto* const one = new ActivityRecording;
  return *one;
}

void ActivityRecording::start() {
  const std::lock_guard lock(mutex_);
  if (wanted_) return;
  wanted_ = true;
  problem_.clear();
  if (!open_devices().empty()) attach();
}

void ActivityRecording::opened(CudaDevice& device) {
  const std::lock_guard lock(mutex_);
  if (!wanted_ || !problem_.empty()) return;
  if (number() == 0) {
    attach();
  } else {
    add_streams(device);
  }
}

void ActivityRecording::attach() {
  {
    const std::lock_guard lock(records_mutex_);
    log_.emplace();
    dropped_ = 0;
  }
  problem_ = switch_on();
  if (!problem_.empty()) {
    switch_off();
    return;
  }
  for (CudaDevice* device : open_devices()) add_streams(*device);
  start_ = read_clocks();
  number_.store(++count_, std::memory_order_release);
  outer_ = ranges::set_sink(&kSink);
}

std::string ActivityRecording::switch_on() {
  const CuptiLoad& load = load_cupti();
  if (!load.api) return load.problem;
  api_ = load.api;
  if (!registered_) {
    if (const CUptiResult result =
            api_->cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed)) {
      return "CUPTI takes no buffers: " + describe(*api_, result);
    }
    registered_ = true;
    // Without it (another tool has subscribed) captured kernels have no names of ops.
    CUpti_SubscriberHandle subscriber{};
    if (api_->cuptiSubscribe(&subscriber,
                             reinterpret_cast<CUpti_CallbackFunc>(resource_event),
                             this) == CUPTI_SUCCESS) {
      api_->cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                                CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
    }
  }
  for (const WantedKind& wanted : kWanted) {
    if (const CUptiResult result = api_->cuptiActivityEnable(wanted.kind)) {
      return fmt::format("CUPTI does not record {}: {}", wanted.name,
                         describe(*api_, result));
    }
    kinds_.push_back(wanted.kind);
  }
  return {};
}

void ActivityRecording::switch_off() {
  for (CUpti_ActivityKind kind : kinds_) api_->cuptiActivityDisable(kind);
  kinds_.clear();
}

void ActivityRecording::add_streams(CudaDevice& device) {
  const auto ordinal = static_cast<uint32_t>(device.native());
  const std::lock_guard lock(records_mutex_);
  log_->add_device(ordinal, device.short_name());
  for (Stream* stream : {&device.compute(), &device.copy_in(), &device.copy_out()}) {
    uint32_t id = 0;
    if (api_->cuptiGetStreamIdEx(device.context(),
                                 static_cast<CudaStream*>(stream)->native(), 0,
                                 &id) == CUPTI_SUCCESS) {
      log_->add_stream(ordinal, id, stream->lane());
    }
  }
}

// Of several readings the one that took the least time is the most exact.
ClockPair ActivityRecording::read_clocks() const {
  ClockPair best;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < 8; ++i) {
    uint64_t cupti = 0;
    const int64_t before = recorder::now_ns();
    if (api_->cuptiGetTimestamp(&cupti) != CUPTI_SUCCESS) break;
    const int64_t after = recorder::now_ns();
    if (after - before >= least) continue;
    least = after - before;
    best = {static_cast<int64_t>(cupti), before + least / 2};
  }
  return best;
}

std::string ActivityRecording::stop() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(wanted_, false)) return {};
  if (!problem_.empty()) {
    return "times of GPU work are those at which it was enqueued: " + problem_;
  }
  if (number() == 0) return {};  // no GPU was in use
  number_.store(0, std::memory_order_release);
  ranges::set_sink(outer_);
  const Clock clock{start_, read_clocks()};
  // First what is complete, then what the last calls left behind.
  api_->cuptiActivityFlushAll(0);
  switch_off();
  api_->cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const std::lock_guard records(records_mutex_);
  log_->report(clock);
  log_.reset();
  if (dropped_ == 0) return {};
  return fmt::format("CUPTI lost {} records of GPU work: record a shorter time",
                     dropped_);
}

void ActivityRecording::add_label(uint64_t launch, const char* name) {
  if (name == ranges::kCopy) return;  // CUPTI says better which way it goes
  const std::lock_guard lock(records_mutex_);
  if (log_) log_->add_label(launch, {name, recorder::site(), nullptr});
}

// The recorder's number of the launch is what CUPTI gives back with the work.
void ActivityRecording::push(const char* name) {
  ActivityRecording& all = get();
  t_launches.push_back({recorder::next_launch(), recorder::now_ns(), name});
  const uint64_t launch = t_launches.back().number;
  all.add_label(launch, name);
  all.api_->cuptiActivityPushExternalCorrelationId(
      CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, launch);
  if (const ranges::Sink* outer = all.outer_) outer->push(name);
}

void ActivityRecording::pop() {
  ActivityRecording& all = get();
  uint64_t last = 0;
  all.api_->cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
                                                  &last);
  const Launch launch = t_launches.back();
  t_launches.pop_back();
  static const char* const lane = recorder::intern("GPU");
  recorder::record(
      recorder::Kind::kLaunch, recorder::intern(std::string("launch ") + launch.name),
      lane, launch.begin_ns, recorder::now_ns(), 0, nullptr, {.number = launch.number});
  if (const ranges::Sink* outer = all.outer_) outer->pop();
}

void CUPTIAPI ActivityRecording::buffer_requested(uint8_t** buffer, size_t* size,
                                                  size_t* records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *size = *buffer ? kBufferBytes : 0;
  *records = 0;  // as many as fit
}

void CUPTIAPI ActivityRecording::buffer_completed(CUcontext context, uint32_t stream,
                                                  uint8_t* buffer, size_t /*size*/,
                                                  size_t valid) {
  ActivityRecording& all = get();
  all.take(buffer, valid);
  std::free(buffer);
  size_t dropped = 0;
  if (all.api_->cuptiActivityGetNumDroppedRecords(context, stream, &dropped) ==
      CUPTI_SUCCESS) {
    const std::lock_guard lock(all.records_mutex_);
    all.dropped_ += dropped;
  }
}

void ActivityRecording::take(uint8_t* buffer, size_t bytes) {
  const std::lock_guard lock(records_mutex_);
  if (!log_ || bytes == 0) return;
  CUpti_Activity* record = nullptr;
  while (api_->cuptiActivityGetNextRecord(buffer, bytes, &record) == CUPTI_SUCCESS) {
    log_->add(*record);
  }
}

void CUPTIAPI ActivityRecording::resource_event(void*, CUpti_CallbackDomain domain,
                                                CUpti_CallbackId id, const void* data) {
  if (!t_cloning || domain != CUPTI_CB_DOMAIN_RESOURCE ||
      id != CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
    return;
  }
  const auto* resource = static_cast<const CUpti_ResourceData*>(data);
  const auto* graph = static_cast<const CUpti_GraphData*>(resource->resourceDescriptor);
  const auto found = t_cloning->labels.find(graph->originalNode);
  uint64_t number = 0;
  if (found == t_cloning->labels.end() ||
      t_cloning->api->cuptiGetGraphNodeId(graph->node, &number) != CUPTI_SUCCESS) {
    return;
  }
  const StepLabel label = found->second;
  t_cloning->numbered.emplace_back(number, label);
  t_cloning->labels.emplace(graph->node, label);
}

NumberedNodes ActivityRecording::number_nodes(const LabelledNodes& nodes,
                                              const std::function<void()>& make) {
  Cloning cloning{api_, nodes, {}};
  struct Scope {
    explicit Scope(Cloning* c) { t_cloning = c; }
    ~Scope() { t_cloning = nullptr; }
  };
  {
    const Scope scope(&cloning);
    make();
  }
  for (const auto& [node, label] : nodes) {
    uint64_t number = 0;
    if (api_->cuptiGetGraphNodeId(node, &number) == CUPTI_SUCCESS) {
      cloning.numbered.emplace_back(number, label);
    }
  }
  return std::move(cloning.numbered);
}

void ActivityRecording::add_nodes(const NumberedNodes& nodes) {
  const std::lock_guard lock(records_mutex_);
  if (!log_) return;
  for (const auto& [number, label] : nodes) log_->add_node(number, label);
}

}  // namespace tandem::cuda
