// Runs every case in every mode, and fails when an op of the table has no case.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/cpu/guarded_memory.h"
#include "device/runtime.h"
#include "graph/equal.h"
#include "graph/passes/passes.h"
#include "graph/serialize.h"
#include "graph/trace.h"
#include "op/emitter.h"
#include "ops/case.h"
#include "ops/collective_cases.h"
#include "ops/hostile.h"
#include "ops/image_gradient_cases.h"
#include "ops/sequence_cases.h"
#include "ops/values.h"
#include "run/graph_function.h"
#include "run/graph_interpreter.h"
#include "run/tape.h"
#include "tandem/function.h"
#include "tandem/tandem.h"
#include "tensor/variable_impl.h"

namespace tandem::testing {

namespace {

uint64_t g_seed = 0;

std::vector<OpCase>& all_cases() {
  static auto* cases = [] {
    auto* list = new CaseList;
    add_array_cases(*list);
    add_collective_cases(*list);
    add_elementwise_cases(*list);
    add_fused_cases(*list);
    add_image_cases(*list);
    add_image_gradient_cases(*list);
    add_indexing_cases(*list);
    add_linalg_cases(*list);
    add_nn_cases(*list);
    add_random_cases(*list);
    add_reduce_cases(*list);
    add_sequence_cases(*list);
    add_signal_cases(*list);
    add_sort_cases(*list);
    add_state_cases(*list);
    add_string_cases(*list);
    return list;
  }();
  return *cases;
}

DType input_dtype(const OpCase& c, size_t i, DType t) {
  return c.inputs[i].dtype == DType::kInvalid ? t : c.inputs[i].dtype;
}

Attrs attrs_of(const OpCase& c, DType t) {
  if (c.attrs_for) return c.attrs_for(t);
  if (c.attrs.ref().data) return c.attrs;
  return Attrs(default_attrs(OpTable::get().at(c.op)));
}

std::vector<Ref> make_inputs(const OpCase& c, DType t, uint64_t salt) {
  std::mt19937_64 random(g_seed + salt);
  std::vector<Ref> refs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    refs.push_back(c.inputs[i].absent
                       ? Ref{}
                       : make_values(c.inputs[i], input_dtype(c, i, t), random));
  }
  return refs;
}

std::vector<Tensor> to_tensors(const OpCase& c, const std::vector<Ref>& refs, DType t,
                               int misalign) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < refs.size(); ++i) {
    tensors.push_back(c.inputs[i].absent
                          ? Tensor()
                          : to_tensor(refs[i], input_dtype(c, i, t), misalign));
  }
  return tensors;
}

// The op's outputs; for an op that writes a variable, the variable's new value.
std::vector<Tensor> call(const OpCase& c, DType t, std::vector<Tensor> inputs) {
  const OpDef& op = OpTable::get().at(c.op);
  std::vector<Variable> variables;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!op.input_def(static_cast<int>(i)).resource) continue;
    variables.emplace_back(inputs[i]);
    inputs[i] = variables.back().handle();
  }
  const std::vector<TensorArg> args(inputs.begin(), inputs.end());
  const Attrs attrs = attrs_of(c, t);
  std::vector<Tensor> outputs;
  current_emitter().emit(op, attrs.ref(), args, outputs);
  if (outputs.empty() && !variables.empty()) outputs.push_back(variables[0].read());
  return outputs;
}

void compare(const OpCase& c, const std::vector<Tensor>& outputs,
             const std::vector<Ref>& expected) {
  ASSERT_EQ(outputs.size(), expected.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(
        difference(to_ref(outputs[i]), expected[i], outputs[i].dtype(), c.tolerance), "")
        << "output " << i << ", dtype " << dtype_name(outputs[i].dtype());
  }
}

