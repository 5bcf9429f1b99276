// What the parts of the pretended GPU share. Everything is guarded by mutex().
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <cuda.h>

#include "device/cuda/image_parameters.h"
#include "gpu/fake/fake_gpu.h"

namespace fake {

std::recursive_mutex& mutex();
using Lock = std::lock_guard<std::recursive_mutex>;

/// Of each kernel's arguments, in bytes.
using Sizes = tandem::cuda::ImageParameters;

struct Function {
  std::string name;
  std::vector<size_t> sizes;
};
/// What a kernel is given, argument by argument, in words of eight bytes.
std::vector<uint64_t> words_of(const Function& function, void** arguments);

/// A piece of work as the GPU sees it.
struct Work {
  enum class Kind { kKernel, kToGpu, kFromGpu, kOnGpu, kFill } kind = Kind::kKernel;
  Function* function = nullptr;
  void* to = nullptr;
  const void* from = nullptr;
  size_t bytes = 0;
  int value = 0;
  std::vector<uint64_t> words = {};  // arguments of kernels that set conditions
  std::vector<uint64_t> given = {};  // arguments of all kernels
};
struct Graph;

struct Node {
  uint64_t id = 0;
  Graph* graph = nullptr;  // of a captured one
  Work work = {};
  std::vector<Node*> after = {};
  Node* original = nullptr;  // in an executable graph: the captured one
  /// Conditional nodes.
  std::vector<std::shared_ptr<Graph>> bodies = {};
  std::vector<CUgraph> handles = {};  // of the bodies
  CUgraphConditionalNodeType type = CU_GRAPH_COND_TYPE_IF;
  CUgraphConditionalHandle condition = 0;
};
struct Graph {
  uint32_t id = 0;
  std::vector<std::unique_ptr<Node>> nodes;  // in an order that they may run in
  Graph* source = nullptr;                   // of an executable one
  int instances = 0;
};

struct Task {
  std::function<void()> run;
  std::function<bool()> ready = {};  // the background thread waits for that; may be empty
};
struct Stream {
  uint32_t id = 0;
  bool busy = false;               // a task of its queue is being done
  std::atomic<int> launching = 0;  // graphs that are being launched
  std::deque<Task> queue;
  std::unique_ptr<Graph> capturing;
  Graph* body = nullptr;    // of a conditional node, when that is captured
  std::vector<Node*> last;  // of the capture
  Graph* graph() const { return body ? body : capturing.get(); }
};
struct Event {
  Stream* stream = nullptr;
  uint64_t wanted = 0, reached = 0;
};

inline Stream* of(CUstream stream) { return reinterpret_cast<Stream*>(stream); }
inline Event* of(CUevent event) { return reinterpret_cast<Event*>(event); }
inline Graph* of(CUgraph graph) { return reinterpret_cast<Graph*>(graph); }
inline Graph* of(CUgraphExec graph) { return reinterpret_cast<Graph*>(graph); }
inline Node* of(CUgraphNode node) { return reinterpret_cast<Node*>(node); }

struct State {
  std::vector<std::string> log;
  bool at_once = true, background = false;
  std::vector<Stream*> all_streams;
  std::thread worker;
  CUresult next_launch = CUDA_SUCCESS, lost = CUDA_SUCCESS;
  CUresult refused_copy = CUDA_SUCCESS, graph_launches = CUDA_SUCCESS,
           conditional_graphs = CUDA_SUCCESS;
  int copies_before = 0;  // that the driver takes before it refuses one
  size_t memory = size_t{24} << 30, in_use = 0;
  uint32_t streams = 0, graphs = 0;
  uint64_t nodes = 0;
  int instantiated = 0;
  int early = 0;  // launches
  std::vector<std::string> last_graph;
  std::string failing;               // the name of a kernel
  std::vector<unsigned> conditions;  // by handle, from 1
  std::deque<bool> answers;
  std::map<std::string, std::vector<uint64_t>> last_words;  // by kernel
  std::atomic<int> graph_launch_us = 0, lost_waits = 0;
};
State& state();

/// The time that a launch of a graph takes; not locked.
class Launching {
 public:
  explicit Launching(Stream* stream);
  Launching(const Launching&) = delete;
  Launching& operator=(const Launching&) = delete;
  ~Launching();

 private:
  Stream* stream_;
};

/// Gives work to a stream: queued, done, or captured.
CUresult give(Stream* stream, const Work& work);
/// The interface that is played, 12040.
int version();
void give_task(Stream* stream, Task task);
/// Does it, notes it, and tells CUPTI.
void do_work(const Work& work, uint32_t stream, uint32_t correlation, uint64_t node,
             uint32_t graph);
/// Runs the stream's queue until `done` says so or it is empty.
void run(Stream* stream, const std::function<bool()>& done = {});

/// Does what is ready on all streams, for the background thread.
void run_ready();
/// Lets the background thread, or the program, go on for a moment; called with the lock
/// held once.
void let_others();

/// CUPTI's side.
uint32_t next_correlation();
void tell_work(const Work& work, int64_t begin_ns, int64_t end_ns, uint32_t stream,
               uint32_t correlation, uint64_t node, uint32_t graph);
void tell_clone(Node* original, Node* clone);
int64_t now_ns();

/// Reserved or allocated by the pretended GPU.
bool is_gpu_memory(const void* at);

Work kernel_work(CUfunction function, void** arguments);
/// What the plugin's kernels for conditional nodes do.
void set_condition(const Work& work);
/// All nodes, those of bodies as often as their conditions say.
void run_graph(const Graph& graph, uint32_t stream, uint32_t correlation);

}  // namespace fake
