// NVTX: names of ops and steps on the host's side of a trace by Nsight Systems, Nsight
// Compute or any other tool that watches ranges. The tool names a library in the
// environment, which NVTX's headers load when the first range begins; where there is
// none, no range is made at all.
#pragma once

namespace tandem::cuda {

/// Sends ranges (base/ranges.h) to NVTX when a tool asks for them (NVTX_INJECTION64_PATH)
/// or TANDEM_NVTX=1 does; TANDEM_NVTX=0 keeps them off. Returns whether it did.
bool start_nvtx();

}  // namespace tandem::cuda