void run_values(const OpCase& c, int misalign) {
  for (DType t : c.dtypes) {
    SCOPED_TRACE(fmt::format("{} {} T={} seed={}", c.op, c.name, dtype_name(t), g_seed));
    const std::vector<Ref> refs = make_inputs(c, t, 1);
    const std::vector<Tensor> outputs = call(c, t, to_tensors(c, refs, t, misalign));
    if (c.check) c.check(outputs);
    if (c.reference) compare(c, outputs, c.reference(refs, t));
    ASSERT_TRUE(c.reference || c.check) << "the case has neither reference nor check";
    if (::testing::Test::HasFatalFailure()) return;
  }
}

bool floats(DType t) { return is_floating(t); }

// Differences of sum(weights * outputs) in each direction against the tape.
void run_gradient(const OpCase& c) {
  const OpDef& op = OpTable::get().at(c.op);
  const DType t = DType::kFloat64;
  SCOPED_TRACE(fmt::format("{} {} seed={}", c.op, c.name, g_seed));
  std::vector<Ref> refs = make_inputs(c, t, 2);
  std::vector<int> wanted = c.grad_inputs;
  if (wanted.empty()) {
    for (size_t i = 0; i < refs.size(); ++i) {
      const InputDef& def = op.input_def(static_cast<int>(i));
      if (!c.inputs[i].absent && !def.host && !def.shape_only &&
          floats(input_dtype(c, i, t)) && !def.resource) {
        wanted.push_back(static_cast<int>(i));
      }
    }
  }
  std::vector<Tensor> weights;
  const auto loss_of = [&](const std::vector<Tensor>& inputs) {
    const std::vector<Tensor> outputs = call(c, t, inputs);
    std::mt19937_64 random(g_seed + 3);
    Tensor loss = constant(0.0);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].dtype() != t) continue;
      while (weights.size() <= i) weights.emplace_back();
      if (!weights[i].defined()) {
        weights[i] = to_tensor(make_values({.shape = outputs[i].shape()}, t, random), t);
      }
      loss = loss + reduce_sum(outputs[i] * weights[i]);
    }
    return loss;
  };
  const std::vector<Tensor> inputs = to_tensors(c, refs, t, 0);
  GradientTape tape;
  std::vector<Tensor> sources;
  for (int i : wanted) {
    tape.watch(inputs[static_cast<size_t>(i)]);
    sources.push_back(inputs[static_cast<size_t>(i)]);
  }
  const Tensor loss = loss_of(inputs);
  const std::vector<Gradient> grads =
      tape.gradient(loss, sources, {.unconnected = Unconnected::kZero});
  std::mt19937_64 random(g_seed + 4);
  for (size_t k = 0; k < wanted.size(); ++k) {
    const auto i = static_cast<size_t>(wanted[k]);
    const Ref got = to_ref(grads[k].dense());
    ASSERT_EQ(got.shape, refs[i].shape) << "gradient of input " << i;
    const auto n = static_cast<size_t>(refs[i].n());
    const size_t checks = std::min<size_t>(n, 24);
    for (size_t m = 0; m < checks; ++m) {
      const size_t e = checks == n ? m : random() % n;
      const double h = 1e-6 * std::max(1.0, std::abs(refs[i].re(e)));
      double value = 0;  // of the loss nearby
      const auto difference_at = [&](double step) {
        double side[2];
        for (int s = 0; s < 2; ++s) {
          Ref moved = refs[i];
          moved.re(e) += s == 0 ? step : -step;
          std::vector<Tensor> shifted = inputs;
          shifted[i] = to_tensor(moved, t);
          side[s] = loss_of(shifted).item<double>();
        }
        value = side[0];
        return side[0] - side[1];
      };
      const auto agrees = [&](double difference, double step) {
        const double slope = difference / (2 * step);
        return std::abs(got.re(e) - slope) <=
               c.grad_tolerance * std::max(1.0, std::abs(slope)) +
                   1e-9 * std::abs(value) / step;
      };
      const double whole = difference_at(h);
      if (agrees(whole, h)) continue;
      // Between the points there may be a jump, which has no slope: it is outside of
      // nearer ones, or as high there.
      const double near = difference_at(h / 8);
      ASSERT_TRUE(agrees(near, h / 8) || std::abs(near) > 0.5 * std::abs(whole))
          << "the tape says " << got.re(e) << ", differences say " << whole / (2 * h)
          << ": input " << i << " element " << e;
    }
  }
}

