#include "device/cuda/captured_nodes.h"

namespace tandem::cuda {

namespace {

std::vector<CUgraphNode> dependencies_of(CUgraphNode node) {
  size_t count = 0;
  check(driver().cuGraphNodeGetDependencies(node, nullptr, nullptr, &count),
        "looking at a captured step");
  std::vector<CUgraphNode> nodes(count);
  // Edges of kernels that start early have data, and are not told without it.
  std::vector<CUgraphEdgeData> edges(count);
  if (count) {
    check(driver().cuGraphNodeGetDependencies(node, nodes.data(), edges.data(), &count),
          "looking at a captured step");
  }
  return nodes;
}

}  // namespace

LabelledNodes label_nodes(std::span<const CapturedStep> steps) {
  LabelledNodes labels;
  for (const CapturedStep& step : steps) {
    std::vector<CUgraphNode> open = step.ends;
    while (!open.empty()) {
      const CUgraphNode node = open.back();
      open.pop_back();
      // What has a label belongs to a step before, which this one came after.
      if (!labels.emplace(node, step.label).second) continue;
      for (CUgraphNode before : dependencies_of(node)) open.push_back(before);
    }
  }
  return labels;
}

}  // namespace tandem::cuda
