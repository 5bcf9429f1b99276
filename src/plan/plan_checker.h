// PlanChecker: the work behind check_plan(), one object per plan. Internal to
// check_plan.cc, which looks at the plan as a whole, and to check_places.cc,
// check_steps.cc and check_subplans.cc.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace tandem {

class PlanChecker {
 public:
  explicit PlanChecker(const PlannedGraph& p) : p_(p), g_(*p.graph), plan_(p.plan) {}

  /// Throws DataLossError.
  void run();

  // ---- What all parts use.

  static void expect(bool good, const char* what);
  template <class List>
  static void expect_index(int32_t i, const List& list, const char* what) {
    expect(i >= 0 && static_cast<size_t>(i) < list.size(), what);
  }
  static size_t at(int32_t i) { return static_cast<size_t>(i); }
  static bool is_host(const std::string& device);
  static bool same_memory(const std::string& a, const std::string& b);
  static int64_t bytes_of(const ValueInfo& info);
  /// More than any memory, and no sum of a few of them overflows.
  static constexpr int64_t kMostBytes = int64_t{1} << 56;

 private:
  const Place& place(ValueRef v) const { return plan_.places[at(v.node)][at(v.output)]; }
  void check_node(int32_t node);

  // Places: every value lies inside of its memory.
  void check_place(const Place& place, const ValueInfo& info) const;
  int64_t room_at(const Place& place) const;
  void check_list(const Place& place) const;
  void check_result(ValueRef v) const;
  std::string device_of(ValueRef v) const;

  // Sub-graphs: what is handed over by address is what the other side expects.
  void check_subplan(int32_t node, const Graph& declared, const PlannedGraph& sub);
  std::string device_of_operand(size_t operand, int32_t node, const Node& n) const;

  // Steps: their order, their lanes, and where kernels find their operands.
  void check_step(int32_t step);
  void check_lane(const PlanStep& step, const Node& n) const;
  static void check_copy(const PlanLane& lane, const std::string& from,
                         const std::string& to, const std::string& device);
  void check_input(const PlanStep& step, const Node& n, size_t input) const;
  void expect_made(ValueRef v) const;
  void check_output(const PlanStep& step, const Place& place) const;
  void check_device(const PlanStep& step, const Place& place) const;
  void expect_on(const std::string& device, const PlanStep& step) const;

  const PlannedGraph& p_;
  const Graph& g_;
  const Plan& plan_;
  std::vector<char> is_step_;     // by node
  std::vector<int32_t> step_of_;  // by node; -1: not yet
};

}  // namespace tandem
