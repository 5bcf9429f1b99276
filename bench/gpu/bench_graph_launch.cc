// What the host takes to launch a CUDA graph, by the form of the graph, apart from
// Tandem: the driver alone, kernels that do nothing. One form after the other in every
// round: its first launch finds the caches full of other forms' graphs, later ones do
// not, and the last follows one that has not ended. Medians over rounds, and ratios to a
// plain chain of as many kernels.
// Arguments: the numbers of kernels (default 100 400 800).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <cuda.h>
#include <dlfcn.h>

namespace {

// clang-format off
#define FUNCTIONS(X)                                                                    \
  X(cuInit) X(cuDeviceGet) X(cuDevicePrimaryCtxRetain) X(cuCtxSetCurrent)               \
  X(cuModuleLoadData) X(cuModuleGetFunction) X(cuFuncSetAttribute) X(cuStreamCreate)    \
  X(cuStreamBeginCapture) X(cuStreamEndCapture) X(cuStreamSynchronize)                  \
  X(cuEventCreate) X(cuEventRecord) X(cuEventSynchronize) X(cuStreamWaitEvent)          \
  X(cuLaunchKernelEx) X(cuGraphInstantiate) X(cuGraphLaunch) X(cuGraphGetNodes)         \
  X(cuGraphExecKernelNodeSetParams) X(cuDeviceGetAttribute) X(cuGetErrorName)           \
  X(cuMemAlloc) X(cuMemsetD8Async) X(cuMemcpyDtoDAsync)
// clang-format on

struct Api {
#define MEMBER(name) decltype(&::name) name = nullptr;
  FUNCTIONS(MEMBER)
#undef MEMBER
};
Api api;

#define NAME(x) #x
#define EXPANDED(x) NAME(x)

void load() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) {
    std::printf("no driver: %s\n", dlerror());
    std::exit(1);
  }
  // cuda.h gives some functions another name, that of their newest version.
#define LOAD(name)                                                                 \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, EXPANDED(name))); \
  if (!api.name) {                                                                 \
    std::printf("the driver has no %s\n", EXPANDED(name));                         \
    std::exit(1);                                                                  \
  }
  FUNCTIONS(LOAD)
#undef LOAD
}

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* name = "?";
  api.cuGetErrorName(result, &name);
  std::printf("%s: %s\n", what, name);
  std::exit(1);
}

struct Form {
  const char* name;
  bool early = false;    // edges of programmatic dependent launches
  int branches = 1;      // side by side
  int functions = 1;     // different ones
  int parameters = 8;    // bytes of a kernel
  unsigned shared = 0;   // bytes of dynamic shared memory
  unsigned cluster = 1;  // blocks of one
  int told = 0;          // kernels that are given parameters before each launch
  bool sleeps = false;   // the host sleeps until the GPU is done
  int pause_us = 0;      // the GPU works for so long in each launch
  int fills = 0;         // every so many nodes, one that fills memory
  int copies = 0;        // every so many nodes, one that copies on the device
};

constexpr int kFunctions = 64;
constexpr size_t kFilled = 4096;  // bytes
constexpr int kSizes[] = {8, 1024, 3968};

/// Kernels that do nothing, with parameters of some sizes, and one that takes time.
std::string module_text(int arch) {
  std::string text =
      ".version 8.0\n.target sm_" + std::to_string(arch) + "\n.address_size 64\n";
  for (const int bytes : kSizes) {
    for (int i = 0; i < kFunctions; ++i) {
      const std::string name = "k" + std::to_string(bytes) + "_" + std::to_string(i);
      text += ".visible .entry " + name + "(.param .align 8 .b8 p[" +
              std::to_string(bytes) + "]) {\n";
      if (arch >= 90) text += "griddepcontrol.wait;\ngriddepcontrol.launch_dependents;\n";
      text += "ret;\n}\n";
    }
  }
  text +=
      ".visible .entry pause(.param .u64 ns) {\n"
      ".reg .u64 %a, %b, %n; .reg .pred %p;\n"
      "ld.param.u64 %n, [ns];\nmov.u64 %a, %globaltimer;\n"
      "again: mov.u64 %b, %globaltimer;\nsub.u64 %b, %b, %a;\n"
      "setp.lt.u64 %p, %b, %n;\n@%p bra again;\nret;\n}\n";
  return text;
}

struct Made {
  Form form;
  int kernels = 0;
  CUgraphExec exec = nullptr;
  std::vector<CUgraphNode> nodes;  // that can be told
  std::vector<CUDA_KERNEL_NODE_PARAMS> params;
  std::vector<double> first, again, behind;  // microseconds, by round
};

