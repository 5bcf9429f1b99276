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
  X(cuGraphExecKernelNodeSetParams) X(cuGraphNodeGetType)                                \
  X(cuLaunchKernelEx) X(cuGraphGetNodes) X(cuGraphMemsetNodeGetParams)                   \
  X(cuGraphMemcpyNodeGetParams) X(cuGraphDestroyNode)                                    \
  X(cuEventSynchronize) X(cuGraphInstantiate) X(cuGraphLaunch) X(cuGraphDestroy)         \
  X(cuGraphExecDestroy) X(cuMemAddressReserve) X(cuMemAddressFree) X(cuMemCreate)        \
  X(cuMemRelease) X(cuMemMap) X(cuMemUnmap) X(cuMemSetAccess)                            \
  X(cuMemGetAllocationGranularity) X(cuMemAlloc) X(cuMemFree) X(cuMemHostAlloc)          \
  X(cuMemFreeHost) X(cuMemHostGetDevicePointer) X(cuMemcpyHtoDAsync)                     \
  X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync) X(cuMemcpyPeerAsync) X(cuMemsetD8Async)      \
  X(cuMemsetD8) X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetFunction)             \
  X(cuFuncSetAttribute) X(cuLaunchKernel) X(cuGetErrorName) X(cuGetErrorString)

/// What driver 535 lacks: others stand in for it, or it is not used (older_driver.h).
#define TANDEM_CUDA_NEWER_DRIVER(X)                                                      \
  X(cuStreamGetCaptureInfo) X(cuStreamUpdateCaptureDependencies)                         \
  X(cuGraphNodeGetDependencies) X(cuGraphNodeGetDependentNodes)                          \
  X(cuGraphAddDependencies) X(cuGraphAddNode) X(cuGraphConditionalHandleCreate)          \
  X(cuStreamBeginCaptureToGraph) X(cuFuncGetParamInfo) X(cuFuncLoad)
// clang-format on

/// One pointer per function, under the name that cuda.h gives it (versions included).
struct DriverApi {
#define TANDEM_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
  TANDEM_CUDA_DRIVER(TANDEM_CUDA_MEMBER)
  TANDEM_CUDA_NEWER_DRIVER(TANDEM_CUDA_MEMBER)
#undef TANDEM_CUDA_MEMBER
};

/// What a driver can do that older ones cannot.
struct DriverAbilities {
  bool early_captured = true;        // captured kernels start early (12.3, driver 545)
  bool conditional_loops = true;     // the GPU decides loops (12.4, driver 550)
  bool conditional_branches = true;  // and branches (12.8, driver 570)
};

struct DriverLoad {
  const DriverApi* api = nullptr;  // null: see problem
  DriverAbilities abilities = {};
  std::string problem;  // one line with a remedy
};

/// Loads libcuda on the first call. Creates no context.
const DriverLoad& load_driver();
/// The table; throws UnavailableError with the problem when there is none.
const DriverApi& driver();
inline const DriverAbilities& driver_abilities() { return load_driver().abilities; }

/// Whether this process was forked from one that had loaded the driver, which cannot be
/// used in it.
bool forked();

inline CUdeviceptr address_of(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }

/// "CUDA_ERROR_INVALID_VALUE (invalid argument)"
std::string describe(CUresult result);
/// Throws InternalError "<what>: <describe(result)>" unless it is CUDA_SUCCESS.
void check(CUresult result, const char* what);

}  // namespace tandem::cuda
