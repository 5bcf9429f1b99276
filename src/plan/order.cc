#include "plan/order.h"

#include <algorithm>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <tuple>

#include "graph/states.h"
#include "op/guarded_writes.h"
#include "plan/inplace.h"
#include "tandem/error.h"

namespace tandem {

namespace {

class Orderer {
 public:
  Orderer(const Graph& graph, const Assignment& assignment,
          const std::vector<char>& is_step, bool inside)
      : graph_(graph),
        assignment_(assignment),
        is_step_(is_step),
        inside_(inside),
        next_(size(graph)) {
    result_.assign_in_place.assign(size(graph), 0);
  }

  Order run() {
    for (int32_t i = 0; i < graph_.size(); ++i) {
      for (ValueRef v : graph_.node(i).inputs) {
        if (v.defined()) add_edge(v.node, i);
      }
      for (int32_t before : graph_.node(i).after) add_edge(before, i);
    }
    find_readers();
    for (int32_t i = 0; i < graph_.size(); ++i) {
      if (writes(i)) order_write(i);
    }
    if (!result_.reads_to_copy.empty()) return std::move(result_);
    order_failures();
    sort();
    return std::move(result_);
  }

 private:
  static size_t size(const Graph& g) { return static_cast<size_t>(g.size()); }

  void add_edge(int32_t from, int32_t to) {
    if (from != to) next_[static_cast<size_t>(from)].push_back(to);
  }

  ValueRef state_input(const Node& n) const {
    for (ValueRef v : n.inputs) {
      if (v.defined() && graph_.info(v).state) return v;
    }
    return {};
  }
  bool writes(int32_t i) const {
    const Node& n = graph_.node(i);
    if (n.kind == Node::Kind::kVariable || n.kind == Node::Kind::kParameter) return false;
    return std::any_of(n.outputs.begin(), n.outputs.end(),
                       [](const ValueInfo& o) { return o.state; });
  }
  // A node with sub-graphs may write some variables and only read others.
  bool writes_state(const Node& n, ValueRef state) const {
    for (int32_t o = 0; o < static_cast<int32_t>(n.outputs.size()); ++o) {
      if (n.outputs[static_cast<size_t>(o)].state && previous_state(n, o) == state) {
        return true;
      }
    }
    return false;
  }
  bool is_view(const Node& n) const {
    return n.kind == Node::Kind::kOp && !is_step_[index(n)] && !n.outputs.empty() &&
           !n.outputs[0].state;
  }
  size_t index(const Node& n) const {
    return static_cast<size_t>(&n - graph_.nodes().data());
  }

  // For every node the nodes that read the memory behind its outputs, through views.
  void find_readers() {
    readers_.resize(size(graph_));
    for (int32_t i = graph_.size(); i-- > 0;) {
      const Node& n = graph_.node(i);
      for (ValueRef v : n.inputs) {
        if (!v.defined()) continue;
        auto& list = readers_[static_cast<size_t>(v.node)];
        list.push_back(i);
        if (is_view(n)) {
          const auto& through = readers_[static_cast<size_t>(i)];
          list.insert(list.end(), through.begin(), through.end());
        }
      }
    }
  }

  // True when one of `targets` comes after `from`.
  bool reaches(int32_t from, const std::vector<int32_t>& targets) {
    if (targets.empty()) return false;
    seen_.assign(size(graph_), 0);
    for (int32_t t : targets) seen_[static_cast<size_t>(t)] |= 2;
    std::vector<int32_t> stack{from};
    seen_[static_cast<size_t>(from)] |= 1;
    while (!stack.empty()) {
      const int32_t at = stack.back();
      stack.pop_back();
      for (int32_t to : next_[static_cast<size_t>(at)]) {
        char& mark = seen_[static_cast<size_t>(to)];
        if (mark & 2) return true;
        if (mark & 1) continue;
        mark |= 1;
        stack.push_back(to);
      }
    }
    return false;
  }

