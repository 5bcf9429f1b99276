// Kernels of a recording that are given operands of the caller
// (device/operand_address.h): what must be said again when an operand has another
// address. Filled by launch_kernel() while a thread records, then owned by what is
// captured. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/cuda/driver.h"
#include "device/cuda/launch.h"

namespace tandem::cuda {

class BoundNodes {
 public:
  /// While it lives, launches of this thread are noted here; null: nowhere.
  class Recording {
   public:
    explicit Recording(BoundNodes* nodes);
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    ~Recording();

   private:
    BoundNodes* outer_;
  };
  /// Of this thread; null: nothing is recorded.
  static BoundNodes* current();

  struct Launch {
    CUfunction function = nullptr;
    LaunchShape shape;
    void** arguments = nullptr;
  };
  /// Whether the launch that comes next has operands; note() then keeps them.
  bool finds(const Launch& launch);
  /// The launch that finds() has looked at is this node.
  void note(CUgraphNode node);

  bool empty() const { return nodes_.empty(); }
  void set(int32_t operand, const void* address);
  /// Tells the executable graph what has been set since the last time.
  void tell(CUgraphExec exec);
  /// Tells everything, to a graph that was made anew.
  void tell_all(CUgraphExec exec);

 private:
  struct Node {
    CUgraphNode node = nullptr;
    CUfunction function = nullptr;
    LaunchShape shape;
    std::vector<std::byte> bytes;  // of all arguments
    std::vector<void*> arguments;  // into `bytes`
    bool changed = false;
  };
  /// A word of a node's arguments that is an operand's address.
  struct Use {
    size_t node = 0;
    size_t at = 0;  // in its bytes
    int64_t offset = 0;
    int32_t operand = 0;
  };
  void tell(CUgraphExec exec, Node& node);

  std::vector<Node> nodes_;
  std::vector<std::vector<Use>> uses_;  // by operand
  std::vector<size_t> changed_;         // nodes
  Node found_;
  std::vector<Use> found_uses_;
};

}  // namespace tandem::cuda
