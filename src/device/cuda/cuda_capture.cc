// Captured work: recorded on a stream of its own (so that other threads may go on
// submitting), made into a CUDA graph, launched on the stream it belongs to. Steps that
// do not depend on each other become branches of the graph.
#include <algorithm>
#include <atomic>
#include <utility>

#include "base/flags.h"
#include "base/recorder.h"
#include "device/capture_session.h"
#include "device/cuda/activity.h"
#include "device/cuda/captured_nodes.h"
#include "device/cuda/copy_kernel.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_stream.h"
#include "device/cuda/launch.h"
#include "tandem/error.h"

namespace tandem::cuda {

namespace {

std::atomic<FindCopyKernel> found_copy_kernel{nullptr};

/// A copy of the graph: what must be said again when its addresses change.
struct CopyNode {
  CUgraphNode node = nullptr;
  CopyKernel kernel;
  void* to = nullptr;
  const void* from = nullptr;
  uint64_t bytes = 0;
};

/// The stream that capture happens on, and the graph until it is instantiated.
struct Recording {
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  bool open = false;
  ~Recording() {
    if (open) driver().cuStreamEndCapture(stream, &graph);
    if (graph) driver().cuGraphDestroy(graph);
    if (stream) driver().cuStreamDestroy(stream);
  }
};

class CudaSession final : public CaptureSession {
 public:
  CudaSession(CudaDevice& device, CUstream stream) : device_(device), stream_(stream) {}

  void begin(std::span<const int32_t> after, StepLabel label, Site site) override {
    steps_.push_back({label, {}, std::move(site)});
    if (serial()) return;
    std::vector<CUgraphNode> nodes;
    for (int32_t step : after) {
      const auto& last = steps_[static_cast<size_t>(step)].ends;
      nodes.insert(nodes.end(), last.begin(), last.end());
    }
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    check(driver().cuStreamUpdateCaptureDependencies(stream_, nodes.data(), nullptr,
                                                     nodes.size(),
                                                     CU_STREAM_SET_CAPTURE_DEPENDENCIES),
          "ordering captured work");
  }
  void end() override { steps_.back().ends = last_nodes(); }

  int32_t copy(void* to, const void* from, size_t bytes) override {
    CopyNode copy;
    copy.kernel = copy_kernel(device_, bytes);
    copy.to = to;
    copy.from = from;
    copy.bytes = bytes;
    void* arguments[] = {&to, &from, &copy.bytes};
    check(driver().cuLaunchKernel(copy.kernel.function, copy.kernel.blocks, 1, 1,
                                  copy.kernel.threads, 1, 1, 0, stream_, arguments,
                                  nullptr),
          "recording a copy");
    copy.node = last_nodes().at(0);
    copies_.push_back(copy);
    return static_cast<int32_t>(copies_.size() - 1);
  }

  std::vector<CopyNode> take_copies() { return std::move(copies_); }
  std::vector<CapturedStep> take_steps() { return std::move(steps_); }

 private:
  static bool serial() {
    static const bool asked = env_bool("TANDEM_CAPTURE_SERIAL", false);
    return asked;
  }
  /// What the next node would come after.
  std::vector<CUgraphNode> last_nodes() const {
    CUstreamCaptureStatus status{};
    const CUgraphNode* nodes = nullptr;
    size_t count = 0;
    check(driver().cuStreamGetCaptureInfo(stream_, &status, nullptr, nullptr, &nodes,
                                          nullptr, &count),
          "looking at captured work");
    return {nodes, nodes + count};
  }

