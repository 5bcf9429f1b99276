#include "run/graph_function.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/flags.h"
#include "base/log.h"
#include "base/recorder.h"
#include "device/runtime.h"
#include "graph/passes/fusion.h"
#include "graph/rewriter.h"
#include "graph/states.h"
#include "plan/assignment.h"
#include "plan/end_placement.h"
#include "plan/list_devices.h"
#include "run/boundary.h"
#include "run/graph_interpreter.h"
#include "run/installed_plans.h"
#include "run/stages.h"
#include "run/tape.h"
#include "tandem/device.h"
#include "tandem/precision.h"
#include "tensor/tensor_list.h"
#include "tensor/variable_impl.h"
#include "tensor/variable_scope.h"

namespace tandem {

namespace {

// Where an argument's contents are: of a list, its elements.
Device* device_of(const Tensor& argument, bool list) {
  Device* elements = list ? list_of(argument).element_device() : nullptr;
  return elements ? elements : argument.impl()->device;
}

// Handles of datasets and iterators have the same dtype: only ops tell which a value is.
bool is_used_as_list(const Graph& g, ValueRef v) {
  for (const Node& n : g.nodes()) {
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      if (!(n.inputs[k] == v)) continue;
      if (n.op && is_list_op(*n.op)) return true;
      const size_t first = n.kind == Node::Kind::kIf || n.kind == Node::Kind::kCase;
      for (const GraphPtr& sub : n.subgraphs) {
        if (k >= first && is_used_as_list(*sub, {sub->parameters()[k - first], 0})) {
          return true;
        }
      }
    }
  }
  return false;
}
std::vector<char> find_lists(const Graph& g) {
  std::vector<char> lists;
  for (int32_t p : g.parameters()) {
    const ValueInfo& info = g.node(p).outputs[0];
    if (info.state) continue;
    lists.push_back(info.dtype == DType::kVariant && is_used_as_list(g, {p, 0}));
  }
  return lists;
}

bool is_state(const Graph& g, int32_t node) { return g.node(node).outputs[0].state; }

// The parameters whose contents reach an input that decides shapes. Whose shape alone is
// looked at on the way there does not: rows of ids have a number, whatever the ids are.
std::vector<char> find_deciding_parameters(const Graph& g) {
  std::vector<char> decides(g.nodes().size(), 0);
  for (int32_t i = g.size(); i-- > 0;) {
    const Node& n = g.node(i);
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      if (!n.inputs[k].defined()) continue;
      const InputDef* const def =
          n.kind == Node::Kind::kOp ? &n.op->input_def(static_cast<int>(k)) : nullptr;
      if (def && def->shape_only) continue;
      const bool host = def && def->host;
      const bool small = is_integer(g.info(n.inputs[k]).dtype);
      if (host || (decides[static_cast<size_t>(i)] && small)) {
        decides[static_cast<size_t>(n.inputs[k].node)] = 1;
      }
    }
  }
  std::vector<char> result;
  for (int32_t p : g.parameters()) {
    if (!is_state(g, p)) result.push_back(decides[static_cast<size_t>(p)]);
  }
  return result;
}

// A sub-graph as a function of its own: its state parameters become variables, results
// that it does not make are left out.
GraphPtr callable(GraphPtr graph) {
  const bool states = std::any_of(graph->parameters().begin(), graph->parameters().end(),
                                  [&](int32_t p) { return is_state(*graph, p); });
  const bool absent = std::any_of(graph->results().begin(), graph->results().end(),
                                  [](ValueRef v) { return !v.defined(); });
  if (!states && !absent) return graph;
  GraphRewriter r(*graph);
  for (int32_t i = 0; i < graph->size(); ++i) {
    const Node& n = graph->node(i);
    if (n.kind == Node::Kind::kParameter && n.outputs[0].state) {
      r.replace({i, 0}, r.to().add_variable(n.constant));
    } else {
      r.copy(i);
    }
  }
  Graph made = r.finish();
  std::vector<ValueRef> results;
  for (ValueRef v : made.results()) {
    if (!v.defined()) continue;
    if (!made.info(v).state) {
      results.push_back(v);
    } else if (made.node(v.node).kind != Node::Kind::kVariable) {
      made.final_states().push_back(v);
    }
  }
  made.results() = std::move(results);
  return std::make_shared<const Graph>(std::move(made));
}

