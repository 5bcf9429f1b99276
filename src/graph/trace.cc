#include "graph/trace.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "device/runtime.h"
#include "graph/handle.h"
#include "graph/location_scope.h"
#include "graph/next_name.h"
#include "graph/source_of.h"
#include "op/check_numerics.h"
#include "op/input_count.h"
#include "op/placement.h"
#include "ops/random_seed.h"
#include "tandem/control_flow.h"
#include "tandem/ops/array.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {
std::atomic<uint64_t> g_traces{0};
std::atomic<LocationProvider> g_locations{native_location};
thread_local std::shared_ptr<const SourceLocation> t_location;  // see LocationScope
thread_local std::string t_names;
thread_local std::string t_next;  // see graph/next_name.h

struct LiveTraces {
  std::mutex mutex;
  std::unordered_set<uint64_t> numbers;  // guarded by mutex
};
// Never destroyed: a trace may end when the process does.
LiveTraces& live_traces() {
  static auto* live = new LiveTraces;
  return *live;
}

}  // namespace

namespace {
[[maybe_unused]] const bool g_numbers_installed =
    (set_trace_op_numbers([] { return current_tracer()->next_random_op(); }), true);
}  // namespace

void set_location_provider(LocationProvider provider) { g_locations = provider; }

LocationScope::LocationScope(std::shared_ptr<const SourceLocation> location)
    : before_(t_location) {
  if (location) t_location = std::move(location);
}
LocationScope::~LocationScope() { t_location = std::move(before_); }

void name_next_op(std::string name) {
  if (current_tracer()) t_next = std::move(name);
}

std::string set_name_prefix(std::string prefix) {
  return std::exchange(t_names, std::move(prefix));
}

namespace {
// Of an op that is traced now.
std::string next_name(const std::string& fallback) {
  if (t_next.empty()) return t_names + fallback;
  std::string name = std::exchange(t_next, {});
  if (!name.ends_with('/')) return t_names + name;
  name.pop_back();
  return name;
}
}  // namespace

NameScope::NameScope(std::string name) : previous_(t_names.size()) {
  t_names += name + "/";
}
NameScope::~NameScope() { t_names.resize(previous_); }

Tracer* current_tracer() {
  Emitter& e = current_emitter();
  return e.tracing() ? static_cast<Tracer*>(&e) : nullptr;
}

Tracer::Tracer(Graph& graph, Listener listener, Tracer* outer)
    : graph_(graph),
      trace_(g_traces.fetch_add(1, std::memory_order_relaxed) + 1),
      listener_(std::move(listener)),
      outer_(outer) {
  LiveTraces& live = live_traces();
  const std::lock_guard lock(live.mutex);
  live.numbers.insert(trace_);
}

Tracer::~Tracer() {
  LiveTraces& live = live_traces();
  const std::lock_guard lock(live.mutex);
  live.numbers.erase(trace_);
}

bool is_trace_alive(uint64_t trace) {
  LiveTraces& live = live_traces();
  const std::lock_guard lock(live.mutex);
  return live.numbers.contains(trace);
}

Tensor Tracer::symbolic(ValueRef v) {
  auto value = make_ref<GraphValue>();
  value->graph = &graph_;
  value->trace = trace_;
  value->ref = v;
  const ValueInfo& info = graph_.info(v);
  return make_symbolic(info.dtype, info.shape, value);
}

Tensor Tracer::parameter(DType dtype, const Shape& shape, std::string name) {
  return symbolic(graph_.add_parameter(dtype, shape, std::move(name)));
}

namespace {
const GraphValue* graph_value(const Tensor& tensor) {
  return static_cast<const GraphValue*>(tensor.impl()->symbolic.get());
}
}  // namespace

bool Tracer::owns(const Tensor& tensor) const {
  const GraphValue* value = graph_value(tensor);
  return value && value->trace == trace_;
}

Tracer* Tracer::owner_outside(const Tensor& tensor) {
  Tracer* t = outer_;
  while (t && !t->owns(tensor)) t = t->outer_;
  return t;
}

Tracer::ValueKey Tracer::key_of(const Tensor& tensor) {
  const GraphValue* value = graph_value(tensor);
  if (!value) return {0, tensor.impl()->id};
  return {value->trace, static_cast<uint64_t>(value->ref.node) << 32 |
                            static_cast<uint32_t>(value->ref.output)};
}

bool Tracer::lifts(const Tensor& tensor) const {
  return (lift_ && lift_(tensor)) || (outer_ && outer_->lifts(tensor));
}