// Inference with less and less known must stay true to what the call gives.
void run_inference(const OpCase& c) {
  const OpDef& op = OpTable::get().at(c.op);
  const DType t = c.dtypes.at(0);
  SCOPED_TRACE(fmt::format("{} {}", c.op, c.name));
  const std::vector<Ref> refs = make_inputs(c, t, 5);
  const std::vector<Tensor> tensors = to_tensors(c, refs, t, 0);
  const std::vector<Tensor> outputs = call(c, t, tensors);
  if (op.outputs.empty()) return;
  const Attrs attrs = attrs_of(c, t);
  for (int level = 0; level < 4; ++level) {
    std::vector<TensorInfo> infos;
    for (size_t i = 0; i < refs.size(); ++i) {
      TensorInfo info;
      if (c.inputs[i].absent) {
        infos.push_back(info);
        continue;
      }
      const InputDef& def = op.input_def(static_cast<int>(i));
      info.dtype = input_dtype(c, i, t);
      info.shape = refs[i].shape;
      if (def.host) {
        if (level < 2) {
          info.data = tensors[i].host_data();
          if (is_integer(info.dtype) && info.shape.rank() <= 1 &&
              refs[i].n() <= kMaxHostValues) {
            info.value = read_ints(info.dtype, info.data, refs[i].n());
            info.has_value = true;
          }
        }
      } else if (level == 1 || level == 2) {
        for (int d = 0; d < info.shape.rank(); ++d) info.shape.set(d, kUnknownDim);
      } else if (level == 3) {
        info.shape = Shape::unknown();
      } else if (info.shape.rank() > 0) {
        info.shape.set(0, kUnknownDim);
      }
      infos.push_back(info);
    }
    InferContext context(op, attrs.ref(), infos);
    try {
      infer_call(context);
    } catch (const Error& e) {
      ADD_FAILURE() << "level " << level << ": " << e.what();
      continue;
    }
    // Ops with a list of outputs may not know how many there are.
    if (context.outputs().size() != outputs.size() && !op.outputs.empty() &&
        op.outputs.back().ends_with('*')) {
      continue;
    }
    ASSERT_EQ(context.outputs().size(), outputs.size()) << "level " << level;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const TensorInfo& info = context.outputs()[i];
      EXPECT_EQ(info.dtype, outputs[i].dtype()) << "level " << level << " output " << i;
      EXPECT_TRUE(info.shape.compatible_with(outputs[i].shape()))
          << "level " << level << " output " << i << ": " << info.shape.str()
          << " against " << outputs[i].shape().str();
    }
  }
}

bool has_gpu() { return device_count("GPU") > 0; }
bool gpu_is_emulated() { return Runtime::get().find("GPU", 0)->emulated(); }

// An emulated GPU runs the CPU's kernels, a real one has its own, which round and order
// sums in their own way.
void expect_same(const OpCase& c, const std::vector<Tensor>& on_gpu,
                 const std::vector<Tensor>& on_cpu, double real = 1e-5) {
  ASSERT_EQ(on_cpu.size(), on_gpu.size());
  const double tolerance =
      gpu_is_emulated() ? std::min(c.tolerance, 1e-5) : std::max(c.tolerance, real);
  for (size_t i = 0; i < on_cpu.size(); ++i) {
    EXPECT_EQ(
        difference(to_ref(on_gpu[i]), to_ref(on_cpu[i]), on_cpu[i].dtype(), tolerance),
        "")
        << "output " << i;
  }
}