// By result that is no state: whether the graph makes it.
std::vector<char> find_made(const Graph& graph) {
  std::vector<char> made;
  for (ValueRef v : graph.results()) {
    if (!v.defined() || !graph.info(v).state) made.push_back(v.defined());
  }
  return made;
}

// What a plan takes as long as it is kept: its nodes, kernels and places, and constants
// that the function's own graph does not have.
int64_t kept_bytes(const PlannedGraph& planned, const Graph& source) {
  constexpr int64_t kNodeBytes = 4096;
  std::set<const Buffer*> shared;
  for (const Node& n : source.nodes()) {
    if (n.kind == Node::Kind::kConstant) shared.insert(n.constant.impl()->buffer.get());
  }
  int64_t bytes = 0;
  for (const Node& n : planned.graph->nodes()) {
    bytes += kNodeBytes;
    if (n.kind != Node::Kind::kConstant) continue;
    const TensorImpl& t = *n.constant.impl();
    if (t.buffer && !shared.contains(t.buffer.get())) {
      bytes += static_cast<int64_t>(t.buffer->bytes());
    }
  }
  for (const PlanSpace& s : planned.plan.spaces) {
    if (!Runtime::get().named(s.device).is_host()) bytes += s.constant_bytes;
  }
  for (const auto& list : planned.subplans) {
    for (const auto& sub : list) bytes += kept_bytes(*sub, source);
  }
  return bytes;
}

bool copies_between_devices(const PlannedGraph& planned) {
  if (planned.plan.copies > 0) return true;
  for (const auto& list : planned.subplans) {
    for (const auto& sub : list) {
      if (copies_between_devices(*sub)) return true;
    }
  }
  return false;
}

// Parameters whose contents are part of the key are constants of the plan.
Graph set_values(const Graph& graph, const std::vector<Tensor>& values) {
  GraphRewriter r(graph);
  size_t number = 0;
  for (int32_t i = 0; i < graph.size(); ++i) {
    r.copy(i);
    if (graph.node(i).kind != Node::Kind::kParameter) continue;
    const Tensor& value = values[number++];
    if (value.defined())
      r.replace({i, 0}, r.to().add_constant(value, graph.node(i).name));
  }
  return r.finish();
}

}  // namespace

struct GraphFunction::Key {
  struct Argument {
    DType dtype = DType::kInvalid;
    bool list = false;    // of tensors
    bool valued = false;  // its contents decide shapes, and are `value`
    Device* device = nullptr;
    Shape shape;
    PartialValue value;
  };
  static constexpr size_t kNone = ~size_t{0};
  /// When a call of the plan makes all results; else kNone.
  size_t results = kNone;
  std::vector<Argument> arguments;
  std::vector<Shape> variable_shapes;
  bool deterministic = false;
  bool rounded_products = false;  // tandem/precision.h
  int threads = 0;
  CopyPolicy copies = CopyPolicy::kSilent;
};

struct GraphFunction::Compiled {
  explicit Compiled(std::shared_ptr<KeptPlans> k) : kept(std::move(k)) { ++kept->count; }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() { uncount(); }
  /// It is no longer kept, though calls may still use it.
  void uncount();

  // What every call reads, side by side (run/executable.h).
  alignas(64) std::unique_ptr<InstalledPlans> plans;
  const Team* team = Runtime::get().cpu().team();
  Key key;
  PassTrace passes;
  FusionNotes notes;
  double optimize_ms = 0, plan_ms = 0;
  // Left over when sizes depend on data.
  bool whole = true;
  std::unique_ptr<Boundary> boundary;
  std::vector<StageInput> boundary_inputs, rest_inputs;
  std::unique_ptr<GraphFunction> rest;
  Tensor variable;      // one of those that are held over the parts: they share a lock
  bool writes = false;  // any of them
  bool copies = false;  // between devices, here or in the parts that follow
  const std::shared_ptr<KeptPlans> kept;
  int64_t bytes = 0;    // that it takes as long as it is kept
  bool counted = true;  // among those kept

  bool fits(std::span<const Tensor> arguments, const GraphFunction& f) const;
  std::vector<Tensor> run(std::span<const Tensor> arguments);
  std::vector<Tensor> run_parts(std::span<const Tensor> arguments);
};