ValueRef Tracer::capture(const Tensor& tensor) {
  const ValueKey key = key_of(tensor);
  const auto found = captured_.find(key);
  if (found != captured_.end()) return {found->second, 0};
  ValueRef v;
  if (is_handle(tensor)) {
    v = graph_.add_state_parameter(tensor);
  } else {
    v = graph_.add_parameter(tensor.dtype(), tensor.shape(), "captured");
    // What is known of the value outside holds inside.
    if (Tracer* owner = graph_value(tensor) ? owner_outside(tensor) : nullptr) {
      const ValueInfo& outside = owner->graph_.info(graph_value(tensor)->ref);
      ValueInfo& info = graph_.info(v);
      info.value = outside.value;
      info.has_value = outside.has_value;
      info.dims = outside.dims;
    }
  }
  captured_.emplace(key, v.node);
  captures_.push_back({tensor, v.node, false});
  return v;
}

ValueRef Tracer::value_of(const Tensor& tensor) {
  if (!tensor.defined()) return {};
  if (!tensor.impl()->symbolic) {
    const auto found = constants_.find(tensor.impl()->id);
    if (found != constants_.end()) return found->second;
    if (lifts(tensor)) return capture(tensor);
    const ValueRef v = graph_.add_constant(tensor);
    constants_.emplace(tensor.impl()->id, v);
    return v;
  }
  if (owns(tensor)) return graph_value(tensor)->ref;
  if (owner_outside(tensor)) return capture(tensor);
  throw TypeError(fmt::format(
      "A symbolic tensor of shape {} and dtype {} is out of scope and cannot be accessed "
      "here: it was made by another function, or by a branch or a loop's body that has "
      "ended. Return it from there.",
      tensor.shape().str(), dtype_name(tensor.dtype())));
}

ValueRef Tracer::state_of(const Tensor& handle) {
  const uint64_t id = handle.impl()->id;
  const auto found = state_index_.find(id);
  if (found != state_index_.end()) return states_[found->second].now;
  const ValueRef v = outer_ ? capture(handle) : graph_.add_variable(handle);
  state_index_.emplace(id, states_.size());
  states_.push_back({handle, v, v});
  return v;
}

const std::vector<int32_t>& Tracer::controls_of(int32_t node) const {
  static const std::vector<int32_t> none;
  const auto found = controls_.find(node);
  return found == controls_.end() ? none : found->second;
}

void Tracer::note_controls(int32_t node) {
  if (!control_.empty()) controls_[node] = control_;
}

void Tracer::set_state(const Tensor& handle, ValueRef state) {
  state_of(handle);
  if (open_) return;
  states_[state_index_.at(handle.impl()->id)].now = state;
  for (Capture& c : captures_) {
    if (c.tensor.impl()->id == handle.impl()->id) c.written = true;
  }
}

void Tracer::annotate(Node& node) {
  if (const DeviceSpec* spec = current_device_spec()) {
    if (!spec->empty()) node.device = spec->str();
  }
  if (t_location) {
    node.location = t_location;
  } else if (LocationProvider provider = g_locations.load(std::memory_order_relaxed)) {
    node.location = provider();
  }
}

int32_t Tracer::add_control_flow(Node node) {
  annotate(node);
  node.name = t_names + node.name;
  bool ordered = false;
  for (const GraphPtr& g : node.subgraphs) ordered |= has_ordered_effects(*g);
  ordered = ordered && !open_;
  if (ordered && last_ordered_ >= 0) node.after.push_back(last_ordered_);
  const int32_t index = graph_.add_node(std::move(node));
  if (ordered) last_ordered_ = index;
  note_controls(index);
  return index;
}

void Tracer::finish() {
  graph_.final_states().clear();
  for (const VariableState& s : states_) {
    if (!(s.now == s.first)) graph_.final_states().push_back(s.now);
  }
}

bool has_ordered_effects(const Graph& graph) {
  for (const Node& n : graph.nodes()) {
    if (n.op && n.op->effects & kOrdered) return true;
    for (const GraphPtr& g : n.subgraphs) {
      if (has_ordered_effects(*g)) return true;
    }
  }
  return false;
}

