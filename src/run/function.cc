#include "tandem/function.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include <fmt/format.h>

#include "base/log.h"
#include "base/thread_state.h"
#include "graph/dim_names.h"
#include "graph/trace.h"
#include "op/placement.h"
#include "run/compiled_function.h"
#include "run/function_access.h"
#include "run/readers.h"
#include "run/signature.h"
#include "run/tape.h"
#include "tensor/tensor_impl.h"

namespace tandem {

namespace {

// The device scope around a call is part of what was traced: "" outside any.
std::string device_scope() {
  const DeviceSpec* spec = current_device_spec();
  return spec ? spec->str() : std::string();
}

// After this many traces a function that is traced again says why.
constexpr int64_t kRetraceWarning = 5;
// Functions traced into each other on one thread: a body that calls itself without end
// gets an error instead of a full stack.
constexpr int kMaxNesting = 256;
thread_local int t_nesting = 0;

void record_traced(const OpDef& op, AttrsRef attrs, std::span<const TensorArg> inputs,
                   std::span<const Tensor> outputs) {
  if (recording()) record_op(op, attrs, inputs, outputs);
}

}  // namespace

struct Function::State {
  // One trace of a function.
  struct Trace {
    std::shared_ptr<CompiledFunction> compiled;
    uint64_t scope = 0;         // `device` as a number
    bool tensors_only = false;  // the arguments are those of `compiled`
    CallSignature signature;
    std::string device;
  };

  State(Body b, FunctionOptions o) : body(std::move(b)), options(std::move(o)) {}

  // The trace of the last call; alive while a Reading is.
  std::atomic<const Trace*> last{nullptr};
  Readers<std::shared_ptr<const Trace>> readers;
  using Reading = Readers<std::shared_ptr<const Trace>>::Reading;
  const Body body;
  const FunctionOptions options;
  const std::shared_ptr<ArenaPool> pool = std::make_shared<ArenaPool>();  // of its traces
  mutable std::mutex mutex;  // guards what follows; held while tracing
  std::vector<std::shared_ptr<const Trace>> traces;  // most recently used last
  std::atomic<int64_t> count{0};  // read without the mutex: the body may ask, too
  bool warned = false;

