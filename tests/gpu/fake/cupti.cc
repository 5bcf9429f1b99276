// The pretended CUPTI: records of what the pretended GPU did, by the rules of the real
// one. Names that a thread pushed come with the calls of the driver, and only while
// those are recorded.
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include <cupti.h>

#include "gpu/fake/state.h"

namespace fake {

namespace {

constexpr size_t kAlign = 8;

struct Cupti {
  std::set<CUpti_ActivityKind> kinds;
  bool refuses = false;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  CUpti_CallbackFunc callback = nullptr;
  void* callback_data = nullptr;
  bool clones = false;
  std::vector<std::vector<char>> records;
  uint32_t calls = 0;
};
Cupti& cupti() {
  static auto* const one = new Cupti;
  return *one;
}
thread_local std::vector<uint64_t> t_external;

template <class Record>
void keep(const Record& record) {
  if (!cupti().kinds.contains(record.kind)) return;
  const char* bytes = reinterpret_cast<const char*>(&record);
  cupti().records.emplace_back(bytes, bytes + sizeof(record));
}

template <class Record>
void fill(Record& r, int64_t begin, int64_t end, uint32_t stream, uint32_t correlation,
          uint64_t node, uint32_t graph) {
  r.start = static_cast<uint64_t>(begin + kCuptiAhead);
  r.end = static_cast<uint64_t>(end + kCuptiAhead);
  r.deviceId = 0;
  r.contextId = 1;
  r.streamId = stream;
  r.correlationId = correlation;
  r.graphNodeId = node;
  r.graphId = graph;
}

size_t rounded(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

/// In a buffer a record comes after its length.
void hand_over() {
  for (const std::vector<char>& record : std::exchange(cupti().records, {})) {
    uint8_t* buffer = nullptr;
    size_t size = 0, most = 0;
    cupti().request(&buffer, &size, &most);
    const uint64_t length = rounded(record.size());
    if (size < length + kAlign) std::abort();
    std::memcpy(buffer, &length, sizeof(length));
    std::memcpy(buffer + kAlign, record.data(), record.size());
    cupti().complete(nullptr, 0, buffer, size, length + kAlign);
  }
}

}  // namespace

uint32_t next_correlation() {
  const uint32_t number = ++cupti().calls;
  if (!t_external.empty() && cupti().kinds.contains(CUPTI_ACTIVITY_KIND_DRIVER)) {
    CUpti_ActivityExternalCorrelation e{};
    e.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    e.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
    e.externalId = t_external.back();
    e.correlationId = number;
    keep(e);
  }
  return number;
}

void tell_work(const Work& work, int64_t begin, int64_t end, uint32_t stream,
               uint32_t correlation, uint64_t node, uint32_t graph) {
  if (work.kind == Work::Kind::kKernel) {
    CUpti_ActivityKernel10 k{};
    k.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    fill(k, begin, end, stream, correlation, node, graph);
    k.name = work.function->name.c_str();
    keep(k);
  } else if (work.kind == Work::Kind::kFill) {
    CUpti_ActivityMemset4 m{};
    m.kind = CUPTI_ACTIVITY_KIND_MEMSET;
    fill(m, begin, end, stream, correlation, node, graph);
    m.bytes = work.bytes;
    keep(m);
  } else {
    CUpti_ActivityMemcpy6 m{};
    m.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    fill(m, begin, end, stream, correlation, node, graph);
    m.bytes = work.bytes;
    m.copyKind = work.kind == Work::Kind::kToGpu     ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD
                 : work.kind == Work::Kind::kFromGpu ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH
                                                     : CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
    keep(m);
  }
}

void tell_clone(Node* original, Node* clone) {
  if (!cupti().clones) return;
  CUpti_GraphData graph{};
  graph.originalNode = reinterpret_cast<CUgraphNode>(original);
  graph.node = reinterpret_cast<CUgraphNode>(clone);
  CUpti_ResourceData resource{};
  resource.resourceDescriptor = &graph;
  cupti().callback(cupti().callback_data, CUPTI_CB_DOMAIN_RESOURCE,
                   CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
                   reinterpret_cast<const CUpti_CallbackData*>(&resource));
}

void refuse_activity(bool yes) {
  const Lock lock(mutex());
  cupti().refuses = yes;
}

}  // namespace fake

using namespace fake;

extern "C" {

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  cupti().request = request;
  cupti().complete = complete;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  const Lock lock(mutex());
  if (cupti().refuses) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  cupti().kinds.insert(kind);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  const Lock lock(mutex());
  cupti().kinds.erase(kind);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(uint32_t) {
  const Lock lock(mutex());
  hand_over();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid,
                                       CUpti_Activity** record) {
  uint8_t* at = *record ? reinterpret_cast<uint8_t*>(*record) : buffer + kAlign;
  if (*record) {
    uint64_t length = 0;
    std::memcpy(&length, at - kAlign, sizeof(length));
    at += length + kAlign;
  }
  if (at >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(at);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  *dropped = 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind,
                                                   uint64_t id) {
  t_external.push_back(id);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind,
                                                  uint64_t* last) {
  if (t_external.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  *last = t_external.back();
  t_external.pop_back();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc callback,
                           void* data) {
  cupti().callback = callback;
  cupti().callback_data = data;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle,
                                CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (domain != CUPTI_CB_DOMAIN_RESOURCE || id != CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  cupti().clones = enable != 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t* id) {
  *id = reinterpret_cast<Node*>(node)->id;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetStreamIdEx(CUcontext, CUstream stream, uint8_t, uint32_t* id) {
  *id = reinterpret_cast<Stream*>(stream)->id;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetTimestamp(uint64_t* time) {
  *time = static_cast<uint64_t>(now_ns() + kCuptiAhead);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "CUPTI_ERROR_PRETENDED";
  return CUPTI_SUCCESS;
}

}  // extern "C"
