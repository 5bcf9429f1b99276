// Planner: which values are views of others, and how results and snapshots get memory of
// their own.
#include <algorithm>
#include <set>

#include "device/runtime.h"
#include "graph/rewriter.h"
#include "plan/copy_policy.h"
#include "plan/planner.h"
#include "tensor/tensor_impl.h"

namespace tandem {

void Planner::find_views() {
  view_.assign(graph_.nodes().size(), -1);
  NodeSignature s;
  for (int32_t i = 0; i < graph_.size(); ++i) note_view(i, s);
}

void Planner::note_view(int32_t i, NodeSignature& s) {
  const Node& n = graph_.node(i);
  if (n.kind != Node::Kind::kOp || n.outputs.size() != 1 || !n.op->view) return;
  if (n.is_op("ReadVariableOp")) {
    view_[index(i)] = 0;
    return;
  }
  if (n.inputs.empty() || !n.inputs[0].defined()) return;
  // A value on another device has to be copied, which a kernel's input would be.
  Device* from = assignment_.of(n.inputs[0]);
  if (from && from != assignment_.devices[index(i)]) return;
  node_signature(graph_, n, assignment_.devices[index(i)], s);
  if (const auto offset = n.op->view(s.signature)) view_[index(i)] = *offset;
}

Root Planner::root_of(ValueRef v) const {
  Root r{v, 0};
  while (view_[index(r.value.node)] >= 0) {
    r.offset += view_[index(r.value.node)];
    r.value = graph_.node(r.value.node).inputs[0];
  }
  return r;
}

int64_t Planner::bytes_of(ValueRef v) const {
  const ValueInfo& info = graph_.info(v);
  return info.dtype == DType::kVariant ? 0 : checked_bytes(info.dtype, info.shape);
}

void Planner::separate_results(const std::vector<Device*>& wanted) {
  std::set<std::pair<int32_t, int32_t>> assigned, claimed;
  for (const Node& n : graph_.nodes()) {
    if (n.is_op("AssignVariableOp")) {
      const Root r = root_of(n.inputs[1]);
      assigned.insert({r.value.node, r.value.output});
    }
  }
  for (size_t k = 0; k < graph_.results().size(); ++k) {
    const ValueRef v = graph_.results()[k];
    if (!v.defined() || graph_.info(v).state) continue;
    if (graph_.info(v).dtype == DType::kVariant) continue;
    Device* have = assignment_.of(v);
    Device* want = wanted.empty() ? nullptr : wanted[k];
    const bool elsewhere = want && want != have;
    const Root r = root_of(v);
    const Node& producer = graph_.node(r.value.node);
    const bool leaf =
        producer.kind == Node::Kind::kParameter || producer.kind == Node::Kind::kConstant;
    const bool whole = r.offset == 0 && bytes_of(r.value) == bytes_of(v);
    if (!elsewhere && leaf && !nested_ && r.value == v) continue;
    const std::pair key{r.value.node, r.value.output};
    // What a device computes has a fixed address; results have none, but for those of
    // conditional nodes.
    const bool fixed = have && !have->is_host() && !options_.inside;
    if (!elsewhere && !fixed && !leaf && whole && !graph_.info(r.value).state &&
        !assigned.count(key) && claimed.insert(key).second) {
      continue;
    }
    if (elsewhere && have && !(have->is_host() && want->is_host())) {
      check_planned_copy(options_.copies, producer, -1, graph_.info(v), *have, *want);
    }
    if (!want) want = have ? have : &Runtime::get().cpu();
    Node copy;
    copy.kind = Node::Kind::kCopy;
    copy.name = graph_.node(v.node).name + "/result";
    copy.inputs = {v};
    copy.outputs = {graph_.info(v)};
    copy.device = want->full_name();
    graph_.results()[k] = {graph_.add_node(std::move(copy)), 0};
    assignment_.devices.push_back(want);
    assignment_.reasons.push_back("result");
    assignment_.outputs.emplace_back();
    view_.push_back(-1);
  }
}

void Planner::copy_reads(const std::vector<int32_t>& reads) {
  GraphRewriter r(graph_);
  Assignment made;
  std::vector<int64_t> views;
  const auto note = [&](int32_t i) {
    made.devices.push_back(assignment_.devices[index(i)]);
    made.reasons.push_back(assignment_.reasons[index(i)]);
    made.outputs.push_back(assignment_.outputs[index(i)]);
    views.push_back(view_[index(i)]);
  };
  for (int32_t i = 0; i < graph_.size(); ++i) {
    const int32_t copied = r.copy(i);
    note(i);
    if (std::find(reads.begin(), reads.end(), i) == reads.end()) continue;
    Node n;
    n.kind = Node::Kind::kCopy;
    n.name = graph_.node(i).name + "/snapshot";
    n.inputs = {{copied, 0}};
    n.outputs = graph_.node(i).outputs;
    n.device = assignment_.devices[index(i)]->full_name();
    r.replace({i, 0}, {r.to().add_node(std::move(n)), 0});
    note(i);
    made.reasons.back() = "snapshot";
    views.back() = -1;
  }
  graph_ = r.finish();
  assignment_ = std::move(made);
  view_ = std::move(views);
}

}  // namespace tandem