  std::shared_ptr<const Trace> find(const CallSignature& s,
                                    const std::vector<Argument>& arguments);
  std::shared_ptr<const Trace> trace(CallSignature s,
                                     const std::vector<Argument>& arguments);
  void check_input_signature(const CallSignature& s) const;
  bool repeat(std::span<const Tensor> arguments, std::span<Tensor> results) const;
  const Trace* repeated(std::span<const Tensor> arguments) const;
  void name_parameter(Graph& graph, size_t number) const;
};

// ---- Tracing

std::shared_ptr<const Function::State::Trace> Function::State::trace(
    CallSignature s, const std::vector<Argument>& arguments) {
  Graph graph(options.name);
  Tracer tracer(graph, record_traced);
  // A body that fails leaves nothing behind but what it did to the user's objects.
  {
    const HideListeners outside;
    const EmitterScope scope(&tracer);
    std::vector<Tensor> parameters;
    size_t number = 0;
    for (const SignatureItem& item : s) {
      if (item.kind != SignatureItem::Kind::kTensor) continue;
      const bool named =
          options.input_signature && number < options.input_signature->size();
      std::string name = named ? (*options.input_signature)[number].name : "";
      if (name.empty()) name = fmt::format("arg{}", number);
      parameters.push_back(tracer.parameter(item.dtype, item.shape, std::move(name)));
      if (named) name_parameter(graph, parameters.size() - 1);
      ++number;
    }
    size_t next = 0;
    const std::vector<Tensor> results =
        body(replace_tensors(arguments, parameters, next));
    for (const Tensor& t : results) {
      if (!t.defined()) {
        throw ValueError(
            fmt::format("{}: a result is not a tensor. Return a tensor from every place.",
                        options.name));
      }
      graph.results().push_back(tracer.value_of(t));
    }
  }
  tracer.finish();
  auto made = std::make_shared<Trace>();
  made->tensors_only = std::all_of(s.begin(), s.end(), [](const SignatureItem& item) {
    return item.kind == SignatureItem::Kind::kTensor;
  });
  made->signature = std::move(s);
  made->device = device_scope();
  made->scope = scope_key();
  GraphFunctionOptions graph_options;
  graph_options.optimize = options.optimize;
  graph_options.max_plans = options.max_plans;
  graph_options.pool = pool;
  made->compiled = std::make_shared<CompiledFunction>(
      std::make_shared<const Graph>(name_dimensions(graph)), graph_options);
  ++count;
  return made;
}

// The names that the input_signature gives to the dimensions of a parameter.
void Function::State::name_parameter(Graph& graph, size_t number) const {
  std::vector<std::string> dims = (*options.input_signature)[number].dims;
  ValueInfo& info = graph.node(graph.parameters()[number]).outputs[0];
  if (!info.shape.has_rank() ||
      std::all_of(dims.begin(), dims.end(), [](const auto& d) { return d.empty(); })) {
    return;
  }
  dims.resize(static_cast<size_t>(info.shape.rank()));
  info.dims = std::move(dims);
}

void Function::State::check_input_signature(const CallSignature& s) const {
  const std::vector<TensorSpec>& specs = *options.input_signature;
  const auto fail = [&](const std::string& what) {
    throw ValueError(fmt::format(
        "{}: the arguments do not fit the input_signature: {}. Change the arguments, or "
        "leave the dimension open in the signature.",
        options.name, what));
  };
  std::vector<const SignatureItem*> tensors;
  for (const SignatureItem& item : s) {
    if (item.kind == SignatureItem::Kind::kTensor) tensors.push_back(&item);
  }
  if (tensors.size() != specs.size()) {
    fail(fmt::format("{} tensors for {} specs", tensors.size(), specs.size()));
  }
  std::vector<std::pair<std::string, int64_t>> sizes;
  for (size_t i = 0; i < specs.size(); ++i) {
    const SignatureItem& t = *tensors[i];
    if (t.dtype != specs[i].dtype) {
      fail(fmt::format("argument {} is {}, not {}", i, dtype_name(t.dtype),
                       dtype_name(specs[i].dtype)));
    }
    if (!specs[i].shape.compatible_with(t.shape)) {
      fail(fmt::format("argument {} has shape {}, not {}", i, t.shape.str(),
                       specs[i].shape.str()));
    }
    for (size_t d = 0; d < specs[i].dims.size() && t.shape.has_rank(); ++d) {
      const std::string& name = specs[i].dims[d];
      if (name.empty() || static_cast<int>(d) >= t.shape.rank()) continue;
      const int64_t size = t.shape[static_cast<int>(d)];
      if (size < 0) continue;  // inside another trace
      const auto known = std::find_if(sizes.begin(), sizes.end(),
                                      [&](const auto& p) { return p.first == name; });
      if (known == sizes.end()) {
        sizes.emplace_back(name, size);
      } else if (known->second != size) {
        fail(fmt::format("dimension '{}' is {} and {}", name, known->second, size));
      }
    }
  }
}

std::shared_ptr<const Function::State::Trace> Function::State::find(
    const CallSignature& s, const std::vector<Argument>& arguments) {
  if (options.input_signature) check_input_signature(s);
  const std::string device = device_scope();
  const std::lock_guard lock(mutex);
  for (size_t i = traces.size(); i-- > 0;) {
    if (traces[i]->device != device || !accepts(traces[i]->signature, s)) continue;
    std::rotate(traces.begin() + static_cast<std::ptrdiff_t>(i),
                traces.begin() + static_cast<std::ptrdiff_t>(i) + 1, traces.end());
    last.store(traces.back().get(), std::memory_order_seq_cst);
    return traces.back();
  }
  CallSignature wanted = s;
  if (options.input_signature) {
    size_t number = 0;
    for (SignatureItem& item : wanted) {
      if (item.kind == SignatureItem::Kind::kTensor) {
        item.shape = (*options.input_signature)[number++].shape;
      }
    }
  } else if (options.reduce_retracing) {
    for (size_t i = traces.size(); i-- > 0;) {
      if (traces[i]->device != device) continue;
      CallSignature both = generalize(traces[i]->signature, s);
      if (both.empty() && !s.empty()) continue;
      wanted = std::move(both);
      break;
    }
  }
  if (count >= kRetraceWarning && !warned) {
    warned = true;
    std::string why = difference(traces.back()->signature, s);
    if (why.empty()) {
      why = fmt::format("device scope '{}' then '{}'", traces.back()->device, device);
    }
    logging::warn(fmt::format(
        "{} was traced {} times and is traced again: {}. Tracing is expensive; pass "
        "tensors of one shape, give an input_signature, or set reduce_retracing.",
        options.name, count.load(), why));
  }
  traces.push_back(trace(std::move(wanted), arguments));
  last.store(traces.back().get(), std::memory_order_seq_cst);
  if (static_cast<int64_t>(traces.size()) > options.max_traces) {
    readers.retire(std::move(traces.front()));
    traces.erase(traces.begin());
  }
  return traces.back();
}

// ---- Calls

Function::Function(Body body, FunctionOptions options)
    : state_(std::make_shared<State>(std::move(body), std::move(options))) {
  const FunctionOptions& o = state_->options;
  if (o.max_traces < 1 || o.max_plans < 1) {
    throw ValueError(
        fmt::format("{}: max_traces is {} and max_plans {}; both must be at least 1.",
                    o.name, o.max_traces, o.max_plans));
  }
}

std::vector<Tensor> Function::operator()(const std::vector<Argument>& arguments) const {
  const CallSignature s = signature_of(arguments);
  if (current_tracer()) {
    if (state_->options.input_signature) state_->check_input_signature(s);
    struct Nesting {
      Nesting() { ++t_nesting; }
      ~Nesting() { --t_nesting; }
    } nesting;
    if (t_nesting > kMaxNesting) {
      throw InvalidArgumentError(
          fmt::format("{}: {} functions are traced into each other; does the body call "
                      "itself without end? Repeat with while_loop.",
                      state_->options.name, t_nesting));
    }
    return state_->body(arguments);
  }
  const std::shared_ptr<const State::Trace> trace = state_->find(s, arguments);
  std::vector<Tensor> tensors;
  collect_tensors(arguments, tensors);
  return trace->compiled->call(tensors);
}

// Runs the plan of the last call once more, when that is what these arguments need:
// everything that decides about traces and plans is looked at once, and nothing is looked
// up. Else false.
bool Function::State::repeat(std::span<const Tensor> arguments,
                             std::span<Tensor> results) const {
  const Trace* trace = last.load(std::memory_order_seq_cst);
  const ThreadState& thread = t_thread;
  if (!trace || !trace->tensors_only || trace->scope != thread.scope_key ||
      (thread.emitter && thread.emitter->tracing()) || recording()) {
    return false;
  }
  return trace->compiled->function().repeat(arguments, results);
}

// The trace of the last call, when dtypes and shapes are the same: nothing to look up.
const Function::State::Trace* Function::State::repeated(
    std::span<const Tensor> arguments) const {
  const Trace* trace = last.load(std::memory_order_seq_cst);
  if (!trace) return nullptr;
  const CallSignature& s = trace->signature;
  if (s.size() != arguments.size() || options.input_signature ||
      current_emitter().tracing() || trace->scope != scope_key()) {
    return nullptr;
  }
  for (size_t i = 0; i < s.size(); ++i) {
    const TensorImpl* t = arguments[i].impl();
    if (s[i].kind != SignatureItem::Kind::kTensor || !t || t->symbolic ||
        s[i].dtype != t->dtype || !(s[i].shape == t->shape)) {
      return nullptr;
    }
  }
  return trace;
}

std::vector<Tensor> Function::call(std::span<const Tensor> arguments) const {
  const State::Reading reading(state_->readers);
  if (const State::Trace* trace = state_->repeated(arguments)) {
    return trace->compiled->call(arguments);
  }
  return (*this)(std::vector<Argument>(arguments.begin(), arguments.end()));
}

void Function::call(std::span<const Tensor> arguments, std::span<Tensor> results) const {
  const State::Reading reading(state_->readers);
  if (state_->repeat(arguments, results)) return;
  if (const State::Trace* trace = state_->repeated(arguments)) {
    trace->compiled->call(arguments, results);
    return;
  }
  move_results((*this)(std::vector<Argument>(arguments.begin(), arguments.end())),
               results, state_->options.name);
}

bool FunctionAccess::replay_kernels(const Function& function,
                                    std::span<const Tensor> arguments, int64_t times) {
  const Function::State& state = *function.state_;
  const Function::State::Reading reading(function.state_->readers);
  const Function::State::Trace* trace = state.last.load(std::memory_order_seq_cst);
  return trace && trace->compiled->function().replay_kernels(arguments, times);
}

int64_t Function::tracing_count() const { return state_->count; }

std::string Function::explain() const {
  const State::Reading reading(state_->readers);
  const State::Trace* trace = state_->last.load(std::memory_order_seq_cst);
  return trace ? trace->compiled->explain() : std::string();
}
std::string Function::dump() const {
  const State::Reading reading(state_->readers);
  const State::Trace* trace = state_->last.load(std::memory_order_seq_cst);
  return trace ? trace->compiled->function().dump() : std::string();
}
std::string Function::dot() const {
  const State::Reading reading(state_->readers);
  const State::Trace* trace = state_->last.load(std::memory_order_seq_cst);
  return trace ? trace->compiled->function().dot() : std::string();
}

void Function::prepare(const std::vector<TensorSpec>& specs) const {
  CallSignature s;
  std::vector<Argument> arguments;
  for (const TensorSpec& spec : specs) {
    SignatureItem item;
    item.dtype = spec.dtype;
    item.shape = spec.shape;
    s.push_back(std::move(item));
    arguments.emplace_back(Tensor());
  }
  state_->find(s, arguments);
}

}  // namespace tandem
