#include "device/cuda/plain_nodes.h"

#include <array>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/log.h"
#include "device/cuda/copy_kernel.h"

namespace tandem::cuda {

namespace {

constexpr const char* kLooking = "looking at a captured step";
constexpr const char* kChanging = "replacing a node of a captured step";

std::vector<CUgraphNode> nodes_of(CUgraph graph) {
  size_t count = 0;
  check(driver().cuGraphGetNodes(graph, nullptr, &count), kLooking);
  std::vector<CUgraphNode> nodes(count);
  if (count) check(driver().cuGraphGetNodes(graph, nodes.data(), &count), kLooking);
  return nodes;
}

CUgraphNodeType node_type(CUgraphNode node) {
  CUgraphNodeType type{};
  check(driver().cuGraphNodeGetType(node, &type), kLooking);
  return type;
}

/// Nodes before or after one, and what the edges to them say (kernels that start early).
struct Neighbours {
  std::vector<CUgraphNode> nodes;
  std::vector<CUgraphEdgeData> edges;
};
template <class Ask>
Neighbours neighbours(CUgraphNode node, Ask ask) {
  size_t count = 0;
  check(ask(node, nullptr, nullptr, &count), kLooking);
  Neighbours found{std::vector<CUgraphNode>(count), std::vector<CUgraphEdgeData>(count)};
  if (count) check(ask(node, found.nodes.data(), found.edges.data(), &count), kLooking);
  return found;
}

/// A launch with its arguments, which live as long as it.
struct Launch {
  MemoryKernel kernel;
  std::array<uint64_t, 5> words{};
};

std::optional<Launch> as_fill(CUgraphNode node, CudaDevice& device) {
  CUDA_MEMSET_NODE_PARAMS p{};
  check(driver().cuGraphMemsetNodeGetParams(node, &p), kLooking);
  // The driver keeps the value in the element's size.
  const uint64_t pattern = p.elementSize == 1   ? (p.value & 0xff) * 0x01010101ull
                           : p.elementSize == 2 ? (p.value & 0xffff) * 0x00010001ull
                                                : p.value;
  const uint64_t width = p.width * p.elementSize;
  if (width == 0 || p.height == 0) return std::nullopt;
  return Launch{fill_kernel(device, width * p.height),
                {p.dst, p.pitch, pattern, width, p.height}};
}

std::optional<Launch> as_copy(CUgraphNode node, CudaDevice& device) {
  CUDA_MEMCPY3D p{};
  check(driver().cuGraphMemcpyNodeGetParams(node, &p), kLooking);
  const bool inside =
      p.srcMemoryType == CU_MEMORYTYPE_DEVICE && p.dstMemoryType == CU_MEMORYTYPE_DEVICE;
  const bool row = p.Height <= 1 && p.Depth <= 1 && p.srcY == 0 && p.srcZ == 0 &&
                   p.dstY == 0 && p.dstZ == 0;
  if (!inside || !row || p.WidthInBytes == 0) return std::nullopt;
  return Launch{
      copy_kernel(device, p.WidthInBytes),
      {p.dstDevice + p.dstXInBytes, p.srcDevice + p.srcXInBytes, p.WidthInBytes}};
}

CUgraphNode add_launch(CUgraph graph, const Neighbours& before, Launch& launch) {
  void* arguments[5];
  for (size_t i = 0; i < launch.words.size(); ++i) arguments[i] = &launch.words[i];
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  params.kernel.func = launch.kernel.function;
  params.kernel.gridDimX = launch.kernel.blocks;
  params.kernel.gridDimY = params.kernel.gridDimZ = 1;
  params.kernel.blockDimX = launch.kernel.threads;
  params.kernel.blockDimY = params.kernel.blockDimZ = 1;
  params.kernel.kernelParams = arguments;
  CUgraphNode node = nullptr;
  check(driver().cuGraphAddNode(&node, graph, before.nodes.data(), before.edges.data(),
                                before.nodes.size(), &params),
        kChanging);
  return node;
}

void replace(CUgraph graph, CUgraphNode node, Launch& launch, NodeMap& replaced) {
  const Neighbours before = neighbours(node, driver().cuGraphNodeGetDependencies);
  const Neighbours after = neighbours(node, driver().cuGraphNodeGetDependentNodes);
  const CUgraphNode fresh = add_launch(graph, before, launch);
  if (!after.nodes.empty()) {
    const std::vector<CUgraphNode> from(after.nodes.size(), fresh);
    check(driver().cuGraphAddDependencies(graph, from.data(), after.nodes.data(),
                                          after.edges.data(), from.size()),
          kChanging);
  }
  check(driver().cuGraphDestroyNode(node), kChanging);
  replaced[node] = fresh;
}

}  // namespace

NodeMap replace_copies_and_fills(CUgraph graph, CudaDevice& device) {
  NodeMap replaced;
  size_t kernels = 0, fills = 0, copies = 0, others = 0;
  for (CUgraphNode node : nodes_of(graph)) {
    const CUgraphNodeType type = node_type(node);
    std::optional<Launch> launch;
    if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
      ++kernels;
    } else if (type == CU_GRAPH_NODE_TYPE_MEMSET) {
      ++fills;
      launch = as_fill(node, device);
    } else if (type == CU_GRAPH_NODE_TYPE_MEMCPY) {
      ++copies;
      launch = as_copy(node, device);
    } else {
      ++others;
    }
    if (launch) replace(graph, node, *launch, replaced);
  }
  logging::debug(fmt::format(
      "captured a step: {} kernels, {} fills, {} copies, {} others; {} made kernels",
      kernels, fills, copies, others, replaced.size()));
  return replaced;
}

}  // namespace tandem::cuda
