// What the executor says while work is recorded for a CUDA graph: which steps come after
// which, copies whose addresses may change, and work that the GPU itself repeats or
// leaves out, which becomes conditional nodes. Lives on the stack of the thread that
// records.
#pragma once

#include <vector>

#include "device/capture_session.h"
#include "device/conditional_work.h"
#include "device/cuda/captured_nodes.h"
#include "device/cuda/copy_kernel.h"
#include "device/cuda/driver.h"

namespace tandem::cuda {

/// A copy of the graph: what must be said again when its addresses change.
struct CopyNode {
  CUgraphNode node = nullptr;
  CopyKernel kernel;
  void* to = nullptr;
  const void* from = nullptr;
  uint64_t bytes = 0;
};

class CudaSession final : public CaptureSession, public ConditionalWork {
 public:
  /// `context`: of the stream that is in capture mode.
  CudaSession(CudaDevice& device, const StreamContext& context);

  void begin(std::span<const int32_t> after, StepLabel label, Site site) override;
  void end() override;
  int32_t copy(void* to, const void* from, size_t bytes) override;
  void repeat(const Loop& loop, Task test, Task turn) override;
  void choose(const Selector& selector, size_t branches, BranchTask branch) override;

  const std::vector<CopyNode>& copies() const { return copies_; }
  /// All steps, those inside conditional nodes included.
  std::vector<CapturedStep> take_steps();
  /// Whether there are any: such a graph can be instantiated only once at a time.
  bool conditional() const { return conditional_; }
  /// Whether there are loops among them.
  bool loops() const { return loops_; }

 private:
  CUstream stream() const { return static_cast<CUstream>(context_.native); }
  struct Captured {
    CUgraph graph;                  // as far as it is recorded
    std::vector<CUgraphNode> last;  // what the next node would come after
  };
  Captured captured() const;
  void come_after(std::vector<CUgraphNode> nodes);
  /// Steps of their own, on this stream: after what has been enqueued, and what follows
  /// comes after all of them.
  void record_inside(Task task);
  void finish_inside(CudaSession& inner);
  void keep_steps(CudaSession& inner);
  CUgraphConditionalHandle make_handle() const;
  /// A node with so many bodies; what follows comes after it.
  CUgraph* add_node(CUgraphConditionalHandle handle, CUgraphConditionalNodeType type,
                    unsigned bodies);
  void record_body(CUgraph body, FnRef<void(CudaSession&)> task);
  void launch(CUfunction kernel, void** arguments);
  void test_again(CUgraphConditionalHandle handle, const Loop& loop, bool first);

  CudaDevice& device_;
  StreamContext context_;
  std::vector<CUgraphNode> base_;    // what steps that come after none come after
  std::vector<CapturedStep> steps_;  // by number
  std::vector<char> has_later_;
  std::vector<CapturedStep> inside_;  // of conditional nodes
  std::vector<CopyNode> copies_;
  bool conditional_ = false, loops_ = false;
};

}  // namespace tandem::cuda
