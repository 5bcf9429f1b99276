// Side lanes: which steps of a plan leave the CPU's main lane for a thread of their own
// (see plan/branches.h), how many lanes the configuration allows, and the order of issue
// that goes with it. Any thread; may measure kernels.
#pragma once

#include <string>
#include <vector>

#include "plan/assignment.h"
#include "plan/order.h"
#include "plan/plan.h"

namespace tandem {

struct SideLanes {
  int lanes = 0;               // 0: none
  int threads = 0;             // of each
  std::vector<int32_t> lane;   // by node, from 1; 0: the main lane of its device
  std::vector<int32_t> nodes;  // Order::nodes, regrouped
  std::string why;             // for the reasons of the nodes that move
};

/// `order` lists the nodes that do work; `threads`: of the CPU's team. Asks for nothing
/// when the inter-op parallelism is 1 or the options say so.
SideLanes choose_side_lanes(const Graph& graph, const Assignment& assignment,
                            const Order& order, const PlanOptions& options, int threads);

}  // namespace tandem