class Bench {
 public:
  Bench() {
    load();
    check(api.cuInit(0), "cuInit");
    CUdevice device = 0;
    CUcontext context = nullptr;
    check(api.cuDeviceGet(&device, 0), "cuDeviceGet");
    check(api.cuDevicePrimaryCtxRetain(&context, device), "making a context");
    check(api.cuCtxSetCurrent(context), "entering a context");
    int major = 0, minor = 0;
    api.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                             device);
    api.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                             device);
    arch_ = std::min(10 * major + minor, 90);
    check(api.cuModuleLoadData(&module_, module_text(arch_).c_str()), "loading kernels");
    check(api.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "making a stream");
    check(api.cuMemAlloc(&memory_, 2 * kFilled), "allocating");
    check(api.cuEventCreate(&asleep_, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING),
          "making an event");
  }

  bool can(const Form& f) const { return arch_ >= 90 || (!f.early && f.cluster == 1); }

  Made make(const Form& form, int kernels) {
    Made made{form, kernels, nullptr, {}, {}, {}, {}, {}};
    captured_.clear();
    std::vector<CUstream> lanes(static_cast<size_t>(form.branches), stream_);
    for (size_t i = 1; i < lanes.size(); ++i) {
      check(api.cuStreamCreate(&lanes[i], CU_STREAM_NON_BLOCKING), "making a stream");
    }
    check(api.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), "capturing");
    if (form.pause_us) launch(form, "pause", stream_, form.pause_us * 1000ull, false);
    for (int k = 0; k < kernels;) {
      fork(lanes);
      // Eight kernels of every branch, then they meet.
      for (CUstream lane : lanes) {
        for (int i = 0; i < 8 && k < kernels; ++i, ++k) {
          if (form.fills && k % form.fills == form.fills - 1) {
            check(api.cuMemsetD8Async(memory_, 0, kFilled, lane), "filling");
            continue;
          }
          if (form.copies && k % form.copies == form.copies - 1) {
            check(api.cuMemcpyDtoDAsync(memory_, memory_ + kFilled, kFilled, lane),
                  "copying");
            continue;
          }
          const std::string name = "k" + std::to_string(form.parameters) + "_" +
                                   std::to_string(k % form.functions);
          launch(form, name, lane, 0, form.early && k > 0);
        }
      }
      join(lanes);
    }
    CUgraph graph = nullptr;
    check(api.cuStreamEndCapture(stream_, &graph), "ending a capture");
    check(api.cuGraphInstantiate(&made.exec, graph, 0), "instantiating");
    size_t count = 0;
    check(api.cuGraphGetNodes(graph, nullptr, &count), "counting nodes");
    std::vector<CUgraphNode> nodes(count);
    check(api.cuGraphGetNodes(graph, nodes.data(), &count), "listing nodes");
    for (int i = 0; i < form.told; ++i) {
      const size_t at = count - 1 - static_cast<size_t>(i) * (count / 64 + 1);
      made.nodes.push_back(nodes[at]);
      CUDA_KERNEL_NODE_PARAMS params{};
      params.func = captured_[at];  // nodes are listed as they were made
      params.gridDimX = form.cluster;
      params.gridDimY = params.gridDimZ = 1;
      params.blockDimX = 128;
      params.blockDimY = params.blockDimZ = 1;
      params.sharedMemBytes = form.shared;
      params.kernelParams = arguments_;
      made.params.push_back(params);
    }
    return made;
  }

  void run(Made& made, bool counts) {
    const double first = launch_us(made);
    wait(made);
    launch_us(made);
    wait(made);
    const double again = launch_us(made);
    const double behind = launch_us(made);
    wait(made);
    if (!counts) return;
    made.first.push_back(first);
    made.again.push_back(again);
    made.behind.push_back(behind);
  }

 private:
  double launch_us(Made& made) {
    const auto begin = std::chrono::steady_clock::now();
    for (size_t i = 0; i < made.nodes.size(); ++i) {
      check(api.cuGraphExecKernelNodeSetParams(made.exec, made.nodes[i], &made.params[i]),
            "telling a node");
    }
    check(api.cuGraphLaunch(made.exec, stream_), "launching");
    const std::chrono::duration<double, std::micro> took =
        std::chrono::steady_clock::now() - begin;
    return took.count();
  }
  void wait(const Made& made) {
    if (made.form.sleeps) {
      check(api.cuEventRecord(asleep_, stream_), "recording an event");
      check(api.cuEventSynchronize(asleep_), "waiting");
    } else {
      check(api.cuStreamSynchronize(stream_), "waiting");
    }
  }
  void launch(const Form& form, const std::string& name, CUstream lane,
              unsigned long long value, bool early) {
    CUfunction function = nullptr;
    check(api.cuModuleGetFunction(&function, module_, name.c_str()), name.c_str());
    const bool pause = name == "pause";
    if (form.shared && !pause) {
      check(api.cuFuncSetAttribute(function,
                                   CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                   static_cast<int>(form.shared)),
            "asking for shared memory");
    }
    CUlaunchAttribute attributes[2] = {};
    CUlaunchConfig config{};
    config.gridDimX = pause ? 1 : form.cluster;
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = pause ? 1 : 128;
    config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = pause ? 0 : form.shared;
    config.hStream = lane;
    config.attrs = attributes;
    if (early) {
      attributes[config.numAttrs].id =
          CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
      attributes[config.numAttrs++].value.programmaticStreamSerializationAllowed = 1;
    }
    if (form.cluster > 1 && !pause) {
      attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      attributes[config.numAttrs++].value.clusterDim = {form.cluster, 1, 1};
    }
    bytes_[0] = value;
    check(api.cuLaunchKernelEx(&config, function, arguments_, nullptr), "capturing");
    captured_.push_back(function);
  }
  CUevent event() {
    CUevent made = nullptr;
    check(api.cuEventCreate(&made, CU_EVENT_DISABLE_TIMING), "making an event");
    return made;
  }
  void fork(const std::vector<CUstream>& lanes) {
    if (lanes.size() == 1) return;
    CUevent begin = event();
    check(api.cuEventRecord(begin, stream_), "forking");
    for (size_t i = 1; i < lanes.size(); ++i) {
      check(api.cuStreamWaitEvent(lanes[i], begin, 0), "forking");
    }
  }
  void join(const std::vector<CUstream>& lanes) {
    for (size_t i = 1; i < lanes.size(); ++i) {
      CUevent end = event();
      check(api.cuEventRecord(end, lanes[i]), "joining");
      check(api.cuStreamWaitEvent(stream_, end, 0), "joining");
    }
  }

  int arch_ = 75;
  CUmodule module_ = nullptr;
  CUstream stream_ = nullptr;
  CUdeviceptr memory_ = 0;
  CUevent asleep_ = nullptr;
  std::vector<CUfunction> captured_;  // of the graph that is made
  unsigned long long bytes_[512] = {};
  void* arguments_[1] = {bytes_};
};

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
}

