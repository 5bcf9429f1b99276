// A pretended GPU for tests of the CUDA plugin's host side: libcuda.so.1 with memory that
// lies on the host, streams that are queues, events, graphs and captures, and
// libcupti.so.13 that tells what ran. Kernels are noted and do nothing, but for the ones
// named "copy", which copy. Streams run their work when somebody waits for it, or at once
// (run_at_once). Conditional nodes of graphs run, by what the plugin's kernels for them
// say. Calls are serialised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fake {

/// What happened, in the order in which the GPU did it: "kernel NAME", "copy to the GPU
/// BYTES", "copy from the GPU BYTES", "copy on the GPU BYTES", "fill BYTES",
/// "graph NODES".
std::vector<std::string> take_log();
/// Work of streams is done when it is given. On by default.
void run_at_once(bool yes);
/// Work of streams is done by a thread of its own, beside the program; loops without end
/// go round until the error report is set. No other work while it is so.
class Background {
 public:
  Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background();
};
/// The next launch of a kernel fails with this CUresult; 0: none.
void fail_next_launch(int result);
/// Launches of kernels with this name fail; "": of none.
void fail_launches_of(const std::string& kernel);
/// The driver refuses the copy or fill that is given after `before` others with this
/// CUresult; 0: none.
void refuse_copy(int result, int before = 0);
/// It refuses to launch graphs, or to make executable ones of those with conditional
/// nodes; 0: no longer.
void refuse_graph_launches(int result);
void refuse_conditional_graphs(int result);
/// Each launch of a graph takes so long. A wait that is given to its stream meanwhile is
/// lost, as the real driver loses some, and counted.
void take_time_to_launch_graphs(int microseconds);
int lost_waits();
/// The next wait for an event or a stream finds this error, and every call after it.
void lose_the_gpu(int result);
/// What a kernel does that finds a bad value: it reports to mapped host memory.
void report(int64_t value);
/// Memory of the GPU that is mapped or allocated, in bytes; and the most that there is.
size_t memory_in_use();
void set_memory(size_t bytes);
/// The host's memory that is page-locked, in bytes.
size_t page_locked();
/// A captured graph's kernels that come after others, as "NAME < NAME,NAME", in the order
/// of capture: of the graph that was instantiated last.
/// A conditional node is a "while" or "switch", and its bodies' lines follow it,
/// indented.
std::vector<std::string> last_graph();
/// What the next tests of loops find where kernels would have written it; then they end.
void answer(const std::vector<bool>& go_on);
int graphs_instantiated();
/// Launches of kernels, captured or not, that may start early (programmatically).
int early_launches();
/// The arguments of the kernel of this name that ran last, in words of eight bytes.
std::vector<uint64_t> last_words(const std::string& kernel);
/// CUPTI's clock is this far ahead of the steady clock.
inline constexpr int64_t kCuptiAhead = 1'000'000'000'000'000;
/// CUPTI refuses to record from now on.
void refuse_activity(bool yes);

}  // namespace fake
