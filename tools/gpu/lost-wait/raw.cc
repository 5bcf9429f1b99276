// The driver alone, without Tandem: threads that share three streams copy a small buffer
// to the GPU on one, read it by a kernel on another and fetch the result on a third. The
// way of Tandem's streams (events that are recorded when somebody waits, a query that
// makes a wait unnecessary), or simpler ones. Every value is checked. Nothing is shared
// between threads but the streams: each has buffers of its own, which are idle when they
// are written again, and two values alternate, so that what is stale shows.
//   raw SECONDS [threads=8] [way=query|event|host|same] [graphs=2] [captures=2]
//   [lock=LETTERS]
//       [bytes=1024] [blocks=1] [memory=mapped|plain]
// query: cuStreamQuery right after the copy; when it says done nobody waits. event:
// always an event. host: the host waits for the copy. same: copy and kernel on one
// stream. graphs: threads that launch a captured kernel on the kernels' stream; captures:
// threads that record, instantiate, launch and destroy graphs. lock: which calls are made
// one at a time, of any thread: c copies to the GPU, q queries, r records of events, w
// waits of the kernels' stream, k kernels, b all calls of the way back, g launches of
// graphs.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cuda.h>

namespace {

constexpr const char* kCode = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry copy(.param .u64 to, .param .u64 from, .param .u64 n) {
  .reg .u64 %t, %f, %n, %i, %s, %a;
  .reg .u32 %x, %d, %g, %c, %v;
  .reg .pred %p;
  ld.param.u64 %t, [to];
  ld.param.u64 %f, [from];
  ld.param.u64 %n, [n];
  cvta.to.global.u64 %t, %t;
  cvta.to.global.u64 %f, %f;
  mov.u32 %x, %tid.x;
  mov.u32 %d, %ntid.x;
  mov.u32 %g, %ctaid.x;
  mov.u32 %c, %nctaid.x;
  mad.lo.u32 %x, %g, %d, %x;
  mul.lo.u32 %d, %d, %c;
  mul.wide.u32 %i, %x, 4;
  mul.wide.u32 %s, %d, 4;
again:
  setp.ge.u64 %p, %i, %n;
  @%p bra over;
  add.u64 %a, %f, %i;
  ld.global.u32 %v, [%a];
  add.u64 %a, %t, %i;
  st.global.u32 [%a], %v;
  add.u64 %i, %i, %s;
  bra again;
over:
  ret;
}
)";

void check(CUresult r, int line) {
  if (r == CUDA_SUCCESS) return;
  std::fprintf(stderr, "line %d: CUresult %d\n", line, static_cast<int>(r));
  std::_Exit(2);
}
#define CU(call) check(call, __LINE__)

std::map<std::string, std::string> given;
std::string option(const char* name, const char* otherwise) {
  const auto i = given.find(name);
  return i == given.end() ? otherwise : i->second;
}

CUcontext context;
CUstream copies, kernels, back;
CUfunction function;
std::atomic<bool> over{false};
std::atomic<long> pairs{0}, wrong{0}, known{0};
std::recursive_mutex order;
std::string locked;
/// Held during a call of the kind that the letter names, when lock= has it.
struct Turn {
  explicit Turn(char kind) : held(locked.find(kind) != std::string::npos) {
    if (held) order.lock();
  }
  ~Turn() {
    if (held) order.unlock();
  }
  const bool held;
};

/// memory=mapped: pages that are mapped, as Tandem's allocator takes them.
CUdeviceptr allocate(size_t bytes) {
  CUdeviceptr at = 0;
  if (option("memory", "mapped") == "plain") {
    CU(cuMemAlloc(&at, bytes));
    return at;
  }
  CUmemAllocationProp page{};
  page.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  page.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  constexpr size_t kPage = 2 << 20;
  CUmemGenericAllocationHandle handle = 0;
  CU(cuMemCreate(&handle, kPage, &page, 0));
  CU(cuMemAddressReserve(&at, kPage, 0, 0, 0));
  CU(cuMemMap(at, kPage, 0, handle, 0));
  CUmemAccessDesc access{};
  access.location = page.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CU(cuMemSetAccess(at, kPage, &access, 1));
  return at;
}

void launch(CUstream on, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  uint64_t n = bytes;
  void* arguments[] = {&to, &from, &n};
  CU(cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, on, arguments, nullptr));
}

