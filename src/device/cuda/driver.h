// The NVIDIA driver (libcuda) as a table of functions, loaded when first asked for, so
// that the plugin itself links no CUDA library and a machine without a driver can say
// what is missing. The table is filled once and never changes; any thread.
#pragma once

#include <string>

#include <cuda.h>

namespace tandem::cuda {

// clang-format off
#define TANDEM_CUDA_DRIVER(X)                                                            \
  X(cuInit) X(cuDriverGetVersion) X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName)  \
  X(cuDeviceGetAttribute) X(cuDeviceTotalMem) X(cuDevicePrimaryCtxRetain)                \
  X(cuDevicePrimaryCtxRelease) X(cuCtxSetCurrent) X(cuMemGetInfo)                        \
  X(cuStreamCreate) X(cuStreamCreateWithPriority) X(cuStreamDestroy) X(cuStreamQuery)    \
  X(cuStreamSynchronize)                                                                 \
  X(cuStreamWaitEvent) X(cuStreamBeginCapture) X(cuStreamEndCapture)                     \
  X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventQuery)                    \
  X(cuStreamGetCaptureInfo) X(cuStreamUpdateCaptureDependencies)                         \
  X(cuGraphExecKernelNodeSetParams) X(cuGraphNodeGetType) X(cuGraphNodeGetDependencies)  \
  X(cuLaunchKernelEx) X(cuGraphAddNode) X(cuGraphConditionalHandleCreate)                \
  X(cuStreamBeginCaptureToGraph) X(cuGraphGetNodes) X(cuGraphMemsetNodeGetParams)        \
  X(cuGraphMemcpyNodeGetParams) X(cuGraphNodeGetDependentNodes)                          \
  X(cuGraphAddDependencies) X(cuGraphDestroyNode)                                        \
  X(cuEventSynchronize) X(cuGraphInstantiate) X(cuGraphLaunch) X(cuGraphDestroy)         \
  X(cuGraphExecDestroy) X(cuMemAddressReserve) X(cuMemAddressFree) X(cuMemCreate)        \
  X(cuMemRelease) X(cuMemMap) X(cuMemUnmap) X(cuMemSetAccess)                            \
  X(cuMemGetAllocationGranularity) X(cuMemAlloc) X(cuMemFree) X(cuMemHostAlloc)          \
  X(cuMemFreeHost) X(cuMemHostGetDevicePointer) X(cuMemcpyHtoDAsync)                     \
  X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync) X(cuMemcpyPeerAsync) X(cuMemsetD8Async)      \
  X(cuMemsetD8) X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetFunction)             \
  X(cuFuncSetAttribute) X(cuFuncGetParamInfo) X(cuFuncLoad) X(cuLaunchKernel) X(cuGetErrorName) X(cuGetErrorString)
// clang-format on

/// One pointer per function, under the name that cuda.h gives it (versions included).
struct DriverApi {
#define TANDEM_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
  TANDEM_CUDA_DRIVER(TANDEM_CUDA_MEMBER)
#undef TANDEM_CUDA_MEMBER
};

struct DriverLoad {
  const DriverApi* api = nullptr;  // null: see problem
  std::string problem;             // one line with a remedy
};

/// Loads libcuda on the first call. Creates no context.
const DriverLoad& load_driver();
/// The table; throws UnavailableError with the problem when there is none.
const DriverApi& driver();

/// Whether this process was forked from one that had loaded the driver, which cannot be
/// used in it.
bool forked();

inline CUdeviceptr address_of(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }

/// "CUDA_ERROR_INVALID_VALUE (invalid argument)"
std::string describe(CUresult result);
/// Throws InternalError "<what>: <describe(result)>" unless it is CUDA_SUCCESS.
void check(CUresult result, const char* what);

}  // namespace tandem::cuda