const Form kForms[] = {
    {.name = "a chain"},
    {.name = "early starts", .early = true},
    {.name = "4 branches", .branches = 4},
    {.name = "4 branches, early starts", .early = true, .branches = 4},
    {.name = "64 functions", .functions = 64},
    {.name = "parameters of 1 KB", .parameters = 1024},
    {.name = "parameters of 4 KB", .parameters = 3968},
    {.name = "100 KB of shared memory", .shared = 100 << 10},
    {.name = "clusters of 2", .cluster = 2},
    {.name = "1 kernel told", .told = 1},
    {.name = "8 kernels told", .told = 8},
    {.name = "1 of 64 functions told, early", .early = true, .functions = 64, .told = 1},
    {.name = "after a sleep", .sleeps = true},
    {.name = "after 5 ms of work", .pause_us = 5000},
    {.name = "after 5 ms of work, asleep", .sleeps = true, .pause_us = 5000},
    {.name = "a fill in 16", .fills = 16},
    {.name = "a copy in 16", .copies = 16},
    {.name = "all of it",
     .early = true,
     .branches = 4,
     .functions = 64,
     .parameters = 1024,
     .told = 1,
     .sleeps = true,
     .pause_us = 5000},
};

}  // namespace

int main(int argc, char** argv) {
  constexpr int kRounds = 41, kWarm = 5;
  std::vector<int> sizes;
  for (int i = 1; i < argc; ++i) {
    sizes.push_back(std::atoi(argv[i]));
    if (sizes.back() < 16 || sizes.back() > 100000) {
      std::printf("%s: a number of kernels from 16 to 100000 is wanted\n", argv[i]);
      return 1;
    }
  }
  if (sizes.empty()) sizes = {100, 400, 800};
  Bench bench;
  for (const int kernels : sizes) {
    std::vector<Made> all;
    for (const Form& f : kForms) {
      if (bench.can(f)) all.push_back(bench.make(f, kernels));
    }
    for (int round = -kWarm; round < kRounds; ++round) {
      for (Made& made : all) bench.run(made, round >= 0);
    }
    std::printf("\n%d kernels\n%-32s %8s %8s %8s\n", kernels, "form", "first", "again",
                "behind");
    const auto median = [](const std::vector<double>& us) { return quantile(us, 0.5); };
    for (const Made& made : all) {
      std::printf("%-32s %5.1f us %5.1f us %5.1f us  (%.1fx %.1fx %.1fx of a chain)\n",
                  made.form.name, median(made.first), median(made.again),
                  median(made.behind), median(made.first) / median(all[0].first),
                  median(made.again) / median(all[0].again),
                  median(made.behind) / median(all[0].behind));
    }
  }
  return 0;
}