  // Who reads the contents of the state that node `writer` replaces, apart from it.
  std::vector<int32_t> old_readers(ValueRef state, int32_t writer) const {
    std::vector<int32_t> list;
    for (int32_t r : readers_[static_cast<size_t>(state.node)]) {
      const Node& n = graph_.node(r);
      if (r == writer) continue;
      const bool takes =
          std::find(n.inputs.begin(), n.inputs.end(), state) != n.inputs.end();
      if (!takes && !through_read(state, n)) continue;
      if (takes && writes_state(n, state)) continue;
      list.push_back(r);
    }
    return list;
  }
  // Readers collected through views of another output of the same node do not count.
  bool through_read(ValueRef state, const Node& n) const {
    return std::any_of(n.inputs.begin(), n.inputs.end(),
                       [&](ValueRef v) { return rooted_in(state, v); });
  }
  bool rooted_in(ValueRef state, ValueRef v) const {
    while (v.defined() && !(v == state)) {
      const Node& producer = graph_.node(v.node);
      if (!is_view(producer) || producer.inputs.empty()) return false;
      v = producer.inputs[0];
    }
    return v.defined();
  }

  void order_write(int32_t writer) {
    const Node& n = graph_.node(writer);
    for (ValueRef state : n.inputs) {
      if (!state.defined() || !writes_state(n, state)) continue;
      const std::vector<int32_t> readers = old_readers(state, writer);
      int32_t physical = writer;
      if (n.is_op("AssignVariableOp")) {
        const int32_t producer = n.inputs[1].node;
        std::vector<int32_t> others = readers;
        std::erase(others, producer);
        if (writes(state.node)) others.push_back(state.node);  // who wrote it before
        if (may_compute_in_place(n, state) && !reaches(producer, others)) {
          physical = producer;
          result_.assign_in_place[static_cast<size_t>(writer)] = 1;
          add_edge(state.node, physical);
        }
      }
      // Who changes parts of the variable must not read it by another way meanwhile.
      const bool whole = n.is_op("AssignVariableOp") || n.is_op("AssignAddVariableOp") ||
                         n.is_op("AssignSubVariableOp");
      if (!whole && reads_beside(state, n)) note_read(state, n);
      for (int32_t r : readers) {
        if (r == physical) continue;
        if (reaches(physical, {r})) {
          note_read(state, graph_.node(r));
        } else {
          add_edge(r, physical);
        }
      }
      writers_.push_back({physical, writer});
    }
  }

  bool reads_beside(ValueRef state, const Node& n) const {
    return std::any_of(n.inputs.begin(), n.inputs.end(), [&](ValueRef v) {
      return v.defined() && !(v == state) && rooted_in(state, v);
    });
  }
  // Whether anything on a device depends on contents.
  bool may_fail(const Device* device) const {
    for (int32_t i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.node(i);
      if (assignment_.devices[static_cast<size_t>(i)] != device) continue;
      if (n.has_subgraphs() || (n.op && n.op->effects & kMayFail)) return true;
    }
    return inside_;  // what is around it may have failed
  }
  // A reader that comes after the write has to read a copy.
  void note_read(ValueRef state, const Node& reader) {
    for (ValueRef v : reader.inputs) {
      if (!v.defined() || v == state || !rooted_in(state, v)) continue;
      while (!graph_.node(v.node).is_op("ReadVariableOp")) {
        v = graph_.node(v.node).inputs[0];
      }
      auto& list = result_.reads_to_copy;
      if (std::find(list.begin(), list.end(), v.node) == list.end()) {
        list.push_back(v.node);
      }
    }
  }

  // The producer makes the whole value itself, for this variable and nobody else's
  // memory, on the variable's device, and may overwrite what it reads of the old value.
  bool may_compute_in_place(const Node& assign, ValueRef state) {
    const ValueRef value = assign.inputs[1];
    const Node& p = graph_.node(value.node);
    if (!is_step_[static_cast<size_t>(value.node)] || p.kind != Node::Kind::kOp)
      return false;
    if (p.op->dynamic || graph_.info(value).dtype == DType::kString) return false;
    // A later write of the variable would have to wait for all who read the value.
    const ValueRef next{static_cast<int32_t>(index(assign)), 0};
    for (int32_t r : readers_[static_cast<size_t>(next.node)]) {
      const auto& in = graph_.node(r).inputs;
      if (writes(r) && std::find(in.begin(), in.end(), next) != in.end()) return false;
    }
    const Device* device = assignment_.of(value);
    if (device != assignment_.devices[index(assign)]) return false;
    // A native kernel that fails cannot stop those behind it: there only kernels that
    // look for failures may write.
    if (device->platform() != kHostPlatform && may_fail(device) &&
        !writes_are_guarded(*p.op)) {
      return false;
    }
    if (std::find(graph_.results().begin(), graph_.results().end(), value) !=
        graph_.results().end()) {
      return false;
    }
    std::unique_ptr<InPlace>& inplace = inplace_[value.node];
    if (!inplace) inplace = std::make_unique<InPlace>(graph_, p, device);
    for (size_t k = 0; k < p.inputs.size(); ++k) {
      if (p.inputs[k].defined() && rooted_in(state, p.inputs[k]) &&
          !inplace->may_share(k, value.output)) {
        return false;
      }
    }
    return taken_.insert({value.node, value.output}).second;
  }

