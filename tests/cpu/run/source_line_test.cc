// Nodes of C++ traces know the user's line: in dumps, explain(), errors and recordings.
#include "cpu/run/source_line.h"

#include <gtest/gtest.h>

#include "base/call_site.h"
#include "base/recorder.h"
#include "graph/equal.h"
#include "graph/serialize.h"
#include "graph/source_of.h"
#include "support/alone.h"
#include "support/traced.h"
#include "tandem/train.h"

#if !TANDEM_HAVE_BACKTRACE
#define NEEDS_LINES() \
  GTEST_SKIP()        \
      << "this compiler brings no libbacktrace: only names of functions are known"
#else
#define NEEDS_LINES() static_assert(true)
#endif

namespace tandem {
namespace {

using testing::trace;
using Tensors = std::vector<Tensor>;

std::string here(int line) { return "source_line_test.cc:" + std::to_string(line); }

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The line of the dump that has an op.
std::string line_with(const std::string& dump, const std::string& op) {
  const size_t at = dump.find("= " + op + "(");
  return at == std::string::npos ? "" : dump.substr(at, dump.find('\n', at) - at);
}

// The lines of all nodes with an op, sub-graphs included.
void find_lines(const Graph& g, std::string_view op, std::vector<int>& lines) {
  for (const Node& n : g.nodes()) {
    if (n.is_op(op)) {
      const SourceLocation* at = source_of(n);
      lines.push_back(at ? at->line : 0);
    }
    for (const GraphPtr& sub : n.subgraphs) find_lines(*sub, op, lines);
  }
}
std::vector<int> lines_of(const Graph& g, std::string_view op) {
  std::vector<int> lines;
  find_lines(g, op, lines);
  return lines;
}

TEST(SourceLines, OfFunctionsOperatorsAndMembers) {
  NEEDS_LINES();
  Variable v(ones({2}));
  const int first = __LINE__ + 3;
  const GraphPtr g = trace(
      [&](const Tensors& x) {
        const Tensor a = exp(x[0]);
        const Tensor b = a * 2.f;
        const Tensor c = -b;
        v.assign_add(c);
        return Tensors{reduce_sum(c) / 3.f};
      },
      {ones({2})});
  EXPECT_EQ(lines_of(*g, "Exp"), std::vector<int>{first});
  EXPECT_EQ(lines_of(*g, "Mul"), std::vector<int>{first + 1});
  EXPECT_EQ(lines_of(*g, "Neg"), std::vector<int>{first + 2});
  EXPECT_EQ(lines_of(*g, "AssignAddVariableOp"), std::vector<int>{first + 3});
  EXPECT_EQ(lines_of(*g, "Sum"), std::vector<int>{first + 4});
  EXPECT_TRUE(contains(line_with(g->dump(), "Exp"), here(first))) << g->dump();
  const Node& made = g->node(g->results()[0].node);
  EXPECT_EQ(source_of(made)->function,
            "tandem::SourceLines_OfFunctionsOperatorsAndMembers_Test::TestBody");
}

Tensor helper(const Tensor& x) { return tanh(x); }
const int kHelperLine = __LINE__ - 1;

TEST(SourceLines, InHelpersBranchesAndLoops) {
  NEEDS_LINES();
  int in_branch = 0, in_loop = 0;
  const GraphPtr g = trace(
      [&](const Tensors& x) {
        const Tensors y =
            while_loop([&](const Tensors& s) { return s[0] < 3; },
                       [&](const Tensors& s) {
                         in_loop = __LINE__ + 1;
                         const Tensor c = cos(s[1]);
                         in_branch = __LINE__ + 2;
                         const Tensors z = cond(
                             reduce_sum(c) > 0.f, [&] { return Tensors{sin(c)}; },
                             [&] { return Tensors{helper(c)}; });
                         return Tensors{s[0] + 1, z[0]};
                       },
                       {constant(0), x[0]});
        return Tensors{y[1]};
      },
      {ones({2})});
  EXPECT_EQ(lines_of(*g, "Cos"), std::vector<int>{in_loop});
  EXPECT_EQ(lines_of(*g, "Sin"), std::vector<int>{in_branch});
  EXPECT_EQ(lines_of(*g, "Tanh"), std::vector<int>{kHelperLine});
}

// The library's layers call ops: the user's line is the call of the layer.
TEST(SourceLines, OfLayers) {
  NEEDS_LINES();
  layers::Dense dense(3, 2);
  int line = 0;
  const GraphPtr g = trace(
      [&](const Tensors& x) {
        line = __LINE__ + 1;
        const Tensor y = dense(x[0]);
        return Tensors{y};
      },
      {ones({4, 3})});
  EXPECT_EQ(lines_of(*g, "MatMul"), std::vector<int>{line});
}

TEST(SourceLines, InErrorsExplanationsAndGradients) {
  NEEDS_LINES();
  int line = 0;
  auto f = function([&](Tensor table, Tensor ids) {
    line = __LINE__ + 1;
    const Tensor rows = gather(table, ids);
    return rows * 2.f;
  });
  const Tensor table = ones({3, 2}), ids = constant({0, 2});
  f(table, ids);
  EXPECT_TRUE(contains(f.explain(), "at " + here(line))) << f.explain();
  EXPECT_ERROR(f(table, constant({0, 7})), InvalidArgumentError,
               here(line) + ", in tandem::SourceLines_InErrors");
  GradientTape tape;
  tape.watch(table);
  const Tensor y = f(table, ids);
  tape.gradient(y, table).dense();
  const std::string text = f.explain();
  const size_t gradient = text.find("its gradient");
  ASSERT_NE(gradient, std::string::npos) << text;
  EXPECT_TRUE(contains(text.substr(gradient), "at " + here(line + 1))) << text;
}

TEST(SourceLines, InRecordings) {
  NEEDS_LINES();
  int line = 0;
  auto f = function([&](Tensor x) {
    line = __LINE__ + 1;
    return matmul(x, x);
  });
  const Tensor x = ones({8, 8});
  f(x);
  recorder::start();
  f(x).wait();
  recorder::stop();
  bool found = false;
  for (const recorder::Event& e : recorder::collect()) {
    if (std::string_view(e.name) != "MatMul" || !e.detail) continue;
    found = true;
    EXPECT_TRUE(contains(e.detail, here(line))) << e.detail;
  }
  EXPECT_TRUE(found);
}

TEST(SourceLines, AreStoredAndLoaded) {
  NEEDS_LINES();
  const int line = __LINE__ + 2;
  const GraphPtr g =
      trace([](const Tensors& x) { return Tensors{exp(x[0])}; }, {ones({2})});
  const Graph back =
      from_bytes(to_bytes(*g), [](const StoredVariable&) { return Tensor(); });
  EXPECT_TRUE(equal(*g, back));
  EXPECT_EQ(lines_of(back, "Exp"), std::vector<int>{line});
}

// What the optimiser has inlined still has its line.
TEST(SourceLines, OfOptimisedPrograms) {
  NEEDS_LINES();
  const GraphPtr g = trace(
      [](const Tensors& x) { return Tensors{user::optimised_body(x[0])}; }, {ones({2})});
  const std::string text = line_with(g->dump(), "Mul");
  EXPECT_TRUE(
      contains(text, "source_line_optimised.cc:" + std::to_string(user::kOptimisedLine)))
      << text;
}

// Without debug information there are still names, which are the same in every process.
TEST(SourceLines, OfProgramsWithoutDebugInformation) {
  const GraphPtr g =
      trace([](const Tensors& x) { return Tensors{user::bare_body(x[0])}; }, {ones({2})});
  const std::string text = line_with(g->dump(), "Exp");
  EXPECT_TRUE(contains(text, "source_line_test(user::bare_body+0x")) << text;
}

int g_asked = 0;

// Only tracing walks the stack: neither eager ops nor calls of what was traced do.
TEST(SourceLines, AreAskedForByTracesAlone) {
  set_location_provider([] {
    ++g_asked;
    return native_location();
  });
  const Tensor x = ones({2});
  EXPECT_EQ((x * 2.f + 1.f).to_vector<float>(), (std::vector<float>{3, 3}));
  EXPECT_EQ(g_asked, 0);
  auto f = function([](Tensor t) { return exp(t) + t; });
  f(x);
  EXPECT_EQ(g_asked, 2);
  f(x);
  EXPECT_EQ(g_asked, 2);
  set_location_provider(native_location);
}

TEST(FunctionNames, AreShort) {
  const auto name = [](const char* text) { return short_function_name(text); };
  EXPECT_EQ(name("main"), "main");
  EXPECT_EQ(name("step(int, char)"), "step");
  EXPECT_EQ(name("a::(anonymous namespace)::step(int)"), "a::step");
  EXPECT_EQ(name("void step<int, std::vector<int> >(int)"), "step");
  EXPECT_EQ(name("train()::{lambda(tandem::Tensor)#1}::operator()(tandem::Tensor) const"),
            "train");
  EXPECT_EQ(name("Layer<float>::operator()(int) const"), "Layer::operator()");
  EXPECT_EQ(name("a::operator<(int, int)"), "a::operator<");
  EXPECT_EQ(name("my_operator(int)"), "my_operator");
  EXPECT_EQ(name("A<int>::B<char>::run(int)"), "A::B::run");
  EXPECT_EQ(name(""), "");
}

}  // namespace
}  // namespace tandem