// The same call under /GPU:0 gives what the CPU gives, or what the case says of results.
void run_gpu(const OpCase& c) {
  const OpDef& op = OpTable::get().at(c.op);
  const Platform platform = Runtime::get().find("GPU", 0)->platform();
  if (!op.inputs.empty() && op.inputs[0].resource && !op.view &&
      !KernelRegistry::get().has(op, platform)) {
    GTEST_SKIP() << c.op << " has no kernel there: its variables live on the CPU";
  }
  for (DType t : c.dtypes) {
    SCOPED_TRACE(fmt::format("{} {} T={} seed={}", c.op, c.name, dtype_name(t), g_seed));
    const std::vector<Ref> refs = make_inputs(c, t, 6);
    const std::vector<Tensor> inputs = to_tensors(c, refs, t, 0);
    std::vector<Tensor> on_cpu, on_gpu;
    {
      DeviceScope scope("/GPU:0");
      on_gpu = call(c, t, inputs);
    }
    if (c.check) c.check(on_gpu);
    if (c.reference) {
      DeviceScope scope("/CPU:0");
      on_cpu = call(c, t, inputs);
      expect_same(c, on_gpu, on_cpu);
    }
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// Gradients computed under /GPU:0 are those of the CPU, which run_gradient checks against
// differences.
void run_gpu_gradient(const OpCase& c, DType t) {
  const OpDef& op = OpTable::get().at(c.op);
  SCOPED_TRACE(fmt::format("{} {} T={} seed={}", c.op, c.name, dtype_name(t), g_seed));
  const std::vector<Tensor> inputs = to_tensors(c, make_inputs(c, t, 8), t, 0);
  const auto gradients_on = [&](const char* device) {
    const DeviceScope scope(device);
    GradientTape tape;
    std::vector<Tensor> sources, results;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const InputDef& def = op.input_def(static_cast<int>(i));
      if (!inputs[i].defined() || def.host || def.resource || inputs[i].dtype() != t)
        continue;
      tape.watch(inputs[i]);
      sources.push_back(inputs[i]);
    }
    Tensor loss = scalar(0.0, t);
    for (const Tensor& out : call(c, t, inputs)) {
      if (out.dtype() != t) continue;
      // A tenth: the sine of a large number turns its last bits into large differences.
      loss = loss + reduce_sum(sin((c.up_to_signs ? out * out : out) * scalar(0.1, t)));
    }
    for (const Gradient& g :
         tape.gradient(loss, sources, {.unconnected = Unconnected::kZero})) {
      results.push_back(g.dense());
    }
    return results;
  };
  // Gradients of decompositions divide by differences of values.
  expect_same(c, gradients_on("/GPU:0"), gradients_on("/CPU:0"),
              c.up_to_signs ? 1e-2 : 1e-4);
}

// The op in a compiled function that is placed on the GPU, traced with unknown
// dimensions, called twice: the second call replays what the first has recorded.
void run_gpu_traced(const OpCase& c) {
  const OpDef& op = OpTable::get().at(c.op);
  const DType t = c.dtypes.at(0);
  SCOPED_TRACE(fmt::format("{} {} T={} seed={}", c.op, c.name, dtype_name(t), g_seed));
  const std::vector<Tensor> inputs = to_tensors(c, make_inputs(c, t, 9), t, 0);
  std::vector<Argument> arguments;
  std::vector<TensorSpec> specs;
  std::vector<size_t> fed;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined() || op.input_def(static_cast<int>(i)).host) continue;
    fed.push_back(i);
    arguments.emplace_back(inputs[i]);
    specs.push_back(
        {.shape = Shape::unknown_of_rank(inputs[i].rank()), .dtype = inputs[i].dtype()});
  }
  const Function function(
      [&](const std::vector<Argument>& given) {
        const DeviceScope scope("/GPU:0");
        std::vector<Tensor> all = inputs;
        for (size_t k = 0; k < fed.size(); ++k) {
          all[fed[k]] = std::get<Tensor>(given[k].value());
        }
        return call(c, t, all);
      },
      {.input_signature = specs});
  if (c.up_to_signs) {
    c.check(function(arguments));
    c.check(function(arguments));
    return;
  }
  std::vector<Tensor> expected;
  {
    const DeviceScope scope("/CPU:0");
    expected = call(c, t, inputs);
  }
  expect_same(c, function(arguments), expected);
  expect_same(c, function(arguments), expected);
}

