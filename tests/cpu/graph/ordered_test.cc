// Ordered nodes (prints, asserts) through every pass: all stay, in their order.
#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "graph/verify.h"
#include "op/emitter.h"
#include "support/trace_support.h"
#include "tandem/tandem.h"

namespace tandem::testing {
namespace {

// An op with an effect and no result, which the table need not have.
const OpDef& note() {
  static const OpDef op = [] {
    OpDef def;
    def.name = "Note";
    def.inputs = {{.name = "input"}};
    def.outputs = {};
    def.infer = [](InferContext&) {};
    def.effects = kOrdered;
    def.id = 1 << 20;
    return def;
  }();
  return op;
}
void note(const Tensor& x) {
  std::vector<Tensor> none;
  current_emitter().emit(note(), {}, std::vector<TensorArg>{x}, none);
}

// The notes of a graph in an order that its edges force, or a failure.
void expect_chain(const Graph& g, size_t count) {
  int32_t last = -1;
  size_t seen = 0;
  for (int32_t i = 0; i < g.size(); ++i) {
    const Node& n = g.node(i);
    if (!n.is_op("Note") && n.kind != Node::Kind::kIf && n.kind != Node::Kind::kWhile) {
      continue;
    }
    ++seen;
    if (last >= 0) {
      EXPECT_EQ(n.after, std::vector<int32_t>{last}) << g.dump();
    }
    last = i;
  }
  EXPECT_EQ(seen, count) << g.dump();
}

TEST(Ordered, EqualNotesAreNotMergedAndUnusedOnesStay) {
  const Graph g = trace({{float32, {2}}}, [](const Tensors& x) {
    note(x[0] + 0.f);
    note(x[0] + 0.f);
    note(sin(x[0]));
    return Tensors{};
  });
  const Graph made = optimize(g);
  verify(made);
  EXPECT_EQ(op_list(made), "Note Note Sin Note");
  expect_chain(made, 3);
}

TEST(Ordered, CallsAndTakenBranchesKeepTheirPlace) {
  const Graph g = trace({{float32, {}}}, [](const Tensors& x) {
    note(x[0]);
    trace_call(
        [](const Tensors& y) {
          note(y[0] * 2.f);
          note(y[0] * 3.f);
          return Tensors{};
        },
        x);
    trace_if(
        constant(true),
        [&] {
          note(x[0] * 4.f);
          return Tensors{};
        },
        [] { return Tensors{}; });
    trace_call([](const Tensors&) { return Tensors{}; }, {});
    note(x[0]);
    return Tensors{};
  });
  verify(g);
  const Graph made = optimize(g);
  verify(made);
  EXPECT_EQ(op_list(made), "Note Mul Note Mul Note Mul Note Note");
  expect_chain(made, 5);
}

TEST(Ordered, ControlFlowWithNotesStaysInOrder) {
  const Graph g = trace({{bool_, {}}, {float32, {}}}, [](const Tensors& x) {
    note(x[1]);
    trace_if(
        x[0],
        [&] {
          note(x[1] * 2.f);
          return Tensors{x[1]};
        },
        [&] { return Tensors{x[1]}; });
    // Nothing ordered inside and nobody asks: it goes, and its order closes.
    trace_if(x[0], [&] { return Tensors{sin(x[1])}; }, [&] { return Tensors{x[1]}; });
    trace_while([](const Tensors& c) { return c[0] < 3.f; },
                [](const Tensors& c) {
                  note(c[0]);
                  return Tensors{c[0] + 1.f};
                },
                {x[1]});
    note(x[1]);
    return Tensors{};
  });
  const Graph made = optimize(g);
  verify(made);
  EXPECT_EQ(op_list(made), "Note If While Note");
  expect_chain(made, 4);
  EXPECT_EQ(find_node(made, "If").outputs.size(), 0u);
  EXPECT_EQ(op_list(*find_node(made, "While").subgraphs[1]), "Note AddV2");
}

}  // namespace
}  // namespace tandem::testing