bool GraphFunction::Compiled::fits(std::span<const Tensor> arguments,
                                   const GraphFunction& f) const {
  if (key.deterministic != config::op_determinism_enabled()) return false;
  if (key.rounded_products != config::tensor_float_32_execution_enabled()) return false;
  if (key.threads != team->threads()) return false;
  if (copies && key.copies != config::get_device_policy()) return false;
  if (arguments.size() != key.arguments.size()) return false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TensorImpl* t = arguments[i].impl();
    const Key::Argument& k = key.arguments[i];
    if (!t || t->symbolic || t->dtype != k.dtype || !(t->shape == k.shape) ||
        (k.list ? device_of(arguments[i], true) : t->device) != k.device) {
      return false;
    }
    if (k.valued && !(host_ints(arguments[i], "argument") == k.value)) return false;
  }
  for (size_t i = 0; i < key.variable_shapes.size(); ++i) {
    VariableImpl& v = variable_of(f.open_variables_[i]);
    const VariableHold hold(v, VariableHold::Mode::kShared);
    if (!(v.value.shape() == key.variable_shapes[i])) return false;
  }
  return true;
}

void GraphFunction::Compiled::uncount() {
  if (!std::exchange(counted, false)) return;
  --kept->count;
  kept->bytes -= bytes;
  if (!rest) return;
  const std::lock_guard lock(rest->mutex_);
  for (const auto& later : rest->compiled_) later->uncount();
}

std::vector<Tensor> GraphFunction::Compiled::run(std::span<const Tensor> arguments) {
  return whole ? plans->current().run(arguments) : run_parts(arguments);
}

std::vector<Tensor> GraphFunction::Compiled::run_parts(
    std::span<const Tensor> arguments) {
  // No other call may write between the parts. They hold what they use themselves, too,
  // which this thread then has already.
  std::optional<VariableScope> hold;
  if (variable.defined()) {
    hold.emplace(variable_of(variable),
                 writes ? VariableHold::Mode::kExclusive : VariableHold::Mode::kShared);
  }
  const std::vector<Tensor> results = plans->current().run(arguments);
  std::vector<Tensor> sizes;
  const auto gather = [&](const std::vector<StageInput>& inputs) {
    std::vector<Tensor> list;
    for (const StageInput& in : inputs) {
      const auto i = static_cast<size_t>(in.index);
      list.push_back(in.from == StageInput::From::kArgument  ? arguments[i]
                     : in.from == StageInput::From::kPlanned ? results[i]
                                                             : sizes[i]);
    }
    return list;
  };
  sizes = boundary->run(gather(boundary_inputs));
  return rest->run(gather(rest_inputs));
}

namespace {

GraphFunctionOptions whole_options(GraphFunctionOptions options) {
  if (!options.pool) options.pool = std::make_shared<ArenaPool>();
  if (!options.kept) options.kept = std::make_shared<KeptPlans>();
  return options;
}

}  // namespace

GraphFunction::GraphFunction(GraphPtr graph, GraphFunctionOptions options)
    : made_(find_made(*graph)),
      graph_(callable(std::move(graph))),
      options_(whole_options(std::move(options))) {
  // What nobody needs decides nothing: a range whose numbers a loop counts, for one.
  value_matters_ =
      find_deciding_parameters(options_.optimize ? remove_dead_nodes(*graph_) : *graph_);
  lists_ = find_lists(*graph_);
  planned_values_.resize(value_matters_.size());
  std::vector<VariableImpl*> variables;
  for (const Node& n : graph_->nodes()) {
    if (n.kind != Node::Kind::kVariable) continue;
    VariableImpl& v = variable_of(n.constant);
    variables.push_back(&v);
    if (!v.shape.is_known()) open_variables_.push_back(n.constant);
  }
  join_variable_locks(variables);
}

GraphFunction::~GraphFunction() = default;

int64_t GraphFunction::plans() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(compiled_.size());
}

// ---- Finding and making plans

