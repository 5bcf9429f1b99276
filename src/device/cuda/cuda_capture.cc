// Captured work: recorded on a stream of its own (so that other threads may go on
// submitting), made into a CUDA graph, launched on the stream it belongs to.
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_stream.h"
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

class CudaCaptured final : public Captured {
 public:
  CudaCaptured(CudaStream& stream, CudaDevice& device, CUgraphExec graph)
      : stream_(stream), device_(device), graph_(graph) {}
  ~CudaCaptured() override {
    if (stream_.closed_) return;  // the process exits: the driver may be gone
    stream_.wait_quietly(last_);
    device_.activate();
    driver().cuGraphExecDestroy(graph_);
  }
  TimePoint launch() override {
    const TimePoint point = stream_.submit([this](const StreamContext& context) {
      check(driver().cuGraphLaunch(graph_, static_cast<CUstream>(context.native)),
            "launching a captured step");
    });
    last_ = point.sequence;
    return point;
  }

 private:
  CudaStream& stream_;
  CudaDevice& device_;
  CUgraphExec graph_;
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
  task(context(r.stream));
  r.open = false;
  check(api.cuStreamEndCapture(r.stream, &r.graph), "ending a capture");
  CUgraphExec graph = nullptr;
  check(api.cuGraphInstantiate(&graph, r.graph, 0), "making a captured step");
  return std::make_unique<CudaCaptured>(*this, device, graph);
}

}  // namespace tandem::cuda
