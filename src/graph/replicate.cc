#include "graph/replicate.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/passes/common.h"
#include "graph/states.h"
#include "op/emitter.h"
#include "op/op_def.h"
#include "tandem/error.h"
#include "tandem/ops/array.h"
#include "tandem/ops/collective.h"

namespace tandem {

namespace {

bool is_collective(const Node& n) {
  static constexpr std::string_view kNames[] = {"AllReduce", "Broadcast", "Reduce",
                                                "AllGather", "ReduceScatter"};
  return n.op &&
         std::find(std::begin(kNames), std::end(kNames), n.op->name) != std::end(kNames);
}

class Replicator {
 public:
  Replicator(const Graph& from, const ReplicaSetup& setup)
      : from_(from), setup_(setup), to_(from.name()), order_(from.nodes().size()) {
    values_.reserve(from.nodes().size());
    for (const Node& n : from.nodes()) values_.emplace_back(n.outputs.size());
  }

  Graph run() {
    for (int32_t i = 0; i < from_.size(); ++i) place(i);
    to_.results() = all(from_.results());
    to_.final_states() = all(from_.final_states());
    return std::move(to_);
  }

 private:
  size_t replicas() const { return setup_.replicas(); }
  int64_t number_of(size_t r) const { return setup_.first + static_cast<int64_t>(r); }

  // ---- Values: one per replica, or one that they share.
  std::vector<ValueRef>& slot(ValueRef old) {
    return values_[static_cast<size_t>(old.node)][static_cast<size_t>(old.output)];
  }
  bool shared_state(ValueRef old) const {
    return from_.info(old).state &&
           !setup_.copies.contains(variable_handle(from_, old).impl()->id);
  }
  ValueRef at(ValueRef old, size_t replica) {
    if (!old.defined()) return {};
    const std::vector<ValueRef>& found = slot(old);
    if (found.empty()) {
      throw InternalError(fmt::format("replicate: {} is used before it is made",
                                      from_.node(old.node).name));
    }
    return found.size() == 1 ? found[0] : found[replica];
  }
  // Side by side, as parameters and results are.
  void append(ValueRef old, std::vector<ValueRef>& list) {
    if (!old.defined()) {
      list.resize(list.size() + replicas());
    } else if (shared_state(old)) {
      list.push_back(at(old, 0));
    } else {
      for (size_t r = 0; r < replicas(); ++r) list.push_back(at(old, r));
    }
  }
  std::vector<ValueRef> all(std::span<const ValueRef> old) {
    std::vector<ValueRef> list;
    for (ValueRef v : old) append(v, list);
    return list;
  }

  // ---- Nodes
  void place(int32_t i) {
    const Node& n = from_.node(i);
    switch (n.kind) {
      case Node::Kind::kParameter:
      case Node::Kind::kVariable:
        return begin_values(i);
      case Node::Kind::kConstant:
        slot({i, 0}) = {ValueRef{to_.add_copy(n, {}), 0}};
        return;
      case Node::Kind::kOp:
        if (is_collective(n)) return meet(i);
        if (n.is_op("ReplicaId")) return number(i);
        break;
      case Node::Kind::kIf:
      case Node::Kind::kCase:
      case Node::Kind::kCall:
      case Node::Kind::kWhile:
        if (std::any_of(n.subgraphs.begin(), n.subgraphs.end(),
                        [](const GraphPtr& g) { return has_collectives(*g); })) {
          return join(i);
        }
        break;
      case Node::Kind::kCopy:
        break;
    }
    repeat(i);
  }

  std::string name(const Node& n, size_t replica) const {
    return replica == 0 ? n.name : fmt::format("{}/replica_{}", n.name, replica);
  }

  // Where values come from outside: parameters and variables.
  void begin_values(int32_t i) {
    const Node& n = from_.node(i);
    const bool state = n.outputs[0].state;
    const std::vector<Tensor> handles =
        state ? setup_.handles(n.constant) : std::vector<Tensor>(replicas());
    for (size_t r = 0; r < handles.size(); ++r) {
      Node made = n;
      made.name = name(n, r);
      if (state) made.constant = handles[r];
      slot({i, 0}).push_back({to_.add_node(std::move(made)), 0});
    }
  }

