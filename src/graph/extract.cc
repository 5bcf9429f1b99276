#include "graph/extract.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "graph/states.h"
#include "tandem/error.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

using Place = std::pair<int32_t, int32_t>;
Place place(ValueRef v) { return {v.node, v.output}; }

bool writes_whole(const Node& n, size_t input) {
  const InputDef& def = n.op->input_def(static_cast<int>(input));
  return def.resource && def.replaces;
}

bool writes_state(const Node& n) {
  return n.kind != Node::Kind::kVariable &&
         std::any_of(n.outputs.begin(), n.outputs.end(),
                     [](const ValueInfo& info) { return info.state; });
}

// Sorted by the number of writes that a node depends on, one after the other: what none
// of them has to precede comes first. Ties keep the order in which nodes were added, so
// that a node still follows what it needs.
std::vector<int32_t> in_order(const Tracer& tracer, const ExtractRequest& request,
                              std::vector<int32_t> needed) {
  const Graph& graph = tracer.graph();
  std::vector<int32_t> writes(static_cast<size_t>(graph.size()), 0);
  std::vector<char> used(static_cast<size_t>(graph.size()), 0);
  for (int32_t i : needed) {
    const Node& n = graph.node(i);
    int32_t most = 0;
    const auto follow = [&](int32_t before) {
      most = std::max(most, writes[static_cast<size_t>(before)]);
      used[static_cast<size_t>(before)] = 1;
    };
    for (ValueRef v : n.inputs) {
      if (v.defined() && !graph.info(v).state) follow(v.node);
    }
    for (int32_t before : tracer.controls_of(i)) follow(before);
    writes[static_cast<size_t>(i)] = most + (writes_state(n) ? 1 : 0);
  }
  for (int32_t i : request.late) {
    if (!used[static_cast<size_t>(i)]) {
      writes[static_cast<size_t>(i)] = std::numeric_limits<int32_t>::max();
    }
  }
  std::stable_sort(needed.begin(), needed.end(), [&](int32_t a, int32_t b) {
    return writes[static_cast<size_t>(a)] < writes[static_cast<size_t>(b)];
  });
  return needed;
}

class Extraction {
 public:
  Extraction(const Tracer& tracer, const ExtractRequest& request,
             const StorageOf& storage)
      : from_(tracer.graph()), request_(request), storage_(storage) {
    made_.graph = std::make_shared<Graph>(from_.name());
    needed_ = in_order(tracer, request, needed_nodes(tracer, request));
  }

  Extracted run() {
    Graph& to = *made_.graph;
    for (ValueRef v : request_.fed) {
      const ValueInfo& info = from_.info(v);
      values_[place(v)] =
          to.add_parameter(info.dtype, info.shape, from_.node(v.node).name);
    }
    for (int32_t i : needed_) {
      const Node& n = from_.node(i);
      if (!n.is_op("VariableHasValue")) continue;
      made_.asked.push_back(variable_handle(from_, n.inputs[0]));
      values_[{i, 0}] = to.add_parameter(DType::kBool, Shape{}, n.name);
    }
    for (int32_t i : needed_) add(i);
    for (ValueRef v : request_.fetches) to.results().push_back(values_.at(place(v)));
    for (const State& s : states_) {
      if (!(s.now == s.first)) to.final_states().push_back(s.now);
      made_.variables.push_back(s.use);
    }
    return std::move(made_);
  }

 private:
  struct State {
    VariableUse use;
    ValueRef first, now;
  };

  State& state_of(const Tensor& handle) {
    const auto [found, is_new] = index_.try_emplace(handle.impl()->id, states_.size());
    if (is_new) {
      State s;
      s.use.handle = handle;
      s.first = s.now = made_.graph->add_variable(storage_(handle));
      states_.push_back(std::move(s));
    }
    return states_[found->second];
  }

  bool is_asked(const Tensor& handle) const {
    return std::any_of(made_.asked.begin(), made_.asked.end(),
                       [&](const Tensor& t) { return t.is(handle); });
  }

  ValueRef state_input(const Node& n, size_t input) {
    const Tensor handle = variable_handle(from_, n.inputs[input]);
    State& s = state_of(handle);
    const bool first_value = s.now == s.first;
    // Control flow may use it only where it has a value: whoever asks knows.
    const bool reads = n.op ? !writes_whole(n, input) : !is_asked(handle);
    s.use.read |= first_value && reads;
    return s.now;
  }

