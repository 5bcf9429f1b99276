#include "device/cuda/cuda_session.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/flags.h"
#include "device/cuda/bound_nodes.h"
#include "device/cuda/conditional_kernels.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/launch.h"

namespace tandem::cuda {

namespace {

bool serial() {
  static const bool asked = env_bool("TANDEM_CAPTURE_SERIAL", false);
  return asked;
}

/// A stream that records into the body of a conditional node. The body belongs to the
/// node, whatever happens.
struct BodyRecording {
  CUstream stream = nullptr;
  bool open = false;
  explicit BodyRecording(CUgraph body) {
    check(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "making a stream");
    const CUresult begun = driver().cuStreamBeginCaptureToGraph(
        stream, body, nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_RELAXED);
    if (begun) driver().cuStreamDestroy(stream);
    check(begun, "beginning the capture of a conditional node");
    open = true;
  }
  BodyRecording(const BodyRecording&) = delete;
  BodyRecording& operator=(const BodyRecording&) = delete;
  ~BodyRecording() {
    close();
    driver().cuStreamDestroy(stream);
  }
  CUresult close() {
    CUgraph body = nullptr;
    return std::exchange(open, false) ? driver().cuStreamEndCapture(stream, &body)
                                      : CUDA_SUCCESS;
  }
};

}  // namespace

CudaSession::CudaSession(CudaDevice& device, const StreamContext& context)
    : device_(device), context_(context), base_(captured().last) {}

void CudaSession::come_after(std::vector<CUgraphNode> nodes) {
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  check(driver().cuStreamUpdateCaptureDependencies(stream(), nodes.data(), nullptr,
                                                   nodes.size(),
                                                   CU_STREAM_SET_CAPTURE_DEPENDENCIES),
        "ordering captured work");
}

void CudaSession::begin(std::span<const int32_t> after, StepLabel label, Site site) {
  steps_.push_back({label, {}, std::move(site)});
  has_later_.push_back(0);
  if (serial()) return;
  std::vector<CUgraphNode> nodes;
  for (int32_t step : after) {
    const auto& last = steps_[static_cast<size_t>(step)].ends;
    nodes.insert(nodes.end(), last.begin(), last.end());
    has_later_[static_cast<size_t>(step)] = 1;
  }
  come_after(after.empty() ? base_ : std::move(nodes));
}

void CudaSession::end() { steps_.back().ends = captured().last; }

int32_t CudaSession::copy(void* to, const void* from, size_t bytes) {
  CopyNode copy;
  copy.kernel = copy_kernel(device_, bytes);
  copy.to = to;
  copy.from = from;
  copy.bytes = bytes;
  void* arguments[] = {&to, &from, &copy.bytes};
  check(
      driver().cuLaunchKernel(copy.kernel.function, copy.kernel.blocks, 1, 1,
                              copy.kernel.threads, 1, 1, 0, stream(), arguments, nullptr),
      "recording a copy");
  copy.node = captured().last.at(0);
  copies_.push_back(copy);
  return static_cast<int32_t>(copies_.size() - 1);
}

CudaSession::Captured CudaSession::captured() const {
  CUstreamCaptureStatus status{};
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  size_t count = 0;
  check(driver().cuStreamGetCaptureInfo(stream(), &status, nullptr, &graph, &nodes,
                                        nullptr, &count),
        "looking at captured work");
  return {graph, {nodes, nodes + count}};
}

std::vector<CapturedStep> CudaSession::take_steps() {
  std::vector<CapturedStep> all = std::move(steps_);
  std::move(inside_.begin(), inside_.end(), std::back_inserter(all));
  return all;
}

void CudaSession::finish_inside(CudaSession& inner) {
  if (!inner.steps_.empty() && !serial()) {
    std::vector<CUgraphNode> ends;
    for (size_t i = 0; i < inner.steps_.size(); ++i) {
      const auto& last = inner.steps_[i].ends;
      if (!inner.has_later_[i]) ends.insert(ends.end(), last.begin(), last.end());
    }
    inner.come_after(std::move(ends));
  }
  keep_steps(inner);
}

void CudaSession::keep_steps(CudaSession& inner) {
  loops_ |= inner.loops_;
  std::vector<CapturedStep> steps = inner.take_steps();
  std::move(steps.begin(), steps.end(), std::back_inserter(inside_));
}

void CudaSession::record_inside(Task task) {
  CudaSession inner(device_, context_);
  task(context_);
  finish_inside(inner);
}

CUgraphConditionalHandle CudaSession::make_handle() const {
  CUgraphConditionalHandle handle = 0;
  check(driver().cuGraphConditionalHandleCreate(&handle, captured().graph,
                                                device_.context(), 0, 0),
        "making a condition");
  return handle;
}

CUgraph* CudaSession::add_node(CUgraphConditionalHandle handle,
                               CUgraphConditionalNodeType type, unsigned bodies) {
  const Captured before = captured();
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  params.conditional.handle = handle;
  params.conditional.type = type;
  params.conditional.size = bodies;
  params.conditional.ctx = device_.context();
  CUgraphNode node = nullptr;
  check(driver().cuGraphAddNode(&node, before.graph, before.last.data(), nullptr,
                                before.last.size(), &params),
        "making a conditional node");
  come_after({node});
  conditional_ = true;
  return params.conditional.phGraph_out;
}

void CudaSession::record_body(CUgraph body, FnRef<void(CudaSession&)> task) {
  BodyRecording recording(body);
  StreamContext context = context_;
  context.native = recording.stream;
  {
    const ProgrammaticLaunches early(env_bool("TANDEM_PROGRAMMATIC_BODIES", false));
    // Nodes inside cannot be told other addresses: plans give them none.
    const BoundNodes::Recording unnoted(nullptr);
    CudaSession inner(device_, context);
    task(inner);
    keep_steps(inner);
  }
  check(recording.close(), "ending the capture of a conditional node");
}

void CudaSession::launch(CUfunction kernel, void** arguments) {
  check(
      driver().cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream(), arguments, nullptr),
      "recording a condition");
}