GraphFunction::Compiled& GraphFunction::find(std::span<const Tensor> arguments) {
  Compiled* last = last_.load(std::memory_order_seq_cst);
  if (last && last->fits(arguments, *this)) return *last;
  const std::lock_guard lock(mutex_);
  for (size_t i = compiled_.size(); i-- > 0;) {
    if (!compiled_[i]->fits(arguments, *this)) continue;
    std::rotate(compiled_.begin() + static_cast<std::ptrdiff_t>(i),
                compiled_.begin() + static_cast<std::ptrdiff_t>(i) + 1, compiled_.end());
    last_.store(compiled_.back().get(), std::memory_order_seq_cst);
    return *compiled_.back();
  }
  Key key;
  key.deterministic = config::op_determinism_enabled();
  key.rounded_products = config::tensor_float_32_execution_enabled();
  key.threads = Runtime::get().cpu().team()->threads();
  key.copies = config::get_device_policy();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TensorImpl& t = *arguments[i].impl();
    Key::Argument k;
    k.dtype = t.dtype;
    k.list = lists_[i];
    k.device = device_of(arguments[i], k.list);
    k.shape = t.shape;
    if (value_matters_[i] && is_integer(t.dtype) && t.shape.rank() <= 1 &&
        t.shape.num_elements() <= kMaxHostValues) {
      k.value = host_ints(arguments[i], "argument");
      k.valued = !k.value.empty() && plans_by_value(i, k.value);
      if (!k.valued) k.value.clear();
    }
    key.arguments.push_back(std::move(k));
  }
  for (const Tensor& handle : open_variables_) {
    VariableImpl& v = variable_of(handle);
    const VariableHold hold(v, VariableHold::Mode::kShared);
    key.variable_shapes.push_back(v.value.shape());
  }
  std::unique_ptr<Compiled> made = compile(key, arguments);
  const size_t results = made->plans->own().graph->results().size();
  if (made->whole && results == made_.size()) key.results = results;
  made->key = std::move(key);
  compiled_.push_back(std::move(made));
  last_.store(compiled_.back().get(), std::memory_order_seq_cst);
  forget_old_plans();
  return *compiled_.back();
}

// Contents that decide sizes are planned for while they are few (a shape, a number of
// heads). What differs from call to call is data: the sizes that it decides are found
// when the function runs, and plans are made for those.
bool GraphFunction::plans_by_value(size_t argument, const PartialValue& value) {
  constexpr size_t kMostValues = 32;
  std::vector<PartialValue>& known = planned_values_[argument];
  if (std::find(known.begin(), known.end(), value) != known.end()) return true;
  if (known.size() >= kMostValues) return false;
  known.push_back(value);
  return true;
}

void GraphFunction::forget_old_plans() {
  const KeptPlans& kept = *options_.kept;
  while (compiled_.size() > 1 &&
         (kept.count > options_.max_plans || kept.bytes > options_.max_plan_bytes)) {
    // What is retired counts until nobody runs it; it is no reason to retire more.
    std::unique_ptr<Compiled> oldest = std::move(compiled_.front());
    compiled_.erase(compiled_.begin());
    oldest->uncount();
    readers_.retire(std::move(oldest));
  }
}

namespace {

// As TensorFlow logs functions: every op as it was traced, before any is fused away.
void log_placement(const Graph& graph, const std::vector<Device*>& parameters) {
  const Graph whole = inline_calls(graph);
  const Assignment assignment = assign_devices(whole, parameters);
  for (int32_t i = 0; i < whole.size(); ++i) {
    const Node& n = whole.node(i);
    const Device* device = assignment.devices[static_cast<size_t>(i)];
    if (!n.op || !device) continue;
    logging::line(fmt::format("{}: ({}): {}", n.name, n.op->name, device->full_name()));
  }
}

}  // namespace

namespace {

// Whether single ops may run until fused kernels are compiled: which of the two a call
// uses depends on how fast that goes, and their sums may differ in the last bits.
bool may_stand_in(bool deterministic) {
  if (deterministic || !env_bool("TANDEM_BACKGROUND_COMPILE", true)) return false;
  const std::span<Device* const> all = Runtime::get().devices();
  return std::any_of(all.begin(), all.end(),
                     [](const Device* d) { return d->platform() != kHostPlatform; });
}

}  // namespace