  // Sub-graphs name variables by their handles.
  GraphPtr with_storage(const GraphPtr& graph) {
    auto made = std::make_shared<Graph>(*graph);
    for (int32_t i = 0; i < made->size(); ++i) {
      Node& n = made->node(i);
      if (n.outputs.size() == 1 && n.outputs[0].state && n.constant.defined()) {
        n.constant = storage_(n.constant);
      }
      for (GraphPtr& sub : n.subgraphs) sub = with_storage(sub);
      n.gradient.reset();
    }
    return made;
  }

  void add(int32_t i) {
    const Node& n = from_.node(i);
    if (n.kind == Node::Kind::kVariable || n.is_op("NoOp")) return;
    if (n.is_op("VariableHasValue")) return;
    if (n.kind == Node::Kind::kParameter) {
      throw InvalidArgumentError(fmt::format(
          "You must feed a value for placeholder tensor '{}' with dtype {} and shape {}",
          n.name, dtype_name(n.outputs[0].dtype), n.outputs[0].shape.debug_str()));
    }
    if (n.is_op("PlaceholderWithDefault")) {
      values_.try_emplace({i, 0}, values_.at(place(n.inputs[0])));
      return;
    }
    Node copy = n;
    copy.after.clear();
    copy.gradient.reset();
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      const ValueRef v = n.inputs[k];
      if (!v.defined()) continue;
      copy.inputs[k] = from_.info(v).state ? state_input(n, k) : values_.at(place(v));
    }
    for (GraphPtr& sub : copy.subgraphs) sub = with_storage(sub);
    bool ordered = n.op && n.op->effects & kOrdered;
    for (const GraphPtr& sub : n.subgraphs) ordered |= has_ordered_effects(*sub);
    if (ordered && last_ordered_ >= 0) copy.after.push_back(last_ordered_);
    const int32_t index = made_.graph->add_node(std::move(copy));
    if (ordered) last_ordered_ = index;
    for (int32_t o = 0; o < static_cast<int32_t>(n.outputs.size()); ++o) {
      if (n.outputs[static_cast<size_t>(o)].state) {
        State& s = state_of(variable_handle(from_, {i, o}));
        s.now = {index, o};
        s.use.written = true;
      } else {
        values_.try_emplace({i, o}, ValueRef{index, o});
      }
    }
  }

  const Graph& from_;
  const ExtractRequest& request_;
  const StorageOf& storage_;
  Extracted made_;
  std::vector<int32_t> needed_;
  std::map<Place, ValueRef> values_;
  std::vector<State> states_;
  std::unordered_map<uint64_t, size_t> index_;
  int32_t last_ordered_ = -1;
};

}  // namespace

std::vector<int32_t> needed_nodes(const Tracer& tracer, const ExtractRequest& request) {
  const Graph& graph = tracer.graph();
  std::vector<char> needed(static_cast<size_t>(graph.size()), 0);
  std::vector<int32_t> open;
  const auto need_node = [&](int32_t node) {
    char& known = needed[static_cast<size_t>(node)];
    if (!std::exchange(known, 1)) open.push_back(node);
  };
  const auto need = [&](ValueRef v) {
    if (!v.defined()) return;
    if (std::find(request.fed.begin(), request.fed.end(), v) != request.fed.end()) return;
    need_node(v.node);
  };
  for (ValueRef v : request.fetches) need(v);
  for (int32_t node : request.targets) {
    // A placeholder that is run by itself is a value.
    if (graph.node(node).kind == Node::Kind::kParameter) {
      need({node, 0});
    } else {
      need_node(node);
    }
  }
  while (!open.empty()) {
    const int32_t i = open.back();
    open.pop_back();
    for (ValueRef v : graph.node(i).inputs) need(v);
    for (int32_t before : tracer.controls_of(i)) {
      if (graph.node(before).kind == Node::Kind::kParameter) {
        need({before, 0});
      } else {
        need_node(before);
      }
    }
  }
  std::vector<int32_t> nodes;
  for (int32_t i = 0; i < graph.size(); ++i) {
    if (needed[static_cast<size_t>(i)]) nodes.push_back(i);
  }
  return nodes;
}

Extracted extract(const Tracer& tracer, const ExtractRequest& request,
                  const StorageOf& storage) {
  return Extraction(tracer, request, storage).run();
}

}  // namespace tandem
