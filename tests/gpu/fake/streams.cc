// Streams, events, modules and launches of the pretended GPU.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "device/operand_address.h"
#include "gpu/fake/state.h"

namespace fake {

std::recursive_mutex& mutex() {
  static auto* const one = new std::recursive_mutex;
  return *one;
}
State& state() {
  static auto* const one = new State;
  return *one;
}
int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int version() {
  int played = 0;
  cuDriverGetVersion(&played);
  return played;
}

void run(Stream* stream, const std::function<bool()>& done) {
  while (!stream->queue.empty() && !stream->busy && !(done && done())) {
    const Task& next = stream->queue.front();
    if (state().background && next.ready && !next.ready()) return;
    const Task task = std::move(stream->queue.front());
    stream->queue.pop_front();
    stream->busy = true;
    task.run();
    stream->busy = false;
  }
}

void run_ready() {
  for (size_t i = 0; i < state().all_streams.size(); ++i) run(state().all_streams[i]);
}

void let_others() {
  mutex().unlock();
  std::this_thread::sleep_for(std::chrono::microseconds(50));
  mutex().lock();
}

Background::Background() {
  const Lock lock(mutex());
  state().at_once = false;
  state().background = true;
  state().worker = std::thread([] {
    const Lock held(mutex());
    while (state().background) {
      run_ready();
      let_others();
    }
  });
}
Background::~Background() {
  std::thread worker;
  {
    const Lock lock(mutex());
    state().background = false;
    worker = std::move(state().worker);
  }
  worker.join();
  const Lock lock(mutex());
  state().at_once = true;
}

void give_task(Stream* stream, Task task) {
  stream->queue.push_back(std::move(task));
  if (state().at_once) run(stream);
}

CUresult give(Stream* stream, const Work& work) {
  if (state().lost) return state().lost;
  if (work.kind == Work::Kind::kKernel && state().next_launch) {
    return std::exchange(state().next_launch, CUDA_SUCCESS);
  }
  if (work.kind != Work::Kind::kKernel && state().refused_copy &&
      state().copies_before-- == 0) {
    return std::exchange(state().refused_copy, CUDA_SUCCESS);
  }
  if (work.function && work.function->name == state().failing) {
    return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  }
  const auto reached = [&](const void* at) {
    return is_gpu_memory(at) || (stream->graph() && tandem::operand_address::is(at));
  };
  if (work.function && work.function->name == "copy" &&
      !(reached(work.to) && reached(work.from))) {
    return CUDA_ERROR_ILLEGAL_ADDRESS;  // a real one would say so when it runs
  }
  if (stream->graph()) {
    auto node = std::make_unique<Node>();
    node->id = ++state().nodes;
    node->graph = stream->graph();
    node->work = work;
    node->after = stream->last;
    stream->last = {node.get()};
    stream->graph()->nodes.push_back(std::move(node));
    return CUDA_SUCCESS;
  }
  const uint32_t correlation = next_correlation();
  give_task(stream, {[=] { do_work(work, stream->id, correlation, 0, 0); }});
  return CUDA_SUCCESS;
}

void do_work(const Work& work, uint32_t stream, uint32_t correlation, uint64_t node,
             uint32_t graph) {
  const int64_t begin = now_ns();
  std::string text;
  const std::string size = " " + std::to_string(work.bytes);
  switch (work.kind) {
    case Work::Kind::kKernel:
      text = "kernel " + work.function->name;
      state().last_words[work.function->name] = work.given;
      if (work.function->name == "copy") std::memcpy(work.to, work.from, work.bytes);
      if (work.function->name == "fill") std::memset(work.to, work.value, work.bytes);
      if (work.function->name.starts_with("tandem_")) set_condition(work);
      break;
    case Work::Kind::kFill:
      text = "fill" + size;
      std::memset(work.to, work.value, work.bytes);
      break;
    default:
      text = (work.kind == Work::Kind::kToGpu     ? "copy to the GPU"
              : work.kind == Work::Kind::kFromGpu ? "copy from the GPU"
                                                  : "copy on the GPU") +
             size;
      std::memcpy(work.to, work.from, work.bytes);
  }
  state().log.push_back(text);
  tell_work(work, begin, std::max(now_ns(), begin + 1), stream, correlation, node, graph);
}

Work kernel_work(CUfunction function, void** arguments) {
  Work work;
  work.function = reinterpret_cast<Function*>(function);
  work.given = words_of(*work.function, arguments);
  if (work.function->name == "copy") {
    work.to = *static_cast<void**>(arguments[0]);
    work.from = *static_cast<const void**>(arguments[1]);
    work.bytes = *static_cast<uint64_t*>(arguments[2]);
  } else if (work.function->name == "fill") {
    work.to = *static_cast<void**>(arguments[0]);
    work.value = static_cast<int>(*static_cast<uint32_t*>(arguments[2]) & 0xff);
    work.bytes = *static_cast<uint64_t*>(arguments[3]);
  } else if (work.function->name == "tandem_repeat") {
    for (int i = 0; i < 5; ++i)
      work.words.push_back(*static_cast<uint64_t*>(arguments[i]));
    work.words.push_back(*static_cast<unsigned*>(arguments[5]));
  } else if (work.function->name == "tandem_choose") {
    for (int i = 0; i < 2; ++i)
      work.words.push_back(*static_cast<uint64_t*>(arguments[i]));
    for (int i = 2; i < 4; ++i)
      work.words.push_back(*static_cast<unsigned*>(arguments[i]));
  }
  return work;
}

std::vector<std::string> take_log() {
  const Lock lock(mutex());
  return std::exchange(state().log, {});
}
void run_at_once(bool yes) {
  const Lock lock(mutex());
  state().at_once = yes;
}
void fail_next_launch(int result) {
  const Lock lock(mutex());
  state().next_launch = static_cast<CUresult>(result);
}
void fail_launches_of(const std::string& kernel) {
  const Lock lock(mutex());
  state().failing = kernel;
}
void refuse_copy(int result, int before) {
  const Lock lock(mutex());
  state().refused_copy = static_cast<CUresult>(result);
  state().copies_before = before;
}
void refuse_graph_launches(int result) {
  const Lock lock(mutex());
  state().graph_launches = static_cast<CUresult>(result);
}
void refuse_conditional_graphs(int result) {
  const Lock lock(mutex());
  state().conditional_graphs = static_cast<CUresult>(result);
}
void take_time_to_launch_graphs(int microseconds) {
  state().graph_launch_us = microseconds;
}
int lost_waits() { return state().lost_waits; }

Launching::Launching(Stream* stream) : stream_(stream) {
  ++stream_->launching;
  const std::chrono::microseconds time(state().graph_launch_us);
  if (time.count()) std::this_thread::sleep_for(time);
}
Launching::~Launching() { --stream_->launching; }

void lose_the_gpu(int result) {
  const Lock lock(mutex());
  state().lost = static_cast<CUresult>(result);
}

}  // namespace fake