  // The node once per replica.
  void repeat(int32_t i) {
    const Node& n = from_.node(i);
    const std::vector<int32_t> after = mapped_order(n.after);
    std::vector<int32_t> made_nodes;
    for (size_t r = 0; r < replicas(); ++r) {
      Node made = n;
      made.name = name(n, r);
      for (ValueRef& v : made.inputs) v = at(v, r);
      for (GraphPtr& g : made.subgraphs) {
        g = std::make_shared<const Graph>(replicate(*g, alone(r)));
      }
      if (made.device.empty()) made.device = setup_.devices[r];
      made.after = after;
      // What is kept in order outside is kept in order between replicas.
      if (is_ordered(n) && !made_nodes.empty()) made.after.push_back(made_nodes.back());
      const int32_t index = to_.add_node(std::move(made));
      made_nodes.push_back(index);
      for (int32_t k = 0; k < static_cast<int32_t>(n.outputs.size()); ++k) {
        set_output({i, k}, r, {index, k});
      }
    }
    order_[static_cast<size_t>(i)] = std::move(made_nodes);
  }

  // The next replica goes on from the state of a shared variable that this one leaves.
  void set_output(ValueRef old, size_t replica, ValueRef now) {
    std::vector<ValueRef>& list = slot(old);
    if (!shared_state(old)) {
      list.resize(replicas());
      list[replica] = now;
      return;
    }
    list = {now};
    if (replica + 1 == replicas()) return;
    for (ValueRef v : from_.node(old.node).inputs) {
      if (v.defined() && shared_state(v) &&
          variable_handle(from_, v).is(variable_handle(from_, old))) {
        slot(v) = {now};
      }
    }
  }

  ReplicaSetup alone(size_t r) const {
    ReplicaSetup one{.devices = {setup_.devices[r]}, .copies = {}, .first = number_of(r)};
    for (const auto& [id, handles] : setup_.copies) one.copies[id] = {handles[r]};
    return one;
  }

  void number(int32_t i) {
    for (size_t r = 0; r < replicas(); ++r) {
      slot({i, 0}).push_back(
          to_.add_constant(host_scalar(DType::kInt32, static_cast<double>(number_of(r))),
                           name(from_.node(i), r)));
    }
    keep_order(i);
  }

  // A branch or a call in which replicas meet: one node for all.
  void join(int32_t i) {
    const Node& n = from_.node(i);
    if (n.kind == Node::Kind::kWhile) {
      throw UnimplementedError(
          fmt::format("{}: replicas cannot meet (all_reduce, merge_call) inside a loop. "
                      "Reduce before or after it.",
                      n.name));
    }
    Node made = n;
    made.inputs.clear();
    const auto operands = operands_of(n);
    if (operands.size() < n.inputs.size()) made.inputs.push_back(agreed(n));
    for (ValueRef v : operands) append(v, made.inputs);
    for (GraphPtr& g : made.subgraphs) {
      g = std::make_shared<const Graph>(replicate(*g, setup_));
    }
    made.outputs.clear();
    std::vector<std::vector<int32_t>> places(n.outputs.size());
    for (int32_t k = 0; k < static_cast<int32_t>(n.outputs.size()); ++k) {
      const size_t count = shared_state({i, k}) ? 1 : replicas();
      for (size_t r = 0; r < count; ++r) {
        places[static_cast<size_t>(k)].push_back(
            static_cast<int32_t>(made.outputs.size()));
        made.outputs.push_back(n.outputs[static_cast<size_t>(k)]);
      }
    }
    made.after = mapped_order(n.after);
    const int32_t index = to_.add_node(std::move(made));
    for (int32_t k = 0; k < static_cast<int32_t>(n.outputs.size()); ++k) {
      for (int32_t place : places[static_cast<size_t>(k)]) {
        slot({i, k}).push_back({index, place});
      }
    }
    order_[static_cast<size_t>(i)] = {index};
  }

  // Which branch all replicas take.
  ValueRef agreed(const Node& n) {
    ValueRef together = at(n.inputs[0], 0);
    if (n.kind != Node::Kind::kIf) return together;
    for (size_t r = 1; r < replicas(); ++r) {
      together = emit(n, "LogicalAnd", {together, at(n.inputs[0], r)});
    }
    return together;
  }