  CudaDevice& device_;
  CUstream stream_;
  std::vector<CapturedStep> steps_;
  std::vector<CopyNode> copies_;
};

}  // namespace

void set_copy_kernel(FindCopyKernel find) { found_copy_kernel = find; }

CopyKernel copy_kernel(CudaDevice& device, size_t bytes) {
  const FindCopyKernel find = found_copy_kernel;
  if (!find) throw InternalError("the CUDA plugin has no kernel for copies");
  return find(device, bytes);
}

class CudaCaptured final : public Captured, public CapturedCopies {
 public:
  CudaCaptured(CudaStream& stream, CudaDevice& device, CUgraph graph,
               std::vector<CopyNode> copies, std::vector<CapturedStep> steps)
      : stream_(stream),
        device_(device),
        graph_(graph),
        copies_(std::move(copies)),
        steps_(std::move(steps)) {
    if (const CUresult made = driver().cuGraphInstantiate(&exec_, graph_, 0)) {
      driver().cuGraphDestroy(graph_);
      check(made, "making a captured step");
    }
  }
  ~CudaCaptured() override {
    if (stream_.closed_) return;  // the process exits: the driver may be gone
    stream_.wait_quietly(last_);
    device_.activate();
    driver().cuGraphExecDestroy(exec_);
    driver().cuGraphDestroy(graph_);
  }
  TimePoint launch() override {
    const int64_t begin = recorder::enabled() ? recorder::now_ns() : 0;
    if (begin) name_nodes();
    const TimePoint point = stream_.submit([this](const StreamContext& context) {
      check(driver().cuGraphLaunch(exec_, static_cast<CUstream>(context.native)),
            "launching a captured step");
    });
    last_ = point.sequence;
    if (begin) {
      recorder::record(recorder::Kind::kPlan, "captured step",
                       recorder::intern(stream_.lane()), begin, recorder::now_ns(), 0);
    }
    return point;
  }
  void set_copy(int32_t number, void* to, const void* from) override {
    CopyNode& copy = copies_[static_cast<size_t>(number)];
    copy.to = to;
    copy.from = from;
    device_.activate();
    tell(copy);
  }

 private:
  void tell(CopyNode& copy) {
    void* arguments[] = {&copy.to, &copy.from, &copy.bytes};
    CUDA_KERNEL_NODE_PARAMS params{};
    params.func = copy.kernel.function;
    params.gridDimX = copy.kernel.blocks;
    params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = copy.kernel.threads;
    params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = arguments;
    check(driver().cuGraphExecKernelNodeSetParams(exec_, copy.node, &params),
          "giving a captured copy its addresses");
  }

  /// Tells a recording of the GPU's work which nodes are which steps. Nodes of the
  /// executable graph have numbers of their own, which are told only while it is made: it
  /// is made again, once.
  void name_nodes() {
    ActivityRecording& recording = ActivityRecording::get();
    const uint32_t number = recording.number();
    if (number == 0 || number == named_in_) return;
    named_in_ = number;
    if (names_.empty()) {
      stream_.wait_quietly(last_);
      device_.activate();
      for (CapturedStep& step : steps_) {
        if (step.site) step.label.site = step.site();
      }
      CUgraphExec fresh = nullptr;
      names_ = recording.number_nodes(label_nodes(steps_), [&] {
        check(driver().cuGraphInstantiate(&fresh, graph_, 0), "making a captured step");
      });
      driver().cuGraphExecDestroy(std::exchange(exec_, fresh));
      for (CopyNode& copy : copies_) tell(copy);
    }
    recording.add_nodes(names_);
  }

  CudaStream& stream_;
  CudaDevice& device_;
  CUgraph graph_;  // names the nodes
  CUgraphExec exec_ = nullptr;
  std::vector<CopyNode> copies_;
  std::vector<CapturedStep> steps_;
  NumberedNodes names_;    // of the executable graph's nodes, once somebody asked
  uint32_t named_in_ = 0;  // the recording that knows them
  uint64_t last_ = 0;
};

std::unique_ptr<Captured> CudaStream::capture(
    std::function<void(const StreamContext&)> task) {
  CudaDevice& device = *options_.device;
  device.activate();
  const DriverApi& api = driver();
  Recording r;
  check(api.cuStreamCreate(&r.stream, CU_STREAM_NON_BLOCKING), "making a stream");
  // Relaxed: what is captured may free buffers, which asks whether events have passed.
  check(api.cuStreamBeginCapture(r.stream, CU_STREAM_CAPTURE_MODE_RELAXED),
        "beginning a capture");
  r.open = true;
  std::vector<CopyNode> copies;
  std::vector<CapturedStep> steps;
  {
    CudaSession session(device, r.stream);
    const ProgrammaticLaunches launches(true);
    task(context(r.stream));
    copies = session.take_copies();
    steps = session.take_steps();
  }
  r.open = false;
  check(api.cuStreamEndCapture(r.stream, &r.graph), "ending a capture");
  return std::make_unique<CudaCaptured>(*this, device, std::exchange(r.graph, nullptr),
                                        std::move(copies), std::move(steps));
}

}  // namespace tandem::cuda
