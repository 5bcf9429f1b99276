#include "device/cuda/activity_log.h"

#include <cstdlib>
#include <memory>

#include <cxxabi.h>
#include <fmt/format.h>

#include "base/recorder.h"

namespace tandem::cuda {
namespace {

template <class Record>
const Record& as(const CUpti_Activity& record) {
  return reinterpret_cast<const Record&>(record);
}

std::string readable(const char* name) {
  if (!name) return "kernel";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 && text ? text.get() : name;
}

const char* copy_name(uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "copy to the GPU";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "copy from the GPU";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "copy between GPUs";
    default:
      return "copy on the GPU";
  }
}

/// What all kinds of work have, whatever the order of the fields.
template <class Record>
GpuWork common(const Record& r) {
  GpuWork w;
  w.start = r.start;
  w.end = r.end;
  w.device = r.deviceId;
  w.stream = r.streamId;
  w.correlation = r.correlationId;
  w.node = r.graphNodeId;
  return w;
}

GpuWork kernel(const CUpti_ActivityKernel10& k) {
  GpuWork w = common(k);
  // CUPTI's string goes with the module that the kernel is of.
  w.name = recorder::intern(readable(k.name));
  w.values = recorder::intern(fmt::format(
      "grid={},{},{}\nblock={},{},{}\nregisters={}\nshared={}\n", int{k.gridX},
      int{k.gridY}, int{k.gridZ}, int{k.blockX}, int{k.blockY}, int{k.blockZ},
      uint16_t{k.registersPerThread}, k.staticSharedMemory + k.dynamicSharedMemory));
  return w;
}

template <class Record>
GpuWork transfer(const Record& r, const char* name) {
  GpuWork w = common(r);
  w.name = name;
  w.bytes = static_cast<int64_t>(r.bytes);
  return w;
}

}  // namespace

int64_t Clock::host(uint64_t cupti) const {
  const auto at = static_cast<int64_t>(cupti);
  const int64_t first = start.host - start.cupti, last = end.host - end.cupti;
  const int64_t span = end.cupti - start.cupti;
  if (span <= 0) return at + first;
  // The offsets differ by little: this is exact enough, and does not overflow.
  const double part = static_cast<double>(at - start.cupti) / static_cast<double>(span);
  return at + first + static_cast<int64_t>(part * static_cast<double>(last - first));
}

void ActivityLog::add(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL:
      work_.push_back(kernel(as<CUpti_ActivityKernel10>(record)));
      break;
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = as<CUpti_ActivityMemcpy6>(record);
      work_.push_back(transfer(copy, copy_name(copy.copyKind)));
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      work_.push_back(transfer(as<CUpti_ActivityMemcpyPtoP4>(record),
                               copy_name(CUPTI_ACTIVITY_MEMCPY_KIND_PTOP)));
      break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      work_.push_back(transfer(as<CUpti_ActivityMemset4>(record), "fill"));
      break;
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& e = as<CUpti_ActivityExternalCorrelation>(record);
      if (e.externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) {
        external_[e.correlationId] = e.externalId;
      }
      break;
    }
    default:
      return;
  }
  // Work that never ran has no times.
  if (!work_.empty() && (work_.back().start == 0 || work_.back().end == 0)) {
    work_.pop_back();
  }
}

void ActivityLog::add_stream(uint32_t device, uint32_t stream, std::string lane) {
  lanes_[key(device, stream)] = std::move(lane);
}

// Logical devices of one GPU share its number: the first stands for streams nobody named.
void ActivityLog::add_device(uint32_t device, std::string name) {
  devices_.try_emplace(device, std::move(name));
}

StepLabel ActivityLog::label_of(const GpuWork& work) const {
  if (work.node) {
    const auto node = nodes_.find(work.node);
    if (node != nodes_.end()) return node->second;
  }
  const auto external = external_.find(work.correlation);
  if (external == external_.end()) return {};
  const auto label = labels_.find(external->second);
  return label == labels_.end() ? StepLabel{} : label->second;
}

uint64_t ActivityLog::launch_of(const GpuWork& work) const {
  const auto external = external_.find(work.correlation);
  return external == external_.end() ? 0 : external->second;
}

std::string ActivityLog::lane_of(const GpuWork& work) const {
  const auto lane = lanes_.find(key(work.device, work.stream));
  if (lane != lanes_.end()) return lane->second;
  const auto device = devices_.find(work.device);
  const std::string owner = device == devices_.end()
                                ? fmt::format("GPU of CUDA {}", work.device)
                                : device->second;
  return fmt::format("{}/stream {}", owner, work.stream);
}

size_t ActivityLog::report(const Clock& clock) const {
  for (const GpuWork& w : work_) {
    const StepLabel label = label_of(w);
    std::string values;
    // Work has the name of its op, as work of the host has.
    if (*label.name) {
      values = fmt::format("op={}\nkernel={}\n", label.name, w.name);
      if (label.detail) values += fmt::format("node={}\n", label.detail);
      if (label.site) values += fmt::format("source={}\n", label.site);
    }
    values += w.values;
    recorder::record(recorder::Kind::kActivity, *label.name ? label.name : w.name,
                     recorder::intern(lane_of(w)), clock.host(w.start), clock.host(w.end),
                     w.bytes, recorder::intern(values), {.number = launch_of(w)});
  }
  return work_.size();
}

}  // namespace tandem::cuda
