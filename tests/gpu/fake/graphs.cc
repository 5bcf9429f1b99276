// Captures and graphs of the pretended GPU. An executable graph is a copy of the captured
// one, whose nodes have numbers of their own, as the real driver's have.
#include <algorithm>
#include <map>
#include <utility>

#include "gpu/fake/state.h"

using namespace fake;

namespace {

const char* name(const Node& node) {
  if (!node.bodies.empty()) {
    return node.type == CU_GRAPH_COND_TYPE_WHILE ? "while" : "switch";
  }
  return node.work.function ? node.work.function->name.c_str() : "transfer";
}

std::vector<std::string> describe(const Graph& graph, const std::string& indent = "") {
  std::vector<std::string> lines;
  for (const auto& node : graph.nodes) {
    std::string line = indent + name(*node);
    const char* before = " < ";
    for (const Node* other : node->after) {
      line += before + std::string(name(*other));
      before = ",";
    }
    lines.push_back(line);
    for (const auto& body : node->bodies) {
      for (std::string& inner : describe(*body, indent + "  ")) {
        lines.push_back(std::move(inner));
      }
    }
  }
  return lines;
}

// An order that nodes may run in: they are where they were added, others may have come
// between them since.
std::vector<Node*> in_order(const Graph& graph) {
  std::vector<Node*> order, waiting;
  for (const auto& node : graph.nodes) waiting.push_back(node.get());
  const auto ready = [&](const Node* node) {
    return std::all_of(node->after.begin(), node->after.end(), [&](const Node* before) {
      return std::find(order.begin(), order.end(), before) != order.end();
    });
  };
  while (!waiting.empty()) {
    const auto next = std::find_if(waiting.begin(), waiting.end(), ready);
    if (next == waiting.end()) return {};  // a circle
    order.push_back(*next);
    waiting.erase(next);
  }
  return order;
}

// An executable copy, bodies included.
std::shared_ptr<Graph> instantiate(const Graph& graph) {
  auto exec = std::make_shared<Graph>();
  exec->id = ++state().graphs;
  std::map<Node*, Node*> clones;
  for (Node* node : in_order(graph)) {
    auto clone = std::make_unique<Node>(*node);
    clone->id = ++state().nodes;
    clone->original = node;
    for (Node*& before : clone->after) before = clones.at(before);
    for (auto& body : clone->bodies) body = instantiate(*body);
    clones[node] = clone.get();
    tell_clone(node, clone.get());
    exec->nodes.push_back(std::move(clone));
  }
  return exec;
}

/// Nodes that come after one.
std::vector<Node*> followers(const Node* node) {
  std::vector<Node*> found;
  for (const auto& other : node->graph->nodes) {
    if (std::find(other->after.begin(), other->after.end(), node) != other->after.end()) {
      found.push_back(other.get());
    }
  }
  return found;
}

CUresult tell(const std::vector<Node*>& nodes, CUgraphNode* to, size_t* count) {
  for (size_t i = 0; to && i < std::min(*count, nodes.size()); ++i) {
    to[i] = reinterpret_cast<CUgraphNode>(nodes[i]);
  }
  *count = nodes.size();
  return CUDA_SUCCESS;
}

bool has_conditions(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const auto& node) { return !node->bodies.empty(); });
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
  Stream* const s = of(stream);
  *graph = reinterpret_cast<CUgraph>(s->body ? std::exchange(s->body, nullptr)
                                             : s->capturing.release());
  return CUDA_SUCCESS;
}
CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode*,
                                     const CUgraphEdgeData*, size_t count,
                                     CUstreamCaptureMode) {
  const Lock lock(mutex());
  if (count || of(stream)->graph()) return CUDA_ERROR_NOT_SUPPORTED;
  of(stream)->body = of(graph);
  of(stream)->last.clear();
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status,
                                cuuint64_t*, CUgraph* graph, const CUgraphNode** nodes,
                                const CUgraphEdgeData**, size_t* count) {
  const Lock lock(mutex());
  Stream* const s = of(stream);
  *status = s->graph() ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  if (graph) *graph = reinterpret_cast<CUgraph>(s->graph());
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
  *type = !of(node)->bodies.empty()                    ? CU_GRAPH_NODE_TYPE_CONDITIONAL
          : of(node)->work.kind == Work::Kind::kKernel ? CU_GRAPH_NODE_TYPE_KERNEL
          : of(node)->work.kind == Work::Kind::kFill   ? CU_GRAPH_NODE_TYPE_MEMSET
                                                       : CU_GRAPH_NODE_TYPE_MEMCPY;
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes,
                                    CUgraphEdgeData*, size_t* count) {
  const Lock lock(mutex());
  return tell(of(node)->after, nodes, count);
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* nodes,
                                      CUgraphEdgeData*, size_t* count) {
  const Lock lock(mutex());
  return tell(followers(of(node)), nodes, count);
}
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  const Lock lock(mutex());
  std::vector<Node*> all;
  for (const auto& node : of(graph)->nodes) all.push_back(node.get());
  return tell(all, nodes, count);
}
CUresult cuGraphAddDependencies(CUgraph, const CUgraphNode* from, const CUgraphNode* to,
                                const CUgraphEdgeData*, size_t count) {
  const Lock lock(mutex());
  for (size_t i = 0; i < count; ++i) of(to[i])->after.push_back(of(from[i]));
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroyNode(CUgraphNode node) {
  const Lock lock(mutex());
  for (Node* after : followers(of(node))) std::erase(after->after, of(node));
  std::erase_if(of(node)->graph->nodes,
                [&](const auto& other) { return other.get() == of(node); });
  return CUDA_SUCCESS;
}
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* params) {
  const Work& work = of(node)->work;
  *params = {};
  params->dst = reinterpret_cast<CUdeviceptr>(work.to);
  params->elementSize = 1;
  params->value = static_cast<unsigned>(work.value);
  params->width = work.bytes;
  params->height = 1;
  return CUDA_SUCCESS;
}
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* params) {
  const Work& work = of(node)->work;
  *params = {};
  params->srcMemoryType =
      work.kind == Work::Kind::kToGpu ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  params->dstMemoryType =
      work.kind == Work::Kind::kFromGpu ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  params->srcDevice = reinterpret_cast<CUdeviceptr>(work.from);
  params->dstDevice = reinterpret_cast<CUdeviceptr>(work.to);
  params->WidthInBytes = work.bytes;
  params->Height = params->Depth = 1;
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiate(CUgraphExec* made, CUgraph graph, unsigned long long) {
  const Lock lock(mutex());
  // The driver's rule: one at a time where there are conditional nodes.
  const bool conditions = has_conditions(*of(graph));
  if (conditions && state().conditional_graphs) return state().conditional_graphs;
  if (conditions && of(graph)->instances) return CUDA_ERROR_NOT_SUPPORTED;
  auto* const exec = new Graph(std::move(*instantiate(*of(graph))));
  exec->source = of(graph);
  ++of(graph)->instances;
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
  const Launching launching(of(stream));
  const Lock lock(mutex());
  if (state().lost) return state().lost;
  if (state().graph_launches) return state().graph_launches;
  const uint32_t correlation = next_correlation();
  Stream* const s = of(stream);
  // What is launched is what the graph is now.
  const auto now = std::make_shared<Graph>();
  now->id = of(exec)->id;
  for (const auto& node : of(exec)->nodes) {
    now->nodes.push_back(std::make_unique<Node>(*node));
  }
  give_task(s, {[now, correlation, id = s->id] {
              state().log.push_back("graph " + std::to_string(now->nodes.size()));
              run_graph(*now, id, correlation);
            }});
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) {
  const Lock lock(mutex());
  delete of(graph);
  return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  const Lock lock(mutex());
  if (of(exec)->source) --of(exec)->source->instances;
  delete of(exec);
  return CUDA_SUCCESS;
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle, CUgraph graph,
                                        CUcontext, unsigned value, unsigned) {
  const Lock lock(mutex());
  if (!graph) return CUDA_ERROR_INVALID_VALUE;
  state().conditions.push_back(value);
  *handle = state().conditions.size();
  return CUDA_SUCCESS;
}
CUresult cuGraphAddNode(CUgraphNode* made, CUgraph graph, const CUgraphNode* before,
                        const CUgraphEdgeData*, size_t count, CUgraphNodeParams* params) {
  const Lock lock(mutex());
  const bool kernel = params->type == CU_GRAPH_NODE_TYPE_KERNEL;
  if (!kernel && params->type != CU_GRAPH_NODE_TYPE_CONDITIONAL) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (!kernel &&
      version() <
          (params->conditional.type == CU_GRAPH_COND_TYPE_WHILE ? 12040 : 12080)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  auto node = std::make_unique<Node>();
  node->id = ++state().nodes;
  node->graph = of(graph);
  for (size_t i = 0; i < count; ++i) node->after.push_back(of(before[i]));
  *made = reinterpret_cast<CUgraphNode>(node.get());
  if (kernel) {
    node->work = kernel_work(params->kernel.func, params->kernel.kernelParams);
    of(graph)->nodes.push_back(std::move(node));
    return CUDA_SUCCESS;
  }
  node->type = params->conditional.type;
  node->condition = params->conditional.handle;
  for (unsigned b = 0; b < params->conditional.size; ++b) {
    node->bodies.push_back(std::make_shared<Graph>());
    node->handles.push_back(reinterpret_cast<CUgraph>(node->bodies.back().get()));
  }
  params->conditional.phGraph_out = node->handles.data();
  of(graph)->nodes.push_back(std::move(node));
  return CUDA_SUCCESS;
}

}  // extern "C"

namespace fake {

void set_condition(const Work& work) {
  const auto& w = work.words;
  unsigned& condition = state().conditions.at(w[0] - 1);
  if (work.function->name == "tandem_choose") {
    const auto* const at = reinterpret_cast<const void*>(w[1]);
    int64_t value = 0;
    if (w[2] == 1) {
      value = *static_cast<const bool*>(at) ? 0 : 1;
    } else if (w[2] == 4) {
      value = *static_cast<const int32_t*>(at);
    } else {
      value = *static_cast<const int64_t*>(at);
    }
    const auto last = static_cast<int64_t>(w[3]) - 1;
    condition = static_cast<unsigned>(value < 0 || value > last ? last : value);
    return;
  }
  auto* const turns = reinterpret_cast<int64_t*>(w[2]);
  const auto most = static_cast<int64_t>(w[3]);
  bool go_on = false;
  if (!state().answers.empty()) {
    go_on = state().answers.front();
    state().answers.pop_front();
  } else {
    go_on = state().background;
  }
  if (w[5]) *turns = 0;
  condition = go_on && *reinterpret_cast<const int32_t*>(w[4]) == 0 &&
              (most < 0 || *turns < most);
  ++*turns;
}

void run_graph(const Graph& graph, uint32_t stream, uint32_t correlation) {
  for (const auto& node : graph.nodes) {
    if (node->bodies.empty()) {
      do_work(node->work, stream, correlation, node->id, graph.id);
      continue;
    }
    const auto condition = [&] { return state().conditions.at(node->condition - 1); };
    if (node->type == CU_GRAPH_COND_TYPE_WHILE) {
      while (condition()) {
        run_graph(*node->bodies[0], stream, correlation);
        if (!state().background) continue;
        run_ready();
        let_others();
      }
    } else if (condition() < node->bodies.size()) {
      run_graph(*node->bodies[condition()], stream, correlation);
    }
  }
}

void answer(const std::vector<bool>& go_on) {
  const Lock lock(mutex());
  state().answers.assign(go_on.begin(), go_on.end());
}

std::vector<std::string> last_graph() {
  const Lock lock(mutex());
  return state().last_graph;
}
int early_launches() {
  const Lock lock(mutex());
  return state().early;
}
int graphs_instantiated() {
  const Lock lock(mutex());
  return state().instantiated;
}

}  // namespace fake
