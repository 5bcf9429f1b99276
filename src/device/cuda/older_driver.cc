#include "device/cuda/older_driver.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <dlfcn.h>

#include "device/cuda/image_parameters.h"

namespace tandem::cuda {

namespace {

// The first interface versions with an ability.
constexpr int kEarlyCaptured = 12030, kLoops = 12040, kBranches = 12080;

/// Functions of older interfaces, by the names that they have in the library.
struct OlderFunctions {
  CUresult (*capture_info)(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*,
                           const CUgraphNode**, size_t*) = nullptr;
  CUresult (*update_dependencies)(CUstream, CUgraphNode*, size_t, unsigned) = nullptr;
  CUresult (*dependencies)(CUgraphNode, CUgraphNode*, size_t*) = nullptr;
  CUresult (*dependents)(CUgraphNode, CUgraphNode*, size_t*) = nullptr;
  CUresult (*add_dependencies)(CUgraph, const CUgraphNode*, const CUgraphNode*,
                               size_t) = nullptr;
  CUresult (*add_node)(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                       CUgraphNodeParams*) = nullptr;
  decltype(DriverApi::cuModuleLoadData) load_module = nullptr;
  decltype(DriverApi::cuModuleUnload) unload_module = nullptr;
  decltype(DriverApi::cuModuleGetFunction) get_function = nullptr;
};
OlderFunctions g_older;  // written while the driver is loaded

CUresult capture_info(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                      CUgraph* graph, const CUgraphNode** nodes,
                      const CUgraphEdgeData** edges, size_t* count) {
  if (edges) *edges = nullptr;
  return g_older.capture_info(stream, status, id, graph, nodes, count);
}
CUresult update_dependencies(CUstream stream, CUgraphNode* nodes, const CUgraphEdgeData*,
                             size_t count, unsigned flags) {
  return g_older.update_dependencies(stream, nodes, count, flags);
}
void no_data(CUgraphEdgeData* edges, const size_t* count) {
  if (edges) std::fill_n(edges, *count, CUgraphEdgeData{});
}
CUresult dependencies(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* edges,
                      size_t* count) {
  const CUresult result = g_older.dependencies(node, nodes, count);
  if (nodes) no_data(edges, count);
  return result;
}
CUresult dependents(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* edges,
                    size_t* count) {
  const CUresult result = g_older.dependents(node, nodes, count);
  if (nodes) no_data(edges, count);
  return result;
}
CUresult add_dependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                          const CUgraphEdgeData*, size_t count) {
  return g_older.add_dependencies(graph, from, to, count);
}
CUresult add_node(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                  const CUgraphEdgeData*, size_t count, CUgraphNodeParams* params) {
  return g_older.add_node(node, graph, before, count, params);
}
CUresult load_nothing(CUfunction) { return CUDA_SUCCESS; }

/// Sizes of kernels' arguments, of the modules that are loaded.
struct Parameters {
  std::mutex mutex;
  std::map<CUmodule, ImageParameters> modules;
  std::map<CUfunction, std::vector<size_t>> functions;
};
Parameters& parameters() {
  static auto* const all = new Parameters;
  return *all;
}

CUresult load_module(CUmodule* module, const void* image) {
  const CUresult result = g_older.load_module(module, image);
  if (result != CUDA_SUCCESS) return result;
  ImageParameters sizes = parameters_of(image);
  const std::lock_guard lock(parameters().mutex);
  parameters().modules[*module] = std::move(sizes);
  return result;
}
CUresult unload_module(CUmodule module) {
  {
    const std::lock_guard lock(parameters().mutex);
    parameters().modules.erase(module);
  }
  return g_older.unload_module(module);
}
CUresult get_function(CUfunction* function, CUmodule module, const char* name) {
  const CUresult result = g_older.get_function(function, module, name);
  if (result != CUDA_SUCCESS) return result;
  const std::lock_guard lock(parameters().mutex);
  const ImageParameters& kernels = parameters().modules[module];
  parameters().functions.erase(*function);  // of a module that is gone
  if (const auto found = kernels.find(name); found != kernels.end()) {
    parameters().functions[*function] = found->second;
  }
  return result;
}
CUresult parameter_info(CUfunction function, size_t number, size_t* offset,
                        size_t* size) {
  const std::lock_guard lock(parameters().mutex);
  const auto found = parameters().functions.find(function);
  if (found == parameters().functions.end()) return CUDA_ERROR_NOT_SUPPORTED;
  if (number >= found->second.size()) return CUDA_ERROR_INVALID_VALUE;
  if (offset) *offset = 0;  // nobody asks for it
  *size = found->second[number];
  return CUDA_SUCCESS;
}

class Completion {
 public:
  Completion(void* library, std::string& missing)
      : library_(library), missing_(missing) {}
  /// `function` becomes `stand_in`, which calls `older`, where it is not there. Whether
  /// it was.
  template <class F, class Older>
  bool operator()(F& function, F stand_in, Older& older, const char* name) {
    if (function) return true;
    older = reinterpret_cast<Older>(dlsym(library_, name));
    if (!older) missing_ = name;
    function = stand_in;
    return false;
  }

 private:
  void* library_;
  std::string& missing_;
};

/// Arguments' sizes are read from the machine code when it is loaded.
void watch_modules(DriverApi& api) {
  g_older.load_module = std::exchange(api.cuModuleLoadData, load_module);
  g_older.unload_module = std::exchange(api.cuModuleUnload, unload_module);
  g_older.get_function = std::exchange(api.cuModuleGetFunction, get_function);
  api.cuFuncGetParamInfo = parameter_info;
}

}  // namespace

DriverAbilities complete_driver(DriverApi& api, void* library, std::string& missing) {
  missing.clear();
  Completion complete(library, missing);
  DriverAbilities can;
  OlderFunctions& o = g_older;
  const bool edges[] = {
      complete(api.cuStreamGetCaptureInfo, capture_info, o.capture_info,
               "cuStreamGetCaptureInfo_v2"),
      complete(api.cuStreamUpdateCaptureDependencies, update_dependencies,
               o.update_dependencies, "cuStreamUpdateCaptureDependencies"),
      complete(api.cuGraphNodeGetDependencies, dependencies, o.dependencies,
               "cuGraphNodeGetDependencies"),
      complete(api.cuGraphNodeGetDependentNodes, dependents, o.dependents,
               "cuGraphNodeGetDependentNodes"),
      complete(api.cuGraphAddDependencies, add_dependencies, o.add_dependencies,
               "cuGraphAddDependencies"),
      complete(api.cuGraphAddNode, add_node, o.add_node, "cuGraphAddNode"),
  };
  if (!api.cuFuncLoad) api.cuFuncLoad = load_nothing;
  if (!api.cuFuncGetParamInfo) watch_modules(api);
  int version = 0;
  api.cuDriverGetVersion(&version);
  can.early_captured =
      version >= kEarlyCaptured && std::ranges::all_of(edges, [](bool b) { return b; });
  can.conditional_loops = can.early_captured && version >= kLoops &&
                          api.cuGraphConditionalHandleCreate &&
                          api.cuStreamBeginCaptureToGraph;
  can.conditional_branches = can.conditional_loops && version >= kBranches;
  return can;
}

std::string slower_ways(int version) {
  std::string text;
  if (version < kLoops) {
    text += "; the host decides loops (the GPU does from driver 550 on)";
  }
  if (version < kBranches) {
    text += "; the host decides branches (the GPU does from driver 570 on)";
  }
  if (version < kEarlyCaptured) {
    text += "; captured kernels start one after the other (early from driver 545 on)";
  }
  return text;
}

}  // namespace tandem::cuda
