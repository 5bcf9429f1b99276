#include "device/cuda/conditional_kernels.h"

#include <map>
#include <memory>
#include <mutex>

#include "device/cuda/cuda_device.h"

namespace tandem::cuda {

namespace {

// One thread each. The report's first word is its code (error_report.h).
constexpr char kText[] = R"(
.version 7.0
.target sm_75
.address_size 64

.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);

.visible .entry tandem_repeat(
  .param .u64 handle,
  .param .u64 go_on,
  .param .u64 turns,
  .param .s64 most,
  .param .u64 report,
  .param .u32 first)
{
  .reg .pred %wanted, %sound, %left, %endless, %first;
  .reg .b32 %flag, %code, %begin, %value;
  .reg .b64 %node, %at, %count, %next, %limit;

  ld.param.u64 %node, [handle];
  ld.param.u64 %at, [go_on];
  cvta.to.global.u64 %at, %at;
  ld.global.u8 %flag, [%at];
  setp.ne.u32 %wanted, %flag, 0;

  ld.param.u64 %at, [report];
  cvta.to.global.u64 %at, %at;
  ld.volatile.global.u32 %code, [%at];
  setp.eq.u32 %sound, %code, 0;

  ld.param.u64 %at, [turns];
  cvta.to.global.u64 %at, %at;
  ld.global.s64 %count, [%at];
  ld.param.u32 %begin, [first];
  setp.ne.u32 %first, %begin, 0;
  selp.s64 %count, 0, %count, %first;
  add.s64 %next, %count, 1;
  st.global.s64 [%at], %next;
  ld.param.s64 %limit, [most];
  setp.lt.s64 %left, %count, %limit;
  setp.lt.s64 %endless, %limit, 0;
  or.pred %left, %left, %endless;

  and.pred %wanted, %wanted, %sound;
  and.pred %wanted, %wanted, %left;
  selp.u32 %value, 1, 0, %wanted;
  {
    .param .b64 to;
    .param .b32 what;
    st.param.b64 [to], %node;
    st.param.b32 [what], %value;
    call.uni cudaGraphSetConditional, (to, what);
  }
  ret;
}

.visible .entry tandem_choose(
  .param .u64 handle,
  .param .u64 selector,
  .param .u32 bytes,
  .param .u32 branches)
{
  .reg .pred %is_bool, %is_small, %true, %low, %high;
  .reg .b32 %size, %flag, %small, %branch;
  .reg .b64 %node, %at, %index, %last;

  ld.param.u64 %node, [handle];
  ld.param.u64 %at, [selector];
  cvta.to.global.u64 %at, %at;
  ld.param.u32 %size, [bytes];
  setp.eq.u32 %is_bool, %size, 1;
  @%is_bool bra BOOL;
  setp.eq.u32 %is_small, %size, 4;
  @%is_small bra SMALL;
  ld.global.s64 %index, [%at];
  bra CHOSEN;
BOOL:
  ld.global.u8 %flag, [%at];
  setp.ne.u32 %true, %flag, 0;
  selp.s64 %index, 0, 1, %true;
  bra CHOSEN;
SMALL:
  ld.global.s32 %small, [%at];
  cvt.s64.s32 %index, %small;
CHOSEN:
  ld.param.u32 %branch, [branches];
  cvt.u64.u32 %last, %branch;
  sub.s64 %last, %last, 1;
  setp.lt.s64 %low, %index, 0;
  setp.gt.s64 %high, %index, %last;
  or.pred %low, %low, %high;
  selp.s64 %index, %last, %index, %low;
  cvt.u32.u64 %branch, %index;
  {
    .param .b64 to;
    .param .b32 what;
    st.param.b64 [to], %node;
    st.param.b32 [what], %branch;
    call.uni cudaGraphSetConditional, (to, what);
  }
  ret;
}
)";

struct Loaded {
  std::mutex mutex;
  std::map<const CudaDevice*, std::unique_ptr<ConditionalKernels>> kernels;
};
Loaded& loaded() {
  static auto* const all = new Loaded;
  return *all;
}

}  // namespace

const ConditionalKernels& conditional_kernels(const CudaDevice& device) {
  const std::lock_guard lock(loaded().mutex);
  auto& made = loaded().kernels[&device];
  if (!made) {
    auto fresh = std::make_unique<ConditionalKernels>();
    CUmodule module = nullptr;  // for the life of the process, like other kernels
    check(driver().cuModuleLoadData(&module, kText), "loading kernels for conditions");
    check(driver().cuModuleGetFunction(&fresh->repeat, module, "tandem_repeat"),
          "loading kernels for conditions");
    check(driver().cuModuleGetFunction(&fresh->choose, module, "tandem_choose"),
          "loading kernels for conditions");
    for (CUfunction f : {fresh->repeat, fresh->choose}) {
      check(driver().cuFuncLoad(f), "loading kernels for conditions");
    }
    made = std::move(fresh);
  }
  return *made;
}

}  // namespace tandem::cuda
