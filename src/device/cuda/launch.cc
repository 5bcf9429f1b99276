#include "device/cuda/launch.h"

#include <algorithm>

#include "base/flags.h"
#include "base/recorder.h"
#include "device/cuda/bound_nodes.h"
#include "device/cuda/cuda_device.h"
#include "tandem/error.h"

namespace tandem::cuda {

namespace {

enum class Mode { kStream, kAllowed, kForbidden };  // the latter two: in recordings
thread_local Mode t_mode = Mode::kStream;
constexpr int kFirstOverlapArch = 90;

bool switched_on() {
  static const bool on = env_bool("TANDEM_PROGRAMMATIC_LAUNCH", true);
  return on;
}

/// The node that a launch on a recording stream has just made.
CUgraphNode last_node(CUstream stream) {
  CUstreamCaptureStatus status{};
  const CUgraphNode* nodes = nullptr;
  size_t count = 0;
  check(driver().cuStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &nodes,
                                        nullptr, &count),
        "looking at captured work");
  if (count != 1) throw InternalError("a captured kernel has no node of its own");
  return nodes[0];
}

/// Only kernels can be overlapped with: copies and fills say when they are over.
bool after_kernels(CUstream stream) {
  CUstreamCaptureStatus status{};
  const CUgraphNode* nodes = nullptr;
  size_t count = 0;
  if (driver().cuStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &nodes, nullptr,
                                      &count) ||
      status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    return false;
  }
  return count > 0 && std::all_of(nodes, nodes + count, [](CUgraphNode node) {
           CUgraphNodeType type{};
           return driver().cuGraphNodeGetType(node, &type) == CUDA_SUCCESS &&
                  type == CU_GRAPH_NODE_TYPE_KERNEL;
         });
}

bool starts_early(const CudaDevice& device, CUstream stream, const LaunchShape& s) {
  if (!s.early || device.arch() < kFirstOverlapArch || !switched_on()) return false;
  if (t_mode == Mode::kStream) return !recorder::enabled();
  return t_mode == Mode::kAllowed && driver_abilities().early_captured &&
         after_kernels(stream);
}

}  // namespace

ProgrammaticLaunches::ProgrammaticLaunches(bool allowed)
    : outer_(static_cast<int>(t_mode)) {
  t_mode = allowed ? Mode::kAllowed : Mode::kForbidden;
}
ProgrammaticLaunches::~ProgrammaticLaunches() { t_mode = static_cast<Mode>(outer_); }

void launch_kernel(const CudaDevice& device, CUstream stream, CUfunction function,
                   const LaunchShape& s, void** arguments) {
  BoundNodes* const bound = BoundNodes::current();
  const bool has_operands = bound && bound->finds({function, s, arguments});
  if (!starts_early(device, stream, s)) {
    check(driver().cuLaunchKernel(function, s.x, s.y, s.z, s.threads, s.threads_y, 1,
                                  s.shared, stream, arguments, nullptr),
          "launching a kernel");
    if (has_operands) bound->note(last_node(stream));
    return;
  }
  CUlaunchAttribute early{};
  early.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  early.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = s.x;
  config.gridDimY = s.y;
  config.gridDimZ = s.z;
  config.blockDimX = s.threads;
  config.blockDimY = s.threads_y;
  config.blockDimZ = 1;
  config.sharedMemBytes = s.shared;
  config.hStream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  check(driver().cuLaunchKernelEx(&config, function, arguments, nullptr),
        "launching a kernel");
  if (has_operands) bound->note(last_node(stream));
}

}  // namespace tandem::cuda