// The graph for these arguments, after all passes.
Graph optimized(const Graph& graph, const std::vector<Tensor>& arguments) {
  std::vector<TensorInfo> infos;
  for (const Tensor& t : arguments) {
    infos.push_back({t.dtype(), t.shape(), {}, false, nullptr});
  }
  const auto run = [](const Node& n, std::span<const Tensor> in) {
    return interpret_node(n, in);
  };
  const Evaluate evaluate = run;
  return optimize(specialize(graph, infos), {.evaluate = &evaluate});
}

// In order of first use, as they are stored.
std::vector<Tensor> variables_of(const Graph& graph) {
  std::vector<Tensor> handles;
  for (const Node& n : graph.nodes()) {
    if (n.kind == Node::Kind::kVariable) handles.push_back(n.constant);
  }
  return handles;
}

// The op traced with unknown dimensions, and run, gives what it gives eagerly, also after
// all passes, and planned; so do its gradients. Stored and loaded it is the same graph.
void run_traced(const OpCase& c, bool gradients) {
  const OpDef& op = OpTable::get().at(c.op);
  const DType t = gradients ? DType::kFloat64 : c.dtypes.at(0);
  SCOPED_TRACE(fmt::format("{} {} seed={}", c.op, c.name, g_seed));
  const std::vector<Ref> refs = make_inputs(c, t, 7);
  const std::vector<Tensor> inputs = to_tensors(c, refs, t, 0);
  std::vector<bool> fed(inputs.size(), false);
  std::vector<Tensor> arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputDef& def = op.input_def(static_cast<int>(i));
    fed[i] = inputs[i].defined() && !def.host && !def.resource;
    if (fed[i]) arguments.push_back(inputs[i]);
  }
  std::vector<Tensor> weights;
  const auto body = [&](const std::vector<Tensor>& given) {
    if (!gradients) return call(c, t, given);
    GradientTape tape;
    std::vector<Tensor> sources;
    for (size_t i = 0; i < given.size(); ++i) {
      if (!fed[i] || given[i].dtype() != t) continue;
      tape.watch(given[i]);
      sources.push_back(given[i]);
    }
    const std::vector<Tensor> outputs = call(c, t, given);
    Tensor loss = constant(0.0);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].dtype() == t) loss = loss + reduce_sum(sin(outputs[i]));
    }
    std::vector<Tensor> result;
    for (const Gradient& g :
         tape.gradient(loss, sources, {.unconnected = Unconnected::kZero})) {
      result.push_back(g.dense());
    }
    return result;
  };
  const std::vector<Tensor> expected = body(inputs);
  Graph graph;
  Tracer tracer(graph, [](const OpDef& o, AttrsRef a, std::span<const TensorArg> in,
                          std::span<const Tensor> out) {
    if (recording()) record_op(o, a, in, out);
  });
  {
    EmitterScope scope(&tracer);
    std::vector<Tensor> given = inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!fed[i]) continue;
      given[i] =
          tracer.parameter(inputs[i].dtype(), Shape::unknown_of_rank(inputs[i].rank()),
                           op.input_def(static_cast<int>(i)).name);
    }
    for (const Tensor& r : body(given)) graph.results().push_back(tracer.value_of(r));
    tracer.finish();
  }
  std::vector<Variable> variables;
  std::vector<Tensor> contents;
  for (const Tensor& handle : variables_of(graph)) {
    variables.push_back(Variable::from_handle(handle));
    contents.push_back(variables.back().read());
  }
  const auto compare_run = [&](const Graph& g, bool planned = false) {
    for (size_t i = 0; i < variables.size(); ++i) variables[i].assign(contents[i]);
    const std::vector<Tensor> got =
        planned ? GraphFunction(std::make_shared<const Graph>(g)).run(arguments)
                : interpret(g, arguments);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].shape(), expected[i].shape());
      if (c.op == std::string("Empty") && !c.reference) continue;  // undefined contents
      EXPECT_EQ(difference(to_ref(got[i]), to_ref(expected[i]), got[i].dtype(), 1e-5), "")
          << "output " << i << "\n"
          << g.dump();
    }
  };
  compare_run(graph);
  compare_run(optimized(graph, arguments));
  compare_run(graph, true);
  const Graph loaded = from_bytes(to_bytes(graph), [&](const StoredVariable& v) {
    return variables.at(static_cast<size_t>(v.index)).handle();
  });
  EXPECT_TRUE(equal(loaded, graph)) << graph.dump() << loaded.dump();
}

