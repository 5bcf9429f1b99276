// tandem_prebuild PLUGIN CACHE FILE [ARCHITECTURE...]: compiles the kernels of usual
// calls for the architectures of kernels/cuda/prebuilt.h, or for those that are named
// (80: compute capability 8.0), and writes them into FILE, which lies beside the
// plugin. What CACHE has already is not compiled again.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <set>
#include <string>

#include <dlfcn.h>
#include <fmt/format.h>

#include "calls.h"
#include "kernels/cuda/prebuild.h"
#include "kernels/cuda/prebuilt.h"
#include "op/host_function.h"
#include "op/kernel.h"
#include "plan/assignment.h"
#include "tandem/error.h"
#include "tandem/precision.h"

namespace tandem::prebuild {

namespace {

/// Kernels of NVIDIA's libraries have no text.
bool is_library(const Kernel& kernel) {
  for (const char* library : {"cublas", "cudnn", "cufft", "cusolver"}) {
    if (kernel.id.find(library) != std::string::npos) return true;
  }
  return false;
}

void prepare_all(const Graph& graph, Device& device) {
  NodeSignature s;
  for (const Node& n : graph.nodes()) {
    for (const GraphPtr& sub : n.subgraphs) prepare_all(*sub, device);
    if (n.kind != Node::Kind::kOp || host_function(*n.op)) continue;
    node_signature(graph, n, &device, s);
    s.signature.threads = 1;
    if (n.op->view && n.op->view(s.signature)) continue;
    const Kernel* kernel = KernelRegistry::get().choose(s.signature, device.platform());
    if (kernel && !is_library(*kernel)) kernel->prepare(s.signature);
  }
}

std::set<int> usual_architectures() {
  std::set<int> all;
  for (const cuda::CompileTarget target : cuda::kPrebuiltTargets) {
    if (!target.ptx) all.insert(target.arch);
  }
  return all;
}

int run(const char* plugin, const char* cache, const char* file,
        const std::set<int>& wanted) {
  void* const library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
  if (!library) throw NotFoundError(dlerror());
  const auto entry =
      reinterpret_cast<cuda::PrebuilderEntry>(dlsym(library, "tandem_prebuilder"));
  if (!entry) throw NotFoundError(std::string(plugin) + " exports no tandem_prebuilder");
  cuda::Prebuilder& prebuilder = *entry();
  const std::vector<Graph> ops = op_graphs(), steps = step_graphs();
  for (const int arch : wanted.empty() ? usual_architectures() : wanted) {
    Device& device = prebuilder.device(arch);
    config::enable_tensor_float_32_execution(true);
    for (const Graph& g : ops) prepare_all(g, device);
    for (const bool rounded : {true, false}) {
      config::enable_tensor_float_32_execution(rounded);
      for (const Graph& g : steps) prepare_all(g, device);
    }
  }
  const cuda::Prebuilder::Built built = prebuilder.build(cache, file);
  if (!built.problem.empty()) {
    fmt::print("no kernels are prebuilt: {}\n", built.problem);
  } else {
    fmt::print("{} prebuilt kernels, {} of them compiled now\n", built.programs,
               built.compiled);
  }
  return 0;
}

}  // namespace

}  // namespace tandem::prebuild

int main(int count, char** arguments) {
  if (count < 4) {
    std::fputs("usage: tandem_prebuild PLUGIN CACHE FILE [ARCHITECTURE...]\n", stderr);
    return 2;
  }
  setenv("CUDA_VISIBLE_DEVICES", "", 1);  // a GPU that is here is not needed
  try {
    std::set<int> wanted;
    for (int i = 4; i < count; ++i) wanted.insert(std::stoi(arguments[i]));
    return tandem::prebuild::run(arguments[1], arguments[2], arguments[3], wanted);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tandem_prebuild: {}\n", error.what());
    return 1;
  }
}
