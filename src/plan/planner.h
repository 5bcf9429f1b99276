// Planner: the work behind make_plan(), one object per plan. Internal to
// plan/planner*.cc; one thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/assignment.h"
#include "plan/kernel_choice.h"
#include "plan/operands.h"
#include "plan/order.h"
#include "plan/plan.h"
#include "plan/side_lanes.h"

namespace tandem {

/// A value behind views: where its memory begins.
struct Root {
  ValueRef value;
  int64_t offset = 0;
};

class Planner {
 public:
  Planner(const Graph& graph, const std::vector<Device*>& parameter_devices,
          const PlanOptions& options, const std::vector<Device*>& result_devices);
  std::shared_ptr<const PlannedGraph> run();

 private:
  static size_t index(int32_t i) { return static_cast<size_t>(i); }
  void find_views();
  void note_view(int32_t i, NodeSignature& s);
  Root root_of(ValueRef v) const;
  int64_t bytes_of(ValueRef v) const;
  // Every result is made by one step in memory of its own, or is handed through.
  void separate_results(const std::vector<Device*>& wanted);
  // Snapshots of variables that are needed after the variable has changed.
  void copy_reads(const std::vector<int32_t>& reads);
  void find_steps();
  int host_threads(Device& device) const;
  void choose_branches();
  int32_t lane(Device& device, PlanLane::Kind kind);
  int32_t lane_of(int32_t i);
  void make_lanes();
  void plan_children(PlannedGraph& made);
  /// Says what a step is, its threads included, and on which device.
  Device& describe(PlanStep& step, NodeSignature& s);
  void prepare_kernels(PlannedGraph& made);
  void find_unmeasured(PlannedGraph& made, const KernelBuilds& builds);
  void choose_kernel_of(size_t step, PlannedGraph& made);
  void choose_kernels(PlannedGraph& made);
  // Arguments and results that need no memory of the plan.
  struct Operand {
    ValueRef value;  // that others read: the copy of an argument, or what is given out
    int32_t copy = -1;
    bool result = false;
    Device* device = nullptr;
  };
  void find_readers();
  std::string refuses_operands(int32_t i, const Device& device,
                               const PlannedGraph& made) const;
  std::optional<Operand> operand_of(int32_t copy) const;
  Binding bind_operand(const Operand& operand, const PlannedGraph& made) const;
  void bind_operands(PlannedGraph& made);
  void drop_steps(PlannedGraph& made);
  // Steps that a node waits for; nodes without work pass theirs on.
  const std::vector<int32_t>& steps_before(int32_t i);
  void find_waits();
  int32_t space(Device& device);
  void place_values();
  Place& place(ValueRef v) { return plan_.places[index(v.node)][index(v.output)]; }
  void set_place(ValueRef v, Place::Storage storage, int32_t number);
  // The variable behind a state, by number.
  int32_t variable(ValueRef state);
  bool may_follow(ValueRef a, ValueRef b) const;
  void add_strip(const std::vector<ValueRef>& values);
  void find_strips_of_groups(int32_t i);
  void find_strips_of_children(int32_t i, const PlannedGraph& made);
  void find_strips(const PlannedGraph& made);
  void plan_spaces();
  void plan_space(
      size_t s, const std::map<std::pair<int32_t, int32_t>, std::vector<int32_t>>& uses);
  int64_t constant_bytes(const Device& device) const;
  // By output: buffers of inputs whose memory it may take over.
  std::vector<std::vector<int32_t>> replaceable(
      int32_t node,
      const std::map<std::pair<int32_t, int32_t>, int32_t>& buffer_of) const;
  const PlanOptions options_;
  const bool nested_;
  Assignment assignment_;
  Graph graph_;
  std::vector<int64_t> view_;  // by node: byte offset into input 0, or -1
  std::vector<char> is_step_;
  Order order_;
  SideLanes side_;
  std::vector<int32_t> step_of_;  // by node, -1
  std::map<std::pair<int, PlanLane::Kind>, int32_t> lanes_;
  std::vector<std::vector<int32_t>> steps_before_;
  std::vector<char> known_;
  std::vector<std::vector<int32_t>> clock_;
  std::vector<int32_t> position_;
  std::map<std::pair<int32_t, int32_t>, std::vector<int32_t>> readers_;
  std::vector<int64_t> workspaces_;
  std::vector<int32_t> workspace_step_;
  std::vector<KernelTrials> trials_;  // by step, until its kernel is chosen
  bool measure_ = true;               // where options allow it
  std::vector<Tensor> plan_variables_;
  std::vector<std::vector<ValueRef>> strips_;           // to lie end to end
  std::vector<std::vector<int32_t>> parameter_strips_;  // the same, of parameters
  Plan plan_;
};

}  // namespace tandem