using namespace fake;

namespace {

void* host(CUdeviceptr at) { return reinterpret_cast<void*>(at); }

CUresult reach(Event* e) {
  if (state().lost) return state().lost;
  while (state().background && e->reached < e->wanted) let_others();
  if (e->stream) run(e->stream, [e] { return e->reached >= e->wanted; });
  return CUDA_SUCCESS;
}

CUresult copy(Work::Kind kind, void* to, const void* from, size_t bytes, CUstream on) {
  const Lock lock(mutex());
  return give(of(on), {kind, nullptr, to, from, bytes, 0, {}});
}

}  // namespace

extern "C" {

// NVRTC asks a driver that is there for tables of its own; this one is empty.
CUresult cuGetExportTable(const void** table, const CUuuid*) {
  static const size_t empty[] = {sizeof(size_t)};
  *table = empty;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  *context = reinterpret_cast<CUcontext>(static_cast<intptr_t>(device) + 1);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  const Lock lock(mutex());
  auto* made = new Stream;
  made->id = ++state().streams;
  state().all_streams.push_back(made);
  *stream = reinterpret_cast<CUstream>(made);
  return CUDA_SUCCESS;
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int) {
  return cuStreamCreate(stream, flags);
}
CUresult cuStreamDestroy(CUstream stream) {
  const Lock lock(mutex());
  while (of(stream)->busy) let_others();
  run(of(stream));
  std::erase(state().all_streams, of(stream));
  delete of(stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream stream) {
  const Lock lock(mutex());
  if (state().lost) return state().lost;
  return of(stream)->queue.empty() && !of(stream)->busy ? CUDA_SUCCESS
                                                        : CUDA_ERROR_NOT_READY;
}
CUresult cuStreamSynchronize(CUstream stream) {
  const Lock lock(mutex());
  if (state().lost) return state().lost;
  const Stream* const s = of(stream);
  while (state().background && (s->busy || !s->queue.empty())) let_others();
  run(of(stream));
  return CUDA_SUCCESS;
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  const bool lost = of(stream)->launching > 0;
  const Lock lock(mutex());
  if (lost) {
    ++state().lost_waits;
    return CUDA_SUCCESS;
  }
  Event* const e = of(event);
  Stream* const from = e->stream;
  const uint64_t wanted = e->wanted;
  if (!from || from == of(stream)) return CUDA_SUCCESS;
  const auto reached = [=] { return e->reached >= wanted; };
  give_task(of(stream), {[=] { run(from, reached); }, reached});
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* event, unsigned) {
  *event = reinterpret_cast<CUevent>(new Event);
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
  delete of(event);
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  const Lock lock(mutex());
  if (state().lost) return state().lost;
  Event* const e = of(event);
  e->stream = of(stream);
  const uint64_t number = ++e->wanted;
  give_task(e->stream, {[e, number] { e->reached = std::max(e->reached, number); }});
  return CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent event) {
  const Lock lock(mutex());
  if (state().lost) return state().lost;
  return of(event)->reached >= of(event)->wanted ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult cuEventSynchronize(CUevent event) {
  const Lock lock(mutex());
  return reach(of(event));
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  *module = reinterpret_cast<CUmodule>(new Sizes(tandem::cuda::parameters_of(image)));
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
  delete reinterpret_cast<Sizes*>(module);
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  *function = reinterpret_cast<CUfunction>(
      new Function{name, (*reinterpret_cast<Sizes*>(module))[name]});
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
  return CUDA_SUCCESS;
}
CUresult cuFuncLoad(CUfunction) { return CUDA_SUCCESS; }
CUresult cuLaunchKernel(CUfunction function, unsigned, unsigned, unsigned, unsigned,
                        unsigned, unsigned, unsigned, CUstream stream, void** arguments,
                        void**) {
  const Lock lock(mutex());
  return give(of(stream), kernel_work(function, arguments));
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function,
                          void** arguments, void**) {
  const Lock lock(mutex());
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    state().early +=
        config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
        config->attrs[i].value.programmaticStreamSerializationAllowed != 0;
  }
  if (config->numAttrs && of(config->hStream)->graph() && version() < 12030) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return give(of(config->hStream), kernel_work(function, arguments));
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream on) {
  return copy(Work::Kind::kToGpu, host(to), from, bytes, on);
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream on) {
  return copy(Work::Kind::kFromGpu, to, host(from), bytes, on);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream on) {
  return copy(Work::Kind::kOnGpu, host(to), host(from), bytes, on);
}
CUresult cuMemsetD8Async(CUdeviceptr at, unsigned char value, size_t bytes, CUstream on) {
  const Lock lock(mutex());
  return give(of(on),
              {Work::Kind::kFill, nullptr, host(at), nullptr, bytes, value, {}, {}});
}
CUresult cuMemsetD8(CUdeviceptr at, unsigned char value, size_t bytes) {
  std::memset(host(at), value, bytes);
  return CUDA_SUCCESS;
}

}  // extern "C"
