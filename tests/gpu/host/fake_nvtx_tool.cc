// A tool that watches NVTX's ranges, as NVTX loads it: writes them to FAKE_NVTX_LOG.
#include <cstdio>
#include <cstdlib>

#include <nvtx3/nvToolsExt.h>

namespace {

FILE* log() {
  static FILE* const file = std::fopen(std::getenv("FAKE_NVTX_LOG"), "w");
  return file;
}

int push(nvtxDomainHandle_t, const nvtxEventAttributes_t* event) {
  std::fprintf(log(), "push %s\n", event->message.ascii);
  std::fflush(log());
  return 0;
}
int pop(nvtxDomainHandle_t) {
  std::fputs("pop\n", log());
  std::fflush(log());
  return 0;
}

}  // namespace

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (!callbacks ||
      !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) {
    return 0;
  }
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(push);
  *table[NVTX_CBID_CORE2_DomainRangePop] = reinterpret_cast<NvtxFunctionPointer>(pop);
  return 1;
}