void CudaSession::test_again(CUgraphConditionalHandle handle, const Loop& loop,
                             bool first) {
  const void* go_on = loop.go_on;
  void* turns = loop.turns;
  int64_t most = loop.max_turns;
  CUdeviceptr report = device_.flags();
  unsigned begins = first;
  void* arguments[] = {&handle, &go_on, &turns, &most, &report, &begins};
  launch(conditional_kernels(device_).repeat, arguments);
}

void CudaSession::repeat(const Loop& loop, Task test, Task turn) {
  device_.loops().prepare();
  loops_ = true;
  const CUgraphConditionalHandle handle = make_handle();
  record_inside(test);
  test_again(handle, loop, true);
  CUgraph* const body = add_node(handle, CU_GRAPH_COND_TYPE_WHILE, 1);
  record_body(body[0], [&](CudaSession& inner) {
    inner.record_inside(turn);
    inner.record_inside(test);
    inner.test_again(handle, loop, false);
  });
}

void CudaSession::choose(const Selector& selector, size_t branches, BranchTask branch) {
  CUgraphConditionalHandle handle = make_handle();
  const void* value = selector.value;
  auto bytes = static_cast<unsigned>(selector.bytes);
  auto bodies = static_cast<unsigned>(branches);
  void* arguments[] = {&handle, &value, &bytes, &bodies};
  launch(conditional_kernels(device_).choose, arguments);
  CUgraph* const body = add_node(handle, CU_GRAPH_COND_TYPE_SWITCH, bodies);
  for (size_t b = 0; b < branches; ++b) {
    record_body(body[b], [&](CudaSession& inner) {
      inner.record_inside([&](const StreamContext& context) { branch(b, context); });
    });
  }
}

}  // namespace tandem::cuda