class Body : public ::testing::Test {
 public:
  explicit Body(std::function<void()> run) : run_(std::move(run)) {}
  void TestBody() override { run_(); }

 private:
  std::function<void()> run_;
};

void add_test(const std::string& suite, const std::string& name,
              std::function<void()> run) {
  ::testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__,
                          __LINE__,
                          [run]() -> ::testing::Test* { return new Body(run); });
}

DTypeMask types_of(const OpDef& op) {
  DTypeMask t = 0;
  for (const TypeVar& v : op.types) t |= v.name == 'T' ? v.allowed : 0;
  return t;
}

bool writes_variables(const OpDef& op) {
  return std::any_of(op.inputs.begin(), op.inputs.end(),
                     [](const InputDef& def) { return def.resource; });
}

void add_gpu_tests(const OpCase& c, const OpDef& op, const std::string& name) {
  const std::string kind = gpu_is_emulated() ? "Emulated" : "";
  add_test(gpu_is_emulated() ? "Emulated" : "Gpu", name, [&c] { run_gpu(c); });
  // What differs at every call can be compared with nothing; variables of a trace are
  // tested in tests/cpu/run and tests/gpu.
  if ((!c.reference && !c.up_to_signs) || writes_variables(op)) return;
  add_test(kind + "GpuTraced", name, [&c] { run_gpu_traced(c); });
  if (!c.check_gradient || !op.differentiable) return;
  for (DType t : {DType::kFloat32, DType::kFloat64}) {
    if (!(types_of(op) & mask(t)) || (c.up_to_signs && t == DType::kFloat32)) continue;
    add_test(kind + "GpuGradient", name, [&c, t] { run_gpu_gradient(c, t); });
    break;
  }
}

void register_tests() {
  std::set<std::string> names;
  for (const OpCase& c : all_cases()) {
    std::string name = c.op;
    if (!c.name.empty()) name += "_" + c.name;
    for (char& ch : name) {
      if (!std::isalnum(static_cast<unsigned char>(ch))) ch = '_';
    }
    std::string unique = name;
    for (int i = 2; !names.insert(unique).second; ++i)
      unique = name + "_" + std::to_string(i);
    const OpCase* kept = &c;
    const OpDef& op = OpTable::get().at(c.op);
    if (has_gpu()) {
      add_gpu_tests(*kept, op, unique);
      continue;
    }
    add_test("Values", unique, [kept] { run_values(*kept, 0); });
    add_test("Views", unique, [kept] { run_values(*kept, 3); });
    add_test("Inference", unique, [kept] { run_inference(*kept); });
    const DTypeMask t = types_of(op);
    if (c.check_gradient && op.differentiable && (t & mask(DType::kFloat64))) {
      add_test("Gradient", unique, [kept] { run_gradient(*kept); });
      add_test("TracedGradient", unique, [kept] { run_traced(*kept, true); });
    }
    // Random ops differ from call to call only by their key, which the case fixes.
    add_test("Traced", unique, [kept] { run_traced(*kept, false); });
  }
}