  void order_failures() {
    std::vector<int32_t> failing;
    for (int32_t i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.node(i);
      if (is_step_[static_cast<size_t>(i)] &&
          (n.has_subgraphs() || (n.op && n.op->effects & kMayFail))) {
        failing.push_back(i);
      }
    }
    if (failing.empty()) return;
    for (const auto& [physical, writer] : writers_) {
      std::vector<int32_t> others = failing;
      std::erase(others, physical);
      if (!reaches(physical, others)) {
        for (int32_t f : others) add_edge(f, physical);
      }
    }
  }

  // A push of what no device makes.
  bool is_kept_on_host(int32_t i) const {
    const Node& n = graph_.node(i);
    if (!n.is_op("TensorListPushBack") || !n.inputs[1].defined()) return false;
    const Device* from = assignment_.of(n.inputs[1]);
    return !from || from->is_host();
  }

  void sort() {
    std::vector<int32_t> waiting(size(graph_), 0);
    for (const auto& list : next_) {
      for (int32_t to : list) ++waiting[static_cast<size_t>(to)];
    }
    // Nodes without work first, then copies that others wait for, then devices, whose
    // work in a row becomes one launch, then the host, then what goes to the caller;
    // program order within, but what a list keeps is put there as soon as it is known:
    // its memory can be used again.
    std::vector<char> is_result(size(graph_), 0);
    for (ValueRef v : graph_.results()) {
      if (v.defined()) is_result[static_cast<size_t>(v.node)] = 1;
    }
    const auto key = [&](int32_t i) {
      const Device* d = assignment_.devices[static_cast<size_t>(i)];
      int rank = d && !d->is_host() ? 2 : 3;
      if (!is_step_[static_cast<size_t>(i)]) {
        rank = 0;
      } else if (graph_.node(i).kind == Node::Kind::kCopy) {
        rank = is_result[static_cast<size_t>(i)] ? 4 : 1;
      }
      return std::tuple(rank, !is_kept_on_host(i), i);
    };
    const auto later = [&](int32_t a, int32_t b) { return key(a) > key(b); };
    std::priority_queue<int32_t, std::vector<int32_t>, decltype(later)> ready(later);
    for (int32_t i = 0; i < graph_.size(); ++i) {
      if (!waiting[static_cast<size_t>(i)]) ready.push(i);
    }
    size_t done = 0;
    while (!ready.empty()) {
      const int32_t i = ready.top();
      ready.pop();
      ++done;
      if (is_step_[static_cast<size_t>(i)]) result_.nodes.push_back(i);
      for (int32_t to : next_[static_cast<size_t>(i)]) {
        if (--waiting[static_cast<size_t>(to)] == 0) ready.push(to);
      }
    }
    if (done != size(graph_)) {
      throw InternalError("plan: the order of a graph has a cycle\n" + graph_.dump());
    }
    result_.before.resize(size(graph_));
    for (int32_t i = 0; i < graph_.size(); ++i) {
      for (int32_t to : next_[static_cast<size_t>(i)]) {
        result_.before[static_cast<size_t>(to)].push_back(i);
      }
    }
  }

  const Graph& graph_;
  const Assignment& assignment_;
  const std::vector<char>& is_step_;
  const bool inside_;
  std::vector<std::vector<int32_t>> next_;
  std::vector<std::vector<int32_t>> readers_;
  std::vector<std::pair<int32_t, int32_t>> writers_;  // who writes memory, for which node
  std::set<std::pair<int32_t, int32_t>> taken_;       // values with a variable's memory
  std::map<int32_t, std::unique_ptr<InPlace>> inplace_;  // by node
  std::vector<char> seen_;
  Order result_;
};

}  // namespace

Order order_nodes(const Graph& graph, const Assignment& assignment,
                  const std::vector<char>& is_step, bool inside) {
  return Orderer(graph, assignment, is_step, inside).run();
}

}  // namespace tandem
