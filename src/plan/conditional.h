// Which branches and loops a device decides by itself (device/conditional_work.h), as
// part of one recorded step, and which the host decides between recorded ones. Pure; any
// thread.
#pragma once

#include <string>
#include <vector>

#include "device/device.h"
#include "graph/graph.h"

namespace tandem {

struct ConditionalChoice {
  Device* device = nullptr;  // null: the host decides
  std::string why;           // a reason for explain(), "" where there is none to give
};

/// The rule: who knows the predicate decides. What the host knows (counters, conditions
/// over host values) stays with it and costs nothing there. A predicate that a device
/// computes makes the host wait and cuts the step in two, a loop in every turn, which
/// costs more than a conditional node: the device decides wherever all work inside can be
/// part of a recording. Inside such a node there is no host, so everything in it is
/// decided by the device.
struct ConditionalQuestion {
  const Graph& graph;
  const Node& node;  // kIf, kCase or kWhile
  /// Where the host would leave the operands (behind the predicate); null for states.
  const std::vector<Device*>& operands;
  Device* predicate = nullptr;  // where kIf's and kCase's is; null: a constant
  Device* inside = nullptr;     // the device of a conditional node around this one
};
ConditionalChoice choose_conditional(const ConditionalQuestion& question);

/// One integer or boolean: what the host asks for in every turn of a loop.
bool is_flag_or_count(const ValueInfo& info);
/// What only a loop's condition looks at is brought to the host once, not in every turn.
bool belongs_to_condition(const Graph& graph, const Node& loop, size_t input);

}  // namespace tandem