std::unique_ptr<GraphFunction::Compiled> GraphFunction::compile(
    const Key& key, std::span<const Tensor> arguments) {
  auto made = std::make_unique<Compiled>(options_.kept);
  const int64_t begin = recorder::now_ns();
  std::vector<TensorInfo> infos;
  std::vector<Tensor> values;
  std::vector<Device*> devices;
  for (size_t i = 0; i < key.arguments.size(); ++i) {
    const Key::Argument& k = key.arguments[i];
    TensorInfo info;
    info.dtype = k.dtype;
    info.shape = k.shape;
    info.value = k.value;
    info.has_value = !k.value.empty();
    infos.push_back(std::move(info));
    values.push_back(k.value.empty() ? Tensor() : arguments[i].to_host());
    devices.push_back(k.device);
  }
  Graph graph = specialize(set_values(*graph_, values), infos);
  if (config::get_log_device_placement()) log_placement(graph, devices);
  const auto run_node = [](const Node& node, std::span<const Tensor> inputs) {
    const DeviceScope host("/CPU:0");
    return interpret_node(node, inputs);
  };
  const Evaluate evaluate(run_node);
  if (options_.optimize) {
    PassOptions passes;
    passes.evaluate = &evaluate;
    graph = tandem::optimize(graph, passes, &made->passes);
  } else {
    // Host inputs must be constants all the same.
    graph = fold_constants(inline_calls(graph), nullptr);
  }
  Stages stages = cut_stages(graph);
  std::optional<Graph> single_ops;
  if (options_.optimize) {
    if (may_stand_in(key.deterministic)) single_ops = stages.planned;
    FusionTarget target = cpu_fusion_target();
    target.end_allowed = end_keeps_device;
    target.norm_end_allowed = norm_end_pays;
    target.loss_allowed = narrow_loss_pays;
    stages.planned = fuse(stages.planned, target, &made->notes);
  }
  made->optimize_ms = static_cast<double>(recorder::now_ns() - begin) / 1e6;

  PlanOptions plan;
  plan.deterministic = key.deterministic;
  plan.copies = key.copies;
  plan.measure_kernels = options_.measure_kernels && options_.optimize;
  made->plans = std::make_unique<InstalledPlans>(std::move(stages.planned),
                                                 std::move(devices), plan, options_.pool,
                                                 single_ops ? &*single_ops : nullptr);
  made->plan_ms = made->plans->own().plan.plan_ms;
  made->copies = copies_between_devices(made->plans->own()) ||
                 copies_between_devices(made->plans->running().planned());
  made->bytes = kept_bytes(made->plans->own(), *graph_);
  options_.kept->bytes += made->bytes;
  made->whole = stages.whole;
  if (!stages.whole) {
    for (const Node& n : graph.nodes()) {
      if (n.kind == Node::Kind::kVariable) made->variable = n.constant;
    }
    made->writes = !graph.final_states().empty();
    made->boundary = std::make_unique<Boundary>(std::move(stages.boundary), options_);
    made->boundary_inputs = std::move(stages.boundary_inputs);
    made->rest_inputs = std::move(stages.rest_inputs);
    made->rest = std::make_unique<GraphFunction>(
        std::make_shared<const Graph>(std::move(stages.rest)), options_);
  }
  return made;
}

void GraphFunction::check_count(std::span<const Tensor> arguments) const {
  if (arguments.size() == value_matters_.size()) return;
  throw InvalidArgumentError(fmt::format("{}: takes {} arguments, got {}", graph_->name(),
                                         value_matters_.size(), arguments.size()));
}

void move_results(std::vector<Tensor> results, std::span<Tensor> places,
                  const std::string& function) {
  if (results.size() != places.size()) {
    throw ValueError(
        fmt::format("{}: has {} results and was given {} places for them. "
                    "Give one for each.",
                    function, results.size(), places.size()));
  }
  std::move(results.begin(), results.end(), places.begin());
}

bool GraphFunction::repeat(std::span<const Tensor> arguments, std::span<Tensor> results) {
  const PauseRecording pause;
  const Readers<std::unique_ptr<Compiled>>::Reading reading(readers_);
  const Compiled* const last = last_.load(std::memory_order_seq_cst);
  if (!last || last->key.results != results.size() || !last->fits(arguments, *this)) {
    return false;
  }
  last->plans->current().run(arguments, results);
  return true;
}

void GraphFunction::run(std::span<const Tensor> arguments, std::span<Tensor> results) {
  if (!repeat(arguments, results)) move_results(run(arguments), results, graph_->name());
}

bool GraphFunction::replay_kernels(std::span<const Tensor> arguments, int64_t times) {
  check_count(arguments);
  const Readers<std::unique_ptr<Compiled>>::Reading reading(readers_);
  Compiled& c = find(arguments);
  return c.whole && c.plans->current().replay_kernels(times);
}