void pair(int number, const std::string& way, size_t bytes, size_t blocks) {
  CU(cuCtxSetCurrent(context));
  void* memory = nullptr;
  CU(cuMemHostAlloc(&memory, blocks << 20, CU_MEMHOSTALLOC_PORTABLE));
  void* result = nullptr;
  CU(cuMemHostAlloc(&result, bytes, CU_MEMHOSTALLOC_PORTABLE));
  const CUdeviceptr from = allocate(bytes), to = allocate(bytes);
  CUevent copied = nullptr, computed = nullptr, fetched = nullptr;
  for (CUevent* e : {&copied, &computed, &fetched}) {
    CU(cuEventCreate(e, CU_EVENT_DISABLE_TIMING));
  }
  const size_t words = bytes / 4;
  for (uint32_t i = 0; !over; ++i) {
    auto* const block =
        reinterpret_cast<uint32_t*>(static_cast<char*>(memory) + ((i % blocks) << 20));
    const uint32_t value = static_cast<uint32_t>(number) << 24 | (i & 0xffffff);
    for (size_t w = 0; w < words; ++w) block[w] = value;
    if (way == "same") {
      const Turn turn('c');
      CU(cuMemcpyHtoDAsync(from, block, bytes, kernels));
    } else {
      {
        const Turn turn('c');
        CU(cuMemcpyHtoDAsync(from, block, bytes, copies));
      }
      bool done = false;
      if (way == "query") {
        const Turn turn('q');
        const CUresult r = cuStreamQuery(copies);
        if (r != CUDA_ERROR_NOT_READY) CU(r);
        done = r == CUDA_SUCCESS;
        known += done;
      }
      if (!done) {
        {
          const Turn turn('r');
          CU(cuEventRecord(copied, copies));
        }
        const Turn turn('w');
        if (way == "host") {
          CU(cuEventSynchronize(copied));
        } else {
          CU(cuStreamWaitEvent(kernels, copied, 0));
        }
      }
    }
    {
      const Turn turn('k');
      launch(kernels, to, from, bytes);
    }
    {
      const Turn turn('r');
      CU(cuEventRecord(computed, kernels));
    }
    {
      const Turn turn('b');
      CU(cuStreamWaitEvent(back, computed, 0));
      CU(cuMemcpyDtoHAsync(result, to, bytes, back));
      CU(cuEventRecord(fetched, back));
    }
    CU(cuEventSynchronize(fetched));
    ++pairs;
    auto* const got = static_cast<volatile uint32_t*>(result);
    std::vector<uint32_t> seen(words);
    size_t bad = 0, first = 0;
    for (size_t w = words; w-- > 0;) {
      seen[w] = got[w];
      if (seen[w] != value) ++bad, first = w;
    }
    if (!bad) continue;
    // Who was early: the host that looks again later, the copy back, or the kernel.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const uint32_t later = got[first];
    const auto fetch = [&](CUdeviceptr at) {
      CU(cuMemcpyDtoHAsync(result, at, bytes, copies));
      CU(cuStreamSynchronize(copies));
      return static_cast<const uint32_t*>(result)[first];
    };
    const uint32_t computed_value = fetch(to), copied_value = fetch(from);
    std::printf(
        "thread %d turn %u: %zu of %zu words wrong, word %zu is %x, not %x; 20 ms later "
        "%x, "
        "the kernel's result %x, its argument %x: %s\n",
        number, i, bad, words, first, seen[first], value, later, computed_value,
        copied_value,
        later == value            ? "the host looked too early"
        : computed_value == value ? "the copy back read too early"
        : copied_value == value   ? "the kernel read too early"
                                  : "copied wrongly");
    std::fflush(stdout);
    ++wrong;
  }
}

void launch_graphs(bool fresh, size_t bytes) {
  CU(cuCtxSetCurrent(context));
  const CUdeviceptr a = allocate(bytes), b = allocate(bytes);
  CUevent event = nullptr;
  CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CUgraphExec exec = nullptr;
  while (!over) {
    if (!exec) {
      CUstream recording = nullptr;
      CU(cuStreamCreate(&recording, CU_STREAM_NON_BLOCKING));
      CU(cuStreamBeginCapture(recording, CU_STREAM_CAPTURE_MODE_RELAXED));
      for (int k = 0; k < 3; ++k) launch(recording, k % 2 ? a : b, k % 2 ? b : a, bytes);
      CUgraph graph = nullptr;
      CU(cuStreamEndCapture(recording, &graph));
      CU(cuGraphInstantiate(&exec, graph, 0));
      CU(cuGraphDestroy(graph));
      CU(cuStreamDestroy(recording));
    }
    {
      {
        const Turn turn('g');
        CU(cuGraphLaunch(exec, kernels));
      }
      {
        const Turn turn('q');
        cuStreamQuery(kernels);
      }
      const Turn turn('r');
      CU(cuEventRecord(event, kernels));
    }
    CU(cuEventSynchronize(event));
    if (fresh) CU(cuGraphExecDestroy(std::exchange(exec, nullptr)));
  }
}

}  // namespace

int main(int count, char** words) {
  const double seconds = count > 1 ? std::atof(words[1]) : 5;
  for (int i = 2; i < count; ++i) {
    const std::string word = words[i];
    const size_t at = word.find('=');
    if (at == std::string::npos) return 1;
    given[word.substr(0, at)] = word.substr(at + 1);
  }
  const std::string way = option("way", "query");
  const size_t bytes = std::stoul(option("bytes", "1024"));
  const size_t blocks = std::stoul(option("blocks", "1"));
  locked = option("lock", "");
  if (locked == "all") locked = "cqrwkbg";
  CU(cuInit(0));
  CUdevice device = 0;
  CU(cuDeviceGet(&device, 0));
  CU(cuDevicePrimaryCtxRetain(&context, device));
  CU(cuCtxSetCurrent(context));
  for (CUstream* s : {&copies, &kernels, &back}) {
    CU(cuStreamCreate(s, CU_STREAM_NON_BLOCKING));
  }
  CUmodule module = nullptr;
  CU(cuModuleLoadData(&module, kCode));
  CU(cuModuleGetFunction(&function, module, "copy"));
  std::vector<std::thread> threads;
  for (int t = 0; t < std::stoi(option("threads", "8")); ++t) {
    threads.emplace_back([=] { pair(t + 1, way, bytes, blocks); });
  }
  for (int t = 0; t < std::stoi(option("graphs", "2")); ++t) {
    threads.emplace_back([=] { launch_graphs(false, bytes); });
  }
  for (int t = 0; t < std::stoi(option("captures", "2")); ++t) {
    threads.emplace_back([=] { launch_graphs(true, bytes); });
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  over = true;
  for (std::thread& t : threads) t.join();
  std::printf("%s: %ld pairs, %ld not waited for, %ld wrong\n", way.c_str(), pairs.load(),
              known.load(), wrong.load());
  return wrong ? 1 : 0;
}
