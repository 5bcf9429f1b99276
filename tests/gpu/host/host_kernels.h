// The kernels of device/linalg.cuh run by the host: their text compiled by the host's
// compiler for every dtype, one thread doing all of it, launched under the names and with
// the arguments that the plugin gives them.
#pragma once

#include <functional>
#include <string>

#include "device/cuda/error_report.h"

namespace tandem::cuda {

using HostKernel = std::function<void(void** arguments)>;
/// `type`: the text's word for the dtype. Null: there is no such kernel.
const HostKernel* find_host_kernel(const std::string& type, const std::string& entry);

/// What kernels have reported last; taken: there is none afterwards.
Report take_report();

}  // namespace tandem::cuda
