// Plan: how one graph with known shapes runs (design, decisions 3 and 25): a device for
// each node with the reason, an order, lanes with what waits for what, a place in memory
// for each value. Plain data: made by make_plan(), printed, stored and loaded, and turned
// into something that runs by run/executable.h. Immutable once made; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/device.h"
#include "graph/graph.h"
#include "op/kernel.h"
#include "op/kernel_builds.h"
#include "tandem/device.h"

namespace tandem {

/// An ordered queue of work. `kHost` work runs on the calling thread (or, for lanes after
/// the first, on a thread of their own); the others are streams of a device.
struct PlanLane {
  enum class Kind : uint8_t { kHost, kCompute, kCopyIn, kCopyOut, kCollective };
  Kind kind = Kind::kHost;
  std::string device;  // full name
  std::string name;    // "CPU:0", "GPU:0/copy-in", "CPU:0/1"
  /// A thread beside the caller's, for a branch: asynchronous, over host memory.
  bool side() const { return kind == Kind::kHost && name.find('/') != std::string::npos; }
  friend bool operator==(const PlanLane&, const PlanLane&) = default;
};

/// One launch. Steps are listed in the order in which they are given to their lanes.
struct PlanStep {
  int32_t node = -1;
  int32_t lane = 0;
  /// Steps of other lanes that must have finished, latest of each lane only.
  std::vector<int32_t> waits;
  std::string kernel;      // id; empty for copies and control flow
  std::string why_kernel;  // "only one", "default", "measured: 12.1 µs, next 15.0 µs"
  int32_t threads = 1;
  int64_t workspace = -1;  // offset in the space of the lane's device, -1: none
  friend bool operator==(const PlanStep&, const PlanStep&) = default;
};

/// Where a value lives.
struct Place {
  enum class Storage : uint8_t {
    kNone,       // a state, an absent value, or contents nobody reads
    kArena,      // `offset` in space `index`
    kParameter,  // the caller's memory of parameter `index`, plus `offset`
    kConstant,   // node `index`, on the device of space `space`
    kVariable,   // the memory of variable `index`
    kResult,     // a buffer handed out as result `index`
    kHandle,     // slot `index` for a list (no memory of its own)
  };
  Storage storage = Storage::kNone;
  int32_t index = -1;
  int32_t space = -1;  // of which device the memory is
  int64_t offset = 0;
  int64_t bytes = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

/// The memory of one device that a plan needs, apart from parameters, results, constants
/// and variables.
struct PlanSpace {
  std::string device;
  int64_t bytes = 0;  // arena
  int64_t constant_bytes = 0;
  int64_t result_bytes = 0;
  int64_t variable_bytes = 0;
  int64_t unshared_bytes = 0;  // arena without reuse, for comparison
  int64_t strip_bytes = 0;     // values that lie end to end for kernels over many
  friend bool operator==(const PlanSpace&, const PlanSpace&) = default;
};

struct Plan {
  std::vector<PlanLane> lanes;
  std::vector<PlanStep> steps;
  std::vector<std::vector<Place>> places;  // by node and output
  std::vector<PlanSpace> spaces;           // by device
  std::vector<std::string> reasons;        // by node: why it is on its device
  std::vector<std::string> devices;        // by node: full name, empty: no work
  int32_t num_handles = 0;
  int64_t copies = 0;  // copies between devices in one run
  int64_t copy_bytes = 0;
  /// Bytes above the limit of a device (arena, constants, results and variables
  /// together); 0: fits.
  int64_t over_limit = 0;
  std::string over_device;
  double plan_ms = 0;

  /// Most memory of a device at one time: arena, constants and results.
  int64_t peak_bytes(const std::string& device) const;
  friend bool operator==(const Plan&, const Plan&) = default;
};

struct PlanOptions {
  int threads = 0;  // of the CPU's team; 0: as configured
  bool deterministic = false;
  bool measure_kernels = true;
  /// False: while kernels have to be compiled, nothing is timed that waits for them; the
  /// plan says so (PlannedGraph::unmeasured).
  bool wait_for_kernels = true;
  bool inplace = true;
  bool share_memory = true;  // buffers with disjoint lifetimes
  /// Independent work of the CPU on side lanes, each with a share of the cores. No more
  /// lanes than inter-op threads are configured; one of those switches them off.
  enum class Branches : uint8_t { kOff, kWhereFaster, kAlways };
  Branches branches = Branches::kWhereFaster;
  /// What is said to copies between devices that nobody asked for.
  CopyPolicy copies = CopyPolicy::kSilent;
  /// Of a sub-graph: the device whose conditional node it is part of. Its parameters and
  /// results have the same addresses in every run.
  Device* inside = nullptr;
};

/// A graph with the plan for it: the planner adds copies, so the graph is its own.
struct PlannedGraph {
  GraphPtr graph;
  Plan plan;
  /// By node, for control flow: the plans of its sub-graphs.
  std::vector<std::vector<std::shared_ptr<const PlannedGraph>>> subplans;
  /// Handles of the variables that places of kind kVariable number.
  std::vector<Tensor> variables;
  /// Parameters, by number, that kernels walk in one loop when they lie end to end: a
  /// wish to the plan around this one, which places them.
  std::vector<std::vector<int32_t>> parameter_strips;
  /// By step; what planning has prepared already. A loaded plan has none.
  struct PreparedStep {
    const Kernel* kernel = nullptr;
    Ref<Prepared> prepared;
  };
  std::vector<PreparedStep> prepared;
  /// What those wait for, sub-graphs included.
  KernelBuilds builds;
  /// Defaults were taken where candidates would have been timed.
  bool unmeasured = false;
};

/// Devices, copies, order, memory. The graph's shapes are known and its host inputs are
/// constants (see run/stages.h). `parameter_devices`: where arguments are, by parameter
/// (null for states). `result_devices`: where results are wanted; empty: wherever they
/// are made. Throws what placement throws.
std::shared_ptr<const PlannedGraph> make_plan(
    const Graph& graph, const std::vector<Device*>& parameter_devices,
    const PlanOptions& options, const std::vector<Device*>& result_devices = {});

std::string to_json(const Plan& plan);
/// Throws InvalidArgumentError for text that is no plan.
Plan plan_from_json(const std::string& json);

/// What the user sees: nodes, kernels, lanes, memory, copies, and why.
std::string explain(const PlannedGraph& planned);

}  // namespace tandem
