#include "graph/loop_reads.h"

#include <algorithm>
#include <map>

namespace tandem {

namespace {

std::vector<int32_t> reads_of(const Graph& graph, int32_t state) {
  std::vector<int32_t> reads;
  for (int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(i);
    if (n.is_op("ReadVariableOp") && n.inputs[0] == ValueRef{state, 0}) {
      reads.push_back(i);
    }
  }
  return reads;
}

}  // namespace

void read_before_loop(Tracer& outer, Subgraph& sub, std::span<const Tensor> written) {
  static const OpHandle read("ReadVariableOp");
  std::map<int32_t, ValueRef> instead;  // of nodes that read
  const size_t count = sub.captures.size();
  for (size_t k = 0; k < count; ++k) {
    const Tensor handle = sub.captures[k].tensor;
    if (handle.dtype() != DType::kResource) continue;
    const auto same = [&](const Tensor& h) { return h.is(handle); };
    if (std::any_of(written.begin(), written.end(), same)) continue;
    const std::vector<int32_t> reads = reads_of(sub.graph, sub.captures[k].parameter);
    if (reads.empty()) continue;
    const Tensor value = outer.emit_one(read, {}, std::vector<TensorArg>{handle});
    const ValueInfo& info = sub.graph.node(reads[0]).outputs[0];
    const ValueRef given = sub.graph.add_parameter(info.dtype, info.shape, "read");
    for (int32_t i : reads) instead[i] = given;
    sub.captures.push_back({value, given.node, false});
  }
  if (instead.empty()) return;
  const auto replace = [&](ValueRef& v) {
    const auto found = v.defined() ? instead.find(v.node) : instead.end();
    if (found != instead.end()) v = found->second;
  };
  // The parameters stand last for now: whoever makes the node puts all of them first.
  for (int32_t i = 0; i < sub.graph.size(); ++i) {
    for (ValueRef& v : sub.graph.node(i).inputs) replace(v);
  }
  for (ValueRef& v : sub.graph.results()) replace(v);
}

}  // namespace tandem
