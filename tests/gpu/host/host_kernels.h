// The kernels of device/linalg.cuh, small_cholesky.cuh and small_qr.cuh run by the host:
// their text compiled by the host's compiler for every dtype, launched under the names
// and with the arguments that the plugin gives them. Blocks run one after the other; the
// threads of a block that has shared memory are threads of the host, few of them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "device/cuda/error_report.h"

namespace tandem::cuda {

using HostKernel = std::function<void(void** arguments)>;
/// Runs it with a grid of `blocks`, and `shared` bytes for each.
void run_host_kernel(const HostKernel& kernel, unsigned blocks, size_t shared,
                     void** arguments);
/// `type`: the text's word for the dtype. Null: there is no such kernel.
const HostKernel* find_host_kernel(const std::string& type, const std::string& entry);

/// What kernels have reported last; taken: there is none afterwards.
Report take_report();

}  // namespace tandem::cuda