// Lists and iterators are no arrays of numbers, printing has no result and summaries are
// files: what cases cannot state is tested op by op in tests/cpu/ops/tensor_list_test.cc,
// tests/cpu/ops/print_test.cc, tests/python/test_data.py and
// tests/python/test_summary.py.
const std::set<std::string> kTestedElsewhere = {
    "Assert",
    "DecodeAndCropJpeg",  // with files: tests/cpu/ops/image_codec_test.cc, files_test.cc
    "DecodeBmp",
    "DecodeGif",
    "DecodeImage",
    "DecodeJpeg",
    "DecodePng",
    "DecodeWav",
    "EmptyTensorList",
    "EncodeJpeg",
    "EncodePng",
    "EncodeWav",
    "ExtractJpegShape",
    "FlushSummaryWriter",
    "IteratorNext",
    "LookupTableExportV2",
    "LookupTableFindV2",
    "LookupTableInsertV2",
    "LookupTableRemoveV2",
    "LookupTableSizeV2",
    "MakeIterator",
    "MatchingFiles",
    "NoOp",
    "ParseExample",
    "ParseTensor",
    "PlaceholderWithDefault",
    "PrintV2",
    "PyFunc",
    "ReadFile",
    "SerializeTensor",
    "StringFormat",
    "SummaryAudio",
    "SummaryHistogram",
    "SummaryImage",
    "TensorListAdd",
    "TensorListConcat",
    "TensorListFromTensor",
    "TensorListGather",
    "TensorListGetItem",
    "TensorListLength",
    "TensorListPopBack",
    "TensorListPushBack",
    "TensorListReserve",
    "TensorListResize",
    "TensorListScatter",
    "TensorListScatterIntoExistingList",
    "TensorListSetItem",
    "TensorListSplit",
    "TensorListStack",
    "TensorListZerosLike",
    "VariableHasValue",
    "WriteFile",
    "WriteSummary",
};

int check_coverage() {
  std::set<std::string> covered = kTestedElsewhere;
  for (const OpCase& c : all_cases()) covered.insert(c.op);
  int missing = 0;
  for (const OpDef* op : OpTable::get().all()) {
    if (covered.count(op->name)) continue;
    std::fprintf(stderr, "op_test: op %s has no case under tests/ops\n",
                 op->name.c_str());
    ++missing;
  }
  return missing ? 1 : 0;
}

}  // namespace

}  // namespace tandem::testing

int main(int argc, char** argv) {
  using namespace tandem::testing;
  if (argc > 1 && std::string(argv[1]) == "--check-coverage") return check_coverage();
  if (argc > 1 && std::string(argv[1]) == "--hostile") {
    return run_hostile(all_cases(), argc, argv);
  }
  const char* seed = std::getenv("TANDEM_TEST_SEED");
  g_seed =
      seed ? std::strtoull(seed, nullptr, 10)
           : static_cast<uint64_t>(
                 std::chrono::system_clock::now().time_since_epoch().count() % 1000000);
  std::printf("TANDEM_TEST_SEED=%llu\n", static_cast<unsigned long long>(g_seed));
  // The variant for real GPUs has nothing to do where there is none.
  if (std::getenv("TANDEM_TEST_NEEDS_GPU") && !has_gpu()) {
    std::printf("SKIPPED: no GPU\n");
    for (const std::string& reason : tandem::Runtime::get().absence_reasons()) {
      std::printf("  %s\n", reason.c_str());
    }
    return 0;
  }
  ::testing::InitGoogleTest(&argc, argv);
  if (tandem::guards_memory()) register_hostile_tests(all_cases(), seed ? g_seed : 1);
  register_tests();
  return RUN_ALL_TESTS();
}