// Shape, Size and Rank of an outer value are computed where it is, and are constants
// where everything is known.
bool Tracer::emit_shape_outside(const OpDef& op, AttrsRef attrs, const Tensor& input,
                                std::vector<Tensor>& outputs) {
  if (op.name != "Shape" && op.name != "Size" && op.name != "Rank") return false;
  Tracer* owner = owner_outside(input);
  ValueInfo info;
  info.dtype = input.dtype();
  info.shape = input.shape();
  const std::vector<ValueInfo> known = infer_outputs(op, attrs, {&info, 1});
  const PartialValue& v = known[0].value;
  if (known[0].has_value && std::find(v.begin(), v.end(), kUnknownValue) == v.end()) {
    Tensor made = make_tensor(Runtime::get().cpu(), known[0].dtype, known[0].shape);
    const size_t size = dtype_size(known[0].dtype);
    auto* p = static_cast<std::byte*>(made.impl()->data());
    // Little-endian: the low bytes of the 64-bit value are the narrower integer.
    for (size_t i = 0; i < v.size(); ++i) std::memcpy(p + i * size, &v[i], size);
    outputs = {made};
    return true;
  }
  owner->emit(op, attrs, std::vector<TensorArg>{input}, outputs);
  return true;
}

Tensor Tracer::stand_in(const Tensor& tensor) {
  Tensor& made = stand_ins_[key_of(tensor)];
  if (made.defined()) return made;
  static const OpHandle shape("Shape"), empty("Empty");
  const ShapeAttrs as{DType::kInt64};
  const Tensor dims = emit_one(shape, attrs_ref(as), std::vector<TensorArg>{tensor});
  const EmptyAttrs like{tensor.dtype(), false};
  const Tensor result = emit_one(empty, attrs_ref(like), std::vector<TensorArg>{dims});
  return stand_ins_[key_of(tensor)] = result;
}

void Tracer::emit(const OpDef& op, AttrsRef attrs, std::span<const TensorArg> inputs,
                  std::vector<Tensor>& outputs) {
  check_input_count(op, inputs.size());
  if (shapes_only_) {
    std::vector<Tensor> replaced(inputs.size());
    std::vector<TensorArg> args(inputs.begin(), inputs.end());
    bool any = false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor& t = inputs[i].get();
      if (!op.input_def(static_cast<int>(i)).shape_only || !t.defined() ||
          !t.impl()->symbolic || owns(t) || t.dtype() == DType::kVariant) {
        continue;
      }
      if (inputs.size() == 1 && emit_shape_outside(op, attrs, t, outputs)) return;
      replaced[i] = stand_in(t);
      args[i] = TensorArg(replaced[i]);
      any = true;
    }
    if (any) return emit_here(op, attrs, args, outputs);
  }
  emit_here(op, attrs, inputs, outputs);
  if (checks_numerics()) check_outputs(op, *this, outputs);
}

void Tracer::emit_here(const OpDef& op, AttrsRef attrs, std::span<const TensorArg> inputs,
                       std::vector<Tensor>& outputs) {
  if (frozen_) throw RuntimeStateError("Graph is finalized and cannot be modified.");
  std::vector<ValueRef> refs;
  refs.reserve(inputs.size());
  const Tensor* written = nullptr;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = inputs[i].get();
    const InputDef& def = op.input_def(static_cast<int>(i));
    if (def.resource) {
      if (!t.defined() || !is_handle(t)) {
        throw InvalidArgumentError(fmt::format(
            "{}: input {} must be a variable's handle. Pass a Variable.", op.name, i));
      }
      refs.push_back(state_of(t));
      if (def.writes) written = &t;
    } else {
      if (t.defined() && is_handle(t)) {
        throw InvalidArgumentError(fmt::format(
            "{}: input {} is a variable's handle where a tensor is wanted. Read it.",
            op.name, i));
      }
      if (!t.defined() && !def.optional) {
        throw InvalidArgumentError(
            fmt::format("{}: input #{} is not a tensor. Give it a value.", op.name, i));
      }
      refs.push_back(value_of(t));
    }
  }
  const int32_t index = graph_.add_op(op, attrs, std::move(refs), next_name(op.name));
  Node& node = graph_.node(index);
  annotate(node);
  note_controls(index);
  if (op.effects & kOrdered && !open_) {
    if (last_ordered_ >= 0) node.after.push_back(last_ordered_);
    last_ordered_ = index;
  }
  const auto count = static_cast<int32_t>(node.outputs.size());
  if (written) set_state(*written, {index, count - 1});
  std::vector<Tensor> made;
  for (int32_t i = 0; i < count - (written ? 1 : 0); ++i) {
    made.push_back(symbolic({index, i}));
  }
  if (listener_) listener_(op, graph_.node(index).attrs.ref(), inputs, made);
  outputs = std::move(made);
}

Tensor Tracer::emit_one(const OpDef& op, AttrsRef attrs,
                        std::span<const TensorArg> inputs) {
  std::vector<Tensor> outputs;
  emit(op, attrs, inputs, outputs);
  return outputs.empty() ? Tensor() : outputs[0];
}

}  // namespace tandem