std::vector<Tensor> GraphFunction::run(std::span<const Tensor> arguments) {
  std::vector<Tensor> results(made_.size());
  if (repeat(arguments, results)) return results;
  check_count(arguments);
  const PauseRecording pause;
  const Readers<std::unique_ptr<Compiled>>::Reading reading(readers_);
  std::vector<Tensor> filled;
  if (std::any_of(arguments.begin(), arguments.end(),
                  [](const Tensor& t) { return !t.defined(); })) {
    filled = fill_absent(arguments);
    arguments = filled;
  }
  results = find(arguments).run(arguments);
  if (results.size() == made_.size()) return results;
  std::vector<Tensor> all;
  size_t next = 0;
  for (char made : made_) all.push_back(made ? std::move(results[next++]) : Tensor());
  return all;
}

// What a branch that did not run would have made: nobody uses it, but it needs a form.
std::vector<Tensor> GraphFunction::fill_absent(std::span<const Tensor> arguments) const {
  std::vector<Tensor> filled(arguments.begin(), arguments.end());
  size_t number = 0;
  for (int32_t p : graph_->parameters()) {
    if (is_state(*graph_, p)) continue;
    Tensor& t = filled[number++];
    if (t.defined()) continue;
    const ValueInfo& info = graph_->node(p).outputs[0];
    if (info.dtype == DType::kVariant) {
      t = make_list_tensor(TensorList(DType::kFloat32, Shape::unknown(), 0));
      continue;
    }
    Shape shape = info.shape.has_rank() ? info.shape : Shape{};
    for (int d = 0; d < shape.rank(); ++d) shape.set(d, std::max<int64_t>(shape[d], 1));
    t = make_tensor(Runtime::get().cpu(), info.dtype, shape);
    std::fill_n(static_cast<std::byte*>(t.impl()->data()), t.impl()->bytes(),
                std::byte{0});
  }
  return filled;
}

std::shared_ptr<const PlannedGraph> GraphFunction::plan(std::span<const Tensor> arguments,
                                                        const PlanOptions& options) {
  check_count(arguments);
  const Readers<std::unique_ptr<Compiled>>::Reading reading(readers_);
  return find(arguments).plans->plan(options);
}

size_t GraphFunction::install(std::span<const Tensor> arguments,
                              std::shared_ptr<const PlannedGraph> plan) {
  check_count(arguments);
  const Readers<std::unique_ptr<Compiled>>::Reading reading(readers_);
  return find(arguments).plans->install(std::move(plan));
}

void GraphFunction::use(std::span<const Tensor> arguments, size_t number) {
  check_count(arguments);
  const Readers<std::unique_ptr<Compiled>>::Reading reading(readers_);
  find(arguments).plans->use(number);
}

size_t GraphFunction::installed(std::span<const Tensor> arguments) {
  check_count(arguments);
  const Readers<std::unique_ptr<Compiled>>::Reading reading(readers_);
  return find(arguments).plans->size();
}

std::string GraphFunction::explain() const {
  const std::lock_guard lock(mutex_);
  if (compiled_.empty()) return {};
  const Compiled& c = *compiled_.back();
  std::string text = fmt::format("passes took {:.1f} ms, the plan {:.1f} ms\n",
                                 c.optimize_ms, c.plan_ms);
  text += c.passes.text();
  for (const FusionNote& n : c.notes) text += fmt::format("  {}: {}\n", n.node, n.text);
  text += c.plans->describe();
  text += tandem::explain(c.plans->running().planned());
  text += c.plans->running().describe();
  for (Device* d : Runtime::get().devices()) {
    if (const int64_t n = c.plans->running().launches(d->full_name())) {
      text += fmt::format("  captured launches on {}: {}\n", d->short_name(), n);
    }
  }
  if (const int64_t n = c.plans->running().moved_arguments()) {
    text += fmt::format("  arguments at odd addresses, copied first: {}\n", n);
  }
  if (!c.whole) {
    text += "sizes that depend on data cut the plan here:\n" + c.boundary->describe();
    text += c.rest->explain();
  }
  return text;
}

std::string GraphFunction::dump() const {
  const std::lock_guard lock(mutex_);
  return compiled_.empty() ? graph_->dump()
                           : compiled_.back()->plans->running().planned().graph->dump();
}
std::string GraphFunction::dot() const {
  const std::lock_guard lock(mutex_);
  return compiled_.empty() ? graph_->dot()
                           : compiled_.back()->plans->running().planned().graph->dot();
}

}  // namespace tandem
