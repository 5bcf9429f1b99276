#include "base/call_site.h"

#include <link.h>
#include <unwind.h>

namespace tandem {

namespace {

// Where the library's own code lies.
struct OwnCode {
  uintptr_t begin = 0;
  uintptr_t end = 0;
};

int find_module(dl_phdr_info* info, size_t, void* data) {
  auto& own = *static_cast<OwnCode*>(data);
  const auto here = reinterpret_cast<uintptr_t>(&find_module);
  OwnCode module;
  bool found = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    const uintptr_t begin = info->dlpi_addr + part.p_vaddr, end = begin + part.p_memsz;
    found |= begin <= here && here < end;
    if (!module.end) module.begin = begin;
    module.end = end;
  }
  if (found) own = module;
  return found;
}

const OwnCode& own_code() {
  static const OwnCode code = [] {
    OwnCode own;
    dl_iterate_phdr(find_module, &own);
    return own;
  }();
  return code;
}

// Deeper than any stack whose innermost frames still matter.
constexpr int kMaxDepth = 512;

struct Walk {
  CallSite site;
  size_t found = 0;
  int depth = 0;
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  const uintptr_t address = _Unwind_GetIP(context);
  const OwnCode& own = own_code();
  if (address && (address < own.begin || address >= own.end)) {
    walk.site.frames[walk.found++] = address;
  }
  const bool enough =
      walk.found == walk.site.frames.size() || ++walk.depth >= kMaxDepth || !address;
  return enough ? _URC_END_OF_STACK : _URC_NO_REASON;
}

}  // namespace

CallSite current_call_site() {
  Walk walk;
  _Unwind_Backtrace(visit, &walk);
  return walk.site;
}

}  // namespace tandem
