#include "device/cuda/bound_nodes.h"

#include <cstring>
#include <utility>

#include "device/cuda/kernel_parameters.h"
#include "device/operand_address.h"

namespace tandem::cuda {

namespace {
thread_local BoundNodes* t_current = nullptr;
}  // namespace

BoundNodes::Recording::Recording(BoundNodes* nodes)
    : outer_(std::exchange(t_current, nodes)) {}
BoundNodes::Recording::~Recording() { t_current = outer_; }

BoundNodes* BoundNodes::current() { return t_current; }

bool BoundNodes::finds(const Launch& launch) {
  found_ = {};
  found_uses_.clear();
  std::vector<size_t> begins;
  const std::vector<size_t> sizes = parameter_sizes(launch.function);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const size_t begin = found_.bytes.size();
    const auto* from = static_cast<const std::byte*>(launch.arguments[i]);
    begins.push_back(begin);
    found_.bytes.insert(found_.bytes.end(), from, from + sizes[i]);
    // Pointers lie at multiples of their size within an argument.
    for (size_t at = 0; at + sizeof(uint64_t) <= sizes[i]; at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, from + at, sizeof(word));
      if (!operand_address::is(word)) continue;
      found_uses_.push_back({nodes_.size(), begin + at, operand_address::offset(word),
                             operand_address::number(word)});
    }
  }
  if (found_uses_.empty()) return false;
  found_.function = launch.function;
  found_.shape = launch.shape;
  for (const size_t begin : begins) {
    found_.arguments.push_back(found_.bytes.data() + begin);
  }
  return true;
}

void BoundNodes::note(CUgraphNode node) {
  found_.node = node;
  nodes_.push_back(std::move(found_));
  changed_.reserve(nodes_.size());
  for (const Use& use : found_uses_) {
    const auto operand = static_cast<size_t>(use.operand);
    if (uses_.size() <= operand) uses_.resize(operand + 1);
    uses_[operand].push_back(use);
  }
}

void BoundNodes::set(int32_t operand, const void* address) {
  // No kernel may look at it, whatever the plan thought.
  if (static_cast<size_t>(operand) >= uses_.size()) return;
  for (const Use& use : uses_[static_cast<size_t>(operand)]) {
    Node& node = nodes_[use.node];
    const uint64_t word =
        reinterpret_cast<uint64_t>(address) + static_cast<uint64_t>(use.offset);
    std::memcpy(node.bytes.data() + use.at, &word, sizeof(word));
    if (std::exchange(node.changed, true)) continue;
    changed_.push_back(use.node);
  }
}

void BoundNodes::tell(CUgraphExec exec, Node& node) {
  CUDA_KERNEL_NODE_PARAMS params{};
  params.func = node.function;
  params.gridDimX = node.shape.x;
  params.gridDimY = node.shape.y;
  params.gridDimZ = node.shape.z;
  params.blockDimX = node.shape.threads;
  params.blockDimY = node.shape.threads_y;
  params.blockDimZ = 1;
  params.sharedMemBytes = node.shape.shared;
  params.kernelParams = node.arguments.data();
  check(driver().cuGraphExecKernelNodeSetParams(exec, node.node, &params),
        "giving a captured kernel its addresses");
  node.changed = false;
}

void BoundNodes::tell(CUgraphExec exec) {
  for (const size_t n : changed_) tell(exec, nodes_[n]);
  changed_.clear();
}

void BoundNodes::tell_all(CUgraphExec exec) {
  for (Node& node : nodes_) tell(exec, node);
  changed_.clear();
}

}  // namespace tandem::cuda
