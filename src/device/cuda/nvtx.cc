#include "device/cuda/nvtx.h"

#include <nvtx3/nvToolsExt.h>

#include "base/flags.h"
#include "base/ranges.h"

namespace tandem::cuda {
namespace {

nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t made = nvtxDomainCreateA("tandem");
  return made;
}

void push_range(const char* name) {
  nvtxEventAttributes_t event = {};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = name;
  nvtxDomainRangePushEx(domain(), &event);
}

void pop_range() { nvtxDomainRangePop(domain()); }

constexpr ranges::Sink kSink{push_range, pop_range};

}  // namespace

bool start_nvtx() {
  const bool asked = env_string("NVTX_INJECTION64_PATH").has_value();
  if (!env_bool("TANDEM_NVTX", asked)) return false;
  ranges::set_sink(&kSink);
  return true;
}

}  // namespace tandem::cuda
