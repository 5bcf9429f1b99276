// Kernels written for float32 that serve float16 and bfloat16 too: inputs are widened
// into the workspace, results narrowed from it.
#pragma once

#include "op/kernel.h"

namespace tandem::cpu {

using PrepareFn = Ref<Prepared> (*)(const Signature&);
using LaunchFn = void (*)(const Prepared&, const LaunchArgs&);

/// Prepares `inner` for the signature with float32 in place of half-precision dtypes.
Ref<Prepared> prepare_through_float(const Signature& s, PrepareFn prepare,
                                    LaunchFn launch);
void launch_through_float(const Prepared& prepared, const LaunchArgs& args);

/// The half-precision form of a kernel made of two functions. Inputs at most 16, outputs
/// at most 8.
template <auto kPrepare, auto kLaunch>
Kernel make_half_kernel(const std::string& op, const std::string& id,
                        bool (*supports)(const Signature&) = nullptr) {
  Kernel k = make_kernel<kPrepare, kLaunch>(op, id, kHalfs, supports);
  k.prepare = [](const Signature& s) {
    static const Kernel inner = make_kernel<kPrepare, kLaunch>("", "");
    return prepare_through_float(s, inner.prepare, inner.launch);
  };
  k.launch = launch_through_float;
  return k;
}

}  // namespace tandem::cpu
