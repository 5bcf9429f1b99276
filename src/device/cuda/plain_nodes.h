// Copies and fills of the driver in a captured graph, made kernels. A graph of kernels
// alone is launched in a few microseconds whatever its size; every fill costs the host
// time at every launch (800 nodes, every 16th a fill: 92 µs instead of 5 on an H200). Our
// own kernels record neither; libraries do. Used while a graph is made, by the thread
// that makes it.
#pragma once

#include <unordered_map>

#include "device/cuda/driver.h"

namespace tandem::cuda {

class CudaDevice;

/// A node that is gone, and the one in its place.
using NodeMap = std::unordered_map<CUgraphNode, CUgraphNode>;

/// Replaces what can be: fills, and copies of one row inside a GPU. Not inside
/// conditional nodes.
NodeMap replace_copies_and_fills(CUgraph graph, CudaDevice& device);

inline CUgraphNode current_node(const NodeMap& replaced, CUgraphNode node) {
  const auto found = replaced.find(node);
  return found == replaced.end() ? node : found->second;
}

}  // namespace tandem::cuda