  // ---- Collectives
  void meet(int32_t i) {
    const Node& n = from_.node(i);
    const auto& a = n.attrs.ref().as<CollectiveAttrs>();
    std::vector<ValueRef> values;
    for (size_t r = 0; r < replicas(); ++r) values.push_back(at(n.inputs[0], r));
    std::vector<ValueRef>& out = slot({i, 0});
    const std::string& op = n.op->name;
    if (op == "Broadcast") {
      out = {values[static_cast<size_t>(a.root)]};
    } else if (op == "AllGather") {
      const AxisAttrs axis{.axis = a.axis};
      out = {emit(n, "ConcatV2", values, attrs_ref(axis))};
    } else if (op == "AllReduce") {
      out = {reduced(n, values, a.reduction)};
    } else if (op == "Reduce") {
      const ValueRef total = reduced(n, values, a.reduction);
      for (size_t r = 0; r < replicas(); ++r) {
        const bool root = r == static_cast<size_t>(a.root);
        out.push_back(root ? total : emit(n, "ZerosLike", {values[r]}));
      }
    } else {
      const ValueRef total = reduced(n, values, a.reduction);
      const SplitAttrs parts{.num = static_cast<int64_t>(replicas()), .axis = a.axis};
      const ValueRef first = emit(n, "Split", {total}, attrs_ref(parts));
      for (size_t r = 0; r < replicas(); ++r) {
        out.push_back({first.node, static_cast<int32_t>(r)});
      }
    }
    keep_order(i);
  }

  // In the order of replicas: the same bits whatever the devices.
  ValueRef reduced(const Node& n, const std::vector<ValueRef>& values,
                   Reduction reduction) {
    if (values.size() == 1) return values[0];
    switch (reduction) {
      case Reduction::kMax:
      case Reduction::kMin: {
        ValueRef so_far = values[0];
        for (size_t r = 1; r < values.size(); ++r) {
          so_far = emit(n, reduction == Reduction::kMax ? "Maximum" : "Minimum",
                        {so_far, values[r]});
        }
        return so_far;
      }
      case Reduction::kSum:
        return emit(n, "AddN", values);
      case Reduction::kMean:
        break;
    }
    const ValueRef total = emit(n, "AddN", values);
    const ValueRef count = to_.add_constant(
        host_scalar(to_.info(total).dtype, static_cast<double>(values.size())),
        n.name + "/replicas");
    return emit(n, "RealDiv", {total, count});
  }

  ValueRef emit(const Node& like, std::string_view op, std::vector<ValueRef> inputs,
                AttrsRef attrs = {}) {
    const OpDef& def = OpTable::get().at(op);
    const int32_t made = to_.add_op(def, attrs.data ? attrs : default_attrs(def),
                                    std::move(inputs), like.name);
    to_.node(made).device = like.device.empty() ? setup_.devices[0] : like.device;
    to_.node(made).location = like.location;
    return {made, 0};
  }

  // ---- Order of effects
  std::vector<int32_t> mapped_order(const std::vector<int32_t>& after) const {
    std::vector<int32_t> list;
    for (int32_t before : after) {
      for (int32_t now : order_[static_cast<size_t>(before)]) {
        if (std::find(list.begin(), list.end(), now) == list.end()) list.push_back(now);
      }
    }
    return list;
  }
  // The node is nothing but its value now: what came after it comes after what it did.
  void keep_order(int32_t i) {
    order_[static_cast<size_t>(i)] = mapped_order(from_.node(i).after);
  }

  const Graph& from_;
  const ReplicaSetup& setup_;
  Graph to_;
  std::vector<std::vector<std::vector<ValueRef>>> values_;  // by old node, output
  std::vector<std::vector<int32_t>> order_;                 // old node → new ones
};

}  // namespace

std::vector<Tensor> ReplicaSetup::handles(const Tensor& handle) const {
  const auto found = copies.find(handle.impl()->id);
  return found == copies.end() ? std::vector<Tensor>{handle} : found->second;
}

bool has_collectives(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& n) {
    return is_collective(n) ||
           std::any_of(n.subgraphs.begin(), n.subgraphs.end(),
                       [](const GraphPtr& g) { return has_collectives(*g); });
  });
}

Graph replicate(const Graph& replica, const ReplicaSetup& setup) {
  return Replicator(replica, setup).run();
}

}  // namespace tandem
