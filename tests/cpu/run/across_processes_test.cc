// The same program gives the same graphs, ids and plans in every process: addresses, the
// order of a hash table or the size of the environment must not show in any of them. The
// test runs this binary twice more, each with a memory laid out differently, and compares
// what the two write down byte by byte.
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "base/hash.h"
#include "graph/passes/fusion.h"
#include "graph/serialize.h"
#include "run/compiled_function.h"
#include "support/alone.h"
#include "support/random_graph.h"
#include "support/temporary_folder.h"
#include "support/traced.h"
#include "tandem/train.h"

namespace tandem::testing {
namespace {

// ---- What a child writes down

class Notebook {
 public:
  /// Text, ids and bytes of a graph as it is.
  void graph(const std::string& title, const Graph& g) {
    text_ += fmt::format("==== {}\n{}", title, g.dump());
    ids(g);
    text_ += fmt::format("bytes {:016x}, drawing {:016x}\n", hash_bytes(to_bytes(g)),
                         hash_bytes(g.dot()));
  }

  /// The same after passes and fusion.
  void compiled(const std::string& title, const Graph& g, const Tensors& arguments) {
    graph(title, g);
    const Graph made = optimized(g, arguments);
    graph(title + ", optimised", made);
    graph(title + ", fused", fuse(made, cpu_fusion_target()));
  }

  /// A plan without the time that it took to make it.
  void plan(const std::string& title, const PlannedGraph& planned) {
    graph(title + ", planned", *planned.graph);
    Plan p = planned.plan;
    p.plan_ms = 0;
    text_ += to_json(p) + "\n";
    for (const auto& list : planned.subplans) {
      for (const auto& sub : list) plan(title + ", part", *sub);
    }
  }

  void plans(const std::string& title, const GraphPtr& g, const Tensors& arguments) {
    GraphFunctionOptions options;
    options.measure_kernels = false;
    GraphFunction f(g, options);
    for (const bool branches : {false, true}) {
      PlanOptions how;
      how.measure_kernels = false;  // times differ from process to process
      how.branches =
          branches ? PlanOptions::Branches::kAlways : PlanOptions::Branches::kOff;
      plan(title + (branches ? " in lanes" : ""), *f.plan(arguments, how));
    }
  }

  void note(const std::string& line) { text_ += line + "\n"; }
  const std::string& text() const { return text_; }

 private:
  void ids(const Graph& g) {
    for (const Node& n : g.nodes()) {
      text_ += fmt::format("{:016x} {}\n", n.id(), n.name);
      for (const GraphPtr& sub : n.subgraphs) ids(*sub);
    }
  }
  std::string text_;
};

// A step with clipping, over variables of several shapes, with random numbers in it.
void training_step(Notebook& book) {
  std::vector<Variable> weights;
  for (int i = 0; i < 12; ++i) {
    weights.emplace_back(random::stateless_normal({8, 8}, {i, 1}),
                         VariableOptions{.name = fmt::format("w{}", i)});
    weights.emplace_back(zeros({8}), VariableOptions{.name = fmt::format("b{}", i)});
  }
  optimizers::AdamOptions options;
  options.clip.global_norm = 1;
  optimizers::Adam adam(options);
  adam.build(weights);
  const Tensor x = ones({4, 8});
  const GraphPtr g = trace(
      [&](const Tensors& in) {
        GradientTape tape;
        Tensor h = in[0];
        for (size_t i = 0; i < weights.size(); i += 2) {
          h = nn::relu(matmul(h, weights[i]) + weights[i + 1]);
        }
        const Tensor kept = h * cast(random::uniform({4, 8}) < 0.5f, float32);
        const Tensor loss = reduce_mean(square(kept));
        adam.apply(tape.gradient(loss, weights), weights);
        return Tensors{loss};
      },
      {x});
  book.compiled("training step", *g, {x});
  book.plans("training step", g, {x});
}

// Convolutions: layouts, epilogues and their gradients.
void convolutions(Notebook& book) {
  Variable filters(random::stateless_normal({3, 3, 3, 8}, {1, 2}), {.name = "filters"});
  const Tensor x = ones({2, 8, 8, 3});
  const GraphPtr g = trace(
      [&](const Tensors& in) {
        GradientTape tape;
        const Tensor y = nn::relu(nn::conv2d(in[0], filters) + ones({8}));
        const Tensor loss = reduce_sum(nn::max_pool2d(y, {.ksize = {2, 2}}));
        return Tensors{loss, tape.gradient(loss, filters).dense()};
      },
      {x});
  book.compiled("convolutions", *g, {x});
  book.plans("convolutions", g, {x});
}

// Branches in a loop of unknown length, differentiated twice.
void control_flow(Notebook& book) {
  Variable v(constant({1.f, 2.f, 3.f}), {.name = "v"});
  const Tensor x = constant({0.5f, -1.f, 2.f}), n = constant(3);
  const GraphPtr g = trace(
      [&](const Tensors& in) {
        GradientTape outer;
        outer.watch(in[0]);
        GradientTape inner;
        inner.watch(in[0]);
        const Tensors r = while_loop(
            [&](const Tensors& s) { return s[0] < in[1]; },
            [&](const Tensors& s) {
              const Tensor y = cond(
                  reduce_sum(s[1]) > 0.f, [&] { return Tensors{s[1] * v.read()}; },
                  [&] { return Tensors{exp(s[1]) - v.read()}; })[0];
              return Tensors{s[0] + 1, tanh(y)};
            },
            {constant(0), in[0]});
        const Tensor first = inner.gradient(reduce_sum(r[1]), in[0]).dense();
        const Tensor second = outer.gradient(reduce_sum(first), in[0]).dense();
        v.assign_add(first);
        return Tensors{r[1], first, second};
      },
      {x, n});
  book.compiled("control flow", *g, {x, n});
  book.plans("control flow", g, {x, n});
  const GraphPtr loop = trace(
      [&](const Tensors& in) {
        return Tensors{while_loop(
            [&](const Tensors& s) { return s[0] < in[1]; },
            [&](const Tensors& s) { return Tensors{s[0] + 1, sin(s[1]) * v.read()}; },
            {constant(0), in[0]})[1]};
      },
      {x, n}, true);
  const std::vector<ValueRef> wanted{{loop->parameters()[0], 0}};
  const std::vector<size_t> of{0};
  const Differentiated d = differentiate(*loop, wanted, of);
  book.graph("loop, forward", d.forward);
  book.graph("loop, backward", d.backward);
}

// Programs nobody thought of, with variables, branches and loops.
void random_programs(Notebook& book) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const RandomGraph program(seed, {.unknown_batch = seed % 2 == 0});
    const std::string title = fmt::format("random program {}", seed);
    book.compiled(title, program.graph(), program.arguments());
    std::mt19937_64 random(seed);
    book.plans(title, std::make_shared<const Graph>(scattered(program.graph(), random)),
               program.arguments());
  }
}

