#include "fusion_testing.h"

#include <cmath>
#include <random>

#include "graph/passes/passes.h"
#include "graph/rewriter.h"
#include "graph/verify.h"
#include "run/graph_interpreter.h"
#include "support/traced.h"

namespace tandem::testing {

Graph traced(const Tensors& like, const Body& body) {
  std::vector<Argument> arguments;
  for (const Tensor& t : like) arguments.push_back({t.dtype(), t.shape()});
  return trace(arguments, body);
}

Graph optimized(const Tensors& arguments, const Body& body) {
  return optimize(specialize(*trace(body, arguments), infos_of(arguments)));
}

namespace {

Attrs reduce_attrs(const FusedInstruction& i, const FusedProgram& p, int rank) {
  using Kind = FusedInstruction::Kind;
  ReduceAttrs attrs;
  attrs.keepdims = i.kind == Kind::kRowReduce;
  const int outer = rank - p.row_axes;
  if (i.kind == Kind::kRowReduce) {
    for (int a = outer; a < rank; ++a) attrs.axis.push_back(a);
    attrs.no_axes = p.row_axes == 0;
  } else if (i.kind == Kind::kColumnReduce) {
    for (int a = 0; a < outer; ++a) attrs.axis.push_back(a);
    attrs.no_axes = outer == 0;
  }
  return Attrs(attrs_ref(attrs));
}

void take_apart(GraphRewriter& rewriter, int32_t node) {
  const Graph& graph = rewriter.from();
  const Node& n = graph.node(node);
  const auto& attrs = n.attrs.ref().as<FusedAttrs>();
  const FusedProgram p = FusedProgram::parse(attrs.program);
  EXPECT_EQ(p.text(), attrs.program);
  int32_t output = 0;
  for (int64_t g = 0; g < attrs.groups; ++g) {
    std::vector<ValueRef> values;
    for (int32_t i = 0; i < p.num_inputs; ++i) {
      values.push_back(rewriter.map(n.inputs[static_cast<size_t>(g * p.num_inputs + i)]));
    }
    for (const FusedInstruction& i : p.instructions) {
      std::vector<ValueRef> arguments;
      for (int32_t a : i.arguments) arguments.push_back(values[static_cast<size_t>(a)]);
      const OpDef& op = OpTable::get().at(i.op);
      Attrs given = i.attrs;
      if (i.kind != FusedInstruction::Kind::kElementwise) {
        given = reduce_attrs(i, p, rewriter.to().info(arguments[0]).shape.rank());
      }
      const AttrsRef a = given.ref().data ? given.ref() : default_attrs(op);
      values.push_back({rewriter.to().add_op(op, a, arguments), 0});
      EXPECT_EQ(rewriter.to().info(values.back()).dtype, i.dtype) << attrs.program;
    }
    for (int32_t o : p.outputs) {
      const ValueRef made = values[static_cast<size_t>(o)];
      const ValueInfo& declared = n.outputs[static_cast<size_t>(output)];
      EXPECT_EQ(rewriter.to().info(made).shape.debug_str(), declared.shape.debug_str())
          << attrs.program;
      EXPECT_EQ(rewriter.to().info(made).dtype, declared.dtype);
      rewriter.replace({node, output++}, made);
    }
  }
  EXPECT_EQ(output, static_cast<int32_t>(n.outputs.size()));
}

}  // namespace

Graph unfused(const Graph& graph) {
  GraphRewriter rewriter(graph);
  for (int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(i);
    if (n.is_op("Fused") || n.is_op("FusedMulti")) {
      take_apart(rewriter, i);
      continue;
    }
    std::vector<GraphPtr> subgraphs;
    for (const GraphPtr& g : n.subgraphs) {
      subgraphs.push_back(std::make_shared<const Graph>(unfused(*g)));
    }
    rewriter.copy(i, std::move(subgraphs));
  }
  return rewriter.finish();
}

const Node& only(const Graph& graph, const std::string& op) {
  const Node* found = nullptr;
  for (const Node& n : graph.nodes()) {
    if (!n.is_op(op)) continue;
    EXPECT_FALSE(found) << "more than one " << op << " in\n" << graph.dump();
    found = &n;
  }
  if (!found) throw std::runtime_error("no " + op + " in\n" + graph.dump());
  return *found;
}

std::string instructions(const Node& fused) {
  static constexpr const char* kMarks[] = {"", "row:", "column:", "all:"};
  const FusedProgram p = FusedProgram::parse(fused.attrs.ref().as<FusedAttrs>().program);
  std::string text;
  for (const FusedInstruction& i : p.instructions) {
    text += (text.empty() ? "" : " ") + (kMarks[static_cast<size_t>(i.kind)] + i.op);
  }
  return text;
}

std::string kernel_list(const Graph& graph) {
  std::string text;
  for (const Node& n : graph.nodes()) {
    if (!launches_kernel(n)) continue;
    const bool fused = n.is_op("Fused") || n.is_op("FusedMulti");
    text += n.op->name + " " + n.name + (fused ? ": " + instructions(n) : "") + "\n";
  }
  return text;
}

Tensor numbers(const Shape& shape, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> between(-1, 1);
  std::vector<float> v(static_cast<size_t>(shape.num_elements()));
  for (float& x : v) x = between(random);
  return constant(v, shape);
}

void expect_same(const Graph& a, const Graph& b, const Tensors& arguments,
                 double tolerance) {
  const Tensors x = interpret(a, arguments), y = interpret(b, arguments);
  ASSERT_EQ(x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(x[i].shape().str(), y[i].shape().str()) << "result " << i << "\n"
                                                      << b.dump();
    ASSERT_EQ(x[i].dtype(), y[i].dtype());
    const auto p = cast(x[i], DType::kFloat64).to_vector<double>();
    const auto q = cast(y[i], DType::kFloat64).to_vector<double>();
    for (size_t k = 0; k < p.size(); ++k) {
      if (std::isnan(p[k]) && std::isnan(q[k])) continue;
      ASSERT_LE(std::abs(p[k] - q[k]), tolerance * std::max(1.0, std::abs(p[k])))
          << "element " << k << " of result " << i << ": " << p[k] << " and " << q[k]
          << "\n"
          << a.dump() << b.dump();
    }
  }
}

Graph fused_and_checked(const Tensors& arguments, const Body& body, double tolerance) {
  const Graph before = traced(arguments, body);
  Graph after = fuse_elementwise(before, cpu_fusion_target());
  verify(after);
  expect_same(before, unfused(after), arguments, tolerance);
  // The kernels compute what the program says.
  expect_same(before, after, arguments, tolerance);
  return after;
}

}  // namespace tandem::testing
