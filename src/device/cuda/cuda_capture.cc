// Captured work: recorded on a stream of its own (so that other threads may go on
// submitting), made into a CUDA graph, launched on the stream it belongs to. Steps that
// do not depend on each other become branches of the graph.
#include <utility>

#include "base/recorder.h"
#include "device/capture_session.h"
#include "device/cuda/activity.h"
#include "device/cuda/bound_nodes.h"
#include "device/cuda/captured_nodes.h"
#include "device/cuda/copy_kernel.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_session.h"
#include "device/cuda/cuda_stream.h"
#include "device/cuda/launch.h"
#include "device/cuda/plain_nodes.h"
#include "tandem/error.h"

namespace tandem::cuda {

namespace {

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

}  // namespace

class CudaCaptured final : public Captured,
                           public CapturedCopies,
                           public CapturedOperands {
 public:
  /// What the session has recorded.
  struct Recorded {
    CUgraph graph = nullptr;
    std::vector<CopyNode> copies;
    BoundNodes bound;
    std::vector<CapturedStep> steps;
    bool conditional = false, loops = false;
  };
  CudaCaptured(CudaStream& stream, CudaDevice& device, Recorded recorded)
      : stream_(stream),
        device_(device),
        graph_(recorded.graph),
        conditional_(recorded.conditional),
        loops_(recorded.loops),
        copies_(std::move(recorded.copies)),
        bound_(std::move(recorded.bound)),
        steps_(std::move(recorded.steps)) {
    if (const CUresult made = driver().cuGraphInstantiate(&exec_, graph_, 0)) {
      driver().cuGraphDestroy(graph_);
      check(made, "making a captured step");
    }
  }
  ~CudaCaptured() override {
    if (stream_.closed_) return;  // the process exits: the driver may be gone
    stream_.wait_quietly(last_);
    if (!device_.enter()) return;  // lost, or a child's: nothing can be given back
    if (exec_) driver().cuGraphExecDestroy(exec_);
    driver().cuGraphDestroy(graph_);
  }
  TimePoint launch() override {
    const int64_t begin = recorder::enabled() ? recorder::now_ns() : 0;
    if (begin) name_nodes();
    if (!bound_.empty()) {
      device_.activate();
      bound_.tell(exec_);
    }
    const TimePoint point = stream_.launch(exec_);
    last_ = point.sequence;
    if (loops_) device_.loops().launched(last_);
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
  void set_operand(int32_t number, void* address) override {
    bound_.set(number, address);
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

  void tell_all() {
    for (CopyNode& copy : copies_) tell(copy);
    bound_.tell_all(exec_);
  }

  /// Tells a recording of the GPU's work which nodes are which steps. Nodes of the
  /// executable graph have numbers of their own, which are told only while it is made: it
  /// is made again, once.
  void name_nodes() {
    ActivityRecording& recording = ActivityRecording::get();
    const uint32_t number = recording.number();
    if (number == 0 || number == named_in_) return;
    if (names_.empty()) {
      stream_.wait_quietly(last_);
      device_.activate();
      for (CapturedStep& step : steps_) {
        if (step.site) step.label.site = step.site();
        // Here alone: texts of all that was ever captured would be kept for ever.
        if (step.label.detail) step.label.detail = recorder::intern(step.label.detail);
      }
      // With conditional nodes there may be one at a time.
      if (conditional_) driver().cuGraphExecDestroy(std::exchange(exec_, nullptr));
      CUgraphExec fresh = nullptr;
      CUresult made = CUDA_SUCCESS;
      names_ = recording.number_nodes(label_nodes(steps_), [&] {
        made = driver().cuGraphInstantiate(&fresh, graph_, 0);
      });
      if (made != CUDA_SUCCESS) {
        names_ = {};
        if (!exec_)
          check(driver().cuGraphInstantiate(&exec_, graph_, 0), "making a captured step");
        tell_all();
        return;
      }
      const CUgraphExec before = std::exchange(exec_, fresh);
      if (before) driver().cuGraphExecDestroy(before);
      tell_all();
    }
    recording.add_nodes(names_);
    named_in_ = number;
  }

  CudaStream& stream_;
  CudaDevice& device_;
  CUgraph graph_;  // names the nodes
  CUgraphExec exec_ = nullptr;
  const bool conditional_;  // has conditional nodes
  const bool loops_;        // and loops among them
  std::vector<CopyNode> copies_;
  BoundNodes bound_;
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
  CudaCaptured::Recorded recorded;
  {
    const StreamContext recording = context(r.stream);
    CudaSession session(device, recording);
    const ProgrammaticLaunches launches(true);
    const BoundNodes::Recording noted(&recorded.bound);
    task(recording);
    recorded.copies = session.copies();
    recorded.conditional = session.conditional();
    recorded.loops = session.loops();
    recorded.steps = session.take_steps();
  }
  r.open = false;
  check(api.cuStreamEndCapture(r.stream, &r.graph), "ending a capture");
  const NodeMap replaced = replace_copies_and_fills(r.graph, device);
  for (CapturedStep& step : recorded.steps) {
    for (CUgraphNode& node : step.ends) node = current_node(replaced, node);
  }
  recorded.graph = std::exchange(r.graph, nullptr);
  return std::make_unique<CudaCaptured>(*this, device, std::move(recorded));
}

}  // namespace tandem::cuda