// Whole functions: names of dimensions, sizes that depend on data, a call in a call.
void functions(Notebook& book) {
  auto inner = function([](Tensor x) { return nn::softmax(x * 2.f); }, {.name = "in"});
  auto f = function(
      [&](Tensor x) {
        return boolean_mask(inner(x), reduce_sum(x, {.axis = {1}}) > 0.f);
      },
      {.name = "masked",
       .input_signature = {{{.shape = {kUnknownDim, 3}, .dims = {"batch", ""}}}}});
  f(constant({{1.f, 2.f, 3.f}, {-1.f, -2.f, -3.f}}));
  book.note("==== masked\n" + f.dump() + f.dot());
}

std::string write_everything() {
  Notebook book;
  training_step(book);
  convolutions(book);
  control_flow(book);
  random_programs(book);
  functions(book);
  return book.text();
}

// ---- The two children

constexpr const char* kFile = "TANDEM_TEST_WRITE_TO";
constexpr const char* kShift = "TANDEM_TEST_SHIFT";

// Moves whatever is allocated afterwards: blocks of odd sizes, some given back.
void disturb_heap(int blocks) {
  static std::vector<std::unique_ptr<char[]>> kept;
  for (int i = 0; i < blocks; ++i) {
    auto block = std::make_unique<char[]>(static_cast<size_t>(24 + 16 * (i * 7 % 97)));
    if (i % 3) kept.push_back(std::move(block));
  }
}

std::string child(const TemporaryFolder& folder, const std::string& name, Env env) {
  const std::string path = folder / name;
  env.insert(env.end(),
             {{kFile, path}, {"TANDEM_EMULATE_GPUS", "2"}, {"TANDEM_COST_STORE", "off"}});
  run_alone(env, +[] {});
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The first line that differs, with what stands above it.
std::string first_difference(const std::string& a, const std::string& b) {
  std::istringstream left(a), right(b);
  std::string x, y, title;
  while (std::getline(left, x) && std::getline(right, y)) {
    if (x.starts_with("====")) title = x;
    if (x != y) return fmt::format("in {}\n{}\n{}", title, x, y);
  }
  return "one of them is longer";
}

TEST(AcrossProcesses, GraphsIdsAndPlansAreTheSame) {
  if (const char* path = std::getenv(kFile)) {
    disturb_heap(std::atoi(std::getenv(kShift)));
    std::ofstream(path, std::ios::binary) << write_everything();
    return;
  }
  const TemporaryFolder folder;
  const std::string first = child(folder, "first", {{kShift, "0"}});
  const std::string second =
      child(folder, "second",
            {{kShift, "5001"}, {"TANDEM_TEST_FILL", std::string(70000, 'x')}});
  EXPECT_GT(first.size(), 100000u);
  EXPECT_TRUE(first == second) << first_difference(first, second);
}

}  // namespace
}  // namespace tandem::testing
