// Captures and graphs of the pretended GPU. An executable graph is a copy of the captured
// one, whose nodes have numbers of their own, as the real driver's have.
#include <algorithm>
#include <map>

#include "gpu/fake/state.h"

using namespace fake;

namespace {

Stream* of(CUstream stream) { return reinterpret_cast<Stream*>(stream); }
Graph* of(CUgraph graph) { return reinterpret_cast<Graph*>(graph); }
Graph* of(CUgraphExec graph) { return reinterpret_cast<Graph*>(graph); }
Node* of(CUgraphNode node) { return reinterpret_cast<Node*>(node); }

const char* name(const Node& node) {
  return node.work.function ? node.work.function->name.c_str() : "transfer";
}

std::vector<std::string> describe(const Graph& graph) {
  std::vector<std::string> lines;
  for (const auto& node : graph.nodes) {
    std::string line = name(*node);
    const char* before = " < ";
    for (const Node* other : node->after) {
      line += before + std::string(name(*other));
      before = ",";
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace

extern "C" {

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  const Lock lock(mutex());
  of(stream)->capturing = std::make_unique<Graph>();
  of(stream)->capturing->id = ++state().graphs;
  of(stream)->last.clear();
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  const Lock lock(mutex());
  *graph = reinterpret_cast<CUgraph>(of(stream)->capturing.release());
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status,
                                cuuint64_t*, CUgraph*, const CUgraphNode** nodes,
                                const CUgraphEdgeData**, size_t* count) {
  const Lock lock(mutex());
  Stream* const s = of(stream);
  *status =
      s->capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  *nodes = reinterpret_cast<const CUgraphNode*>(s->last.data());
  *count = s->last.size();
  return CUDA_SUCCESS;
}
CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* nodes,
                                           const CUgraphEdgeData*, size_t count,
                                           unsigned flags) {
  const Lock lock(mutex());
  if (flags != CU_STREAM_SET_CAPTURE_DEPENDENCIES) return CUDA_ERROR_NOT_SUPPORTED;
  of(stream)->last.clear();
  for (size_t i = 0; i < count; ++i) of(stream)->last.push_back(of(nodes[i]));
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  *type = of(node)->work.kind == Work::Kind::kKernel ? CU_GRAPH_NODE_TYPE_KERNEL
          : of(node)->work.kind == Work::Kind::kFill ? CU_GRAPH_NODE_TYPE_MEMSET
                                                     : CU_GRAPH_NODE_TYPE_MEMCPY;
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes,
                                    CUgraphEdgeData*, size_t* count) {
  const auto& after = of(node)->after;
  for (size_t i = 0; nodes && i < std::min(*count, after.size()); ++i) {
    nodes[i] = reinterpret_cast<CUgraphNode>(after[i]);
  }
  *count = after.size();
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiate(CUgraphExec* made, CUgraph graph, unsigned long long) {
  const Lock lock(mutex());
  auto* const exec = new Graph;
  exec->id = ++state().graphs;
  std::map<Node*, Node*> clones;
  for (const auto& node : of(graph)->nodes) {
    auto clone = std::make_unique<Node>(*node);
    clone->id = ++state().nodes;
    clone->original = node.get();
    for (Node*& before : clone->after) before = clones.at(before);
    clones[node.get()] = clone.get();
    tell_clone(node.get(), clone.get());
    exec->nodes.push_back(std::move(clone));
  }
  state().last_graph = describe(*exec);
  ++state().instantiated;
  *made = reinterpret_cast<CUgraphExec>(exec);
  return CUDA_SUCCESS;
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS* params) {
  const Lock lock(mutex());
  for (const auto& clone : of(exec)->nodes) {
    if (clone->original != of(node)) continue;
    clone->work = kernel_work(params->func, params->kernelParams);
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  const Lock lock(mutex());
  if (state().lost) return state().lost;
  const uint32_t correlation = next_correlation();
  Stream* const s = of(stream);
  // What is launched is what the graph is now.
  std::vector<std::pair<Work, uint64_t>> nodes;
  for (const auto& node : of(exec)->nodes) nodes.emplace_back(node->work, node->id);
  give_task(s, [=, id = s->id, graph = of(exec)->id] {
    state().log.push_back("graph " + std::to_string(nodes.size()));
    for (const auto& [work, node] : nodes) do_work(work, id, correlation, node, graph);
  });
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) {
  const Lock lock(mutex());
  delete of(graph);
  return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  const Lock lock(mutex());
  delete of(exec);
  return CUDA_SUCCESS;
}

}  // extern "C"

namespace fake {

std::vector<std::string> last_graph() {
  const Lock lock(mutex());
  return state().last_graph;
}
int graphs_instantiated() {
  const Lock lock(mutex());
  return state().instantiated;
}

}  // namespace fake
