// Operands of kernels over many groups: gradients are placed end to end in the order of
// the variables, offsets by hand. Whether the kernel then makes one loop of it is
// tests/cpu/ops/fused_groups_test.cc.
#include <gtest/gtest.h>

#include "device/runtime.h"
#include "graph/trace.h"
#include "op/fused_program.h"
#include "plan/plan.h"
#include "run/executable.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using Tensors = std::vector<Tensor>;
using Offsets = std::vector<int64_t>;

const char* const kSubtract = "in float32,float32 rows 0; 2=Sub(0,1):float32; out 2";

// v - g for every variable as one node.
void descend(std::vector<Variable>& variables, const Tensors& gradients,
             const char* program = kSubtract) {
  std::vector<TensorArg> inputs;
  Tensors values;
  for (size_t i = 0; i < variables.size(); ++i) {
    values.push_back(variables[i].read());
    values.push_back(gradients[i]);
  }
  for (const Tensor& t : values) inputs.emplace_back(t);
  Tensors outputs;
  const FusedAttrs attrs{program, static_cast<int64_t>(variables.size())};
  current_emitter().emit(OpTable::get().at("FusedMulti"), attrs_ref(attrs), inputs,
                         outputs);
  for (size_t i = 0; i < variables.size(); ++i) variables[i].assign(outputs[i]);
}

class Strips : public ::testing::Test {
 protected:
  void make(const std::vector<int64_t>& sizes) {
    for (int64_t n : sizes) variables.emplace_back(zeros({n}) + 1.f);
  }

  // The plan of a body over one parameter per variable, of the same shape.
  template <class Body>
  void plan(Body body) {
    Graph graph("test");
    Tracer tracer(graph, nullptr);
    {
      const EmitterScope scope(&tracer);
      Tensors x;
      for (const Variable& v : variables) {
        x.push_back(tracer.parameter(DType::kFloat32, v.shape(), "x"));
      }
      for (const Tensor& r : body(x)) graph.results().push_back(tracer.value_of(r));
    }
    tracer.finish();
    const std::vector<Device*> devices(variables.size(), &Runtime::get().cpu());
    PlanOptions options;
    options.measure_kernels = false;
    planned = make_plan(graph, devices, options);
  }

  // Offsets of what ops of a name make, in the order of the graph.
  Offsets offsets(const std::string& op) const {
    Offsets list;
    for (int32_t i = 0; i < planned->graph->size(); ++i) {
      if (!planned->graph->node(i).is_op(op)) continue;
      const Place& p = planned->plan.places[static_cast<size_t>(i)][0];
      EXPECT_EQ(p.storage, Place::Storage::kArena);
      list.push_back(p.offset);
    }
    return list;
  }
  int64_t strip_bytes() const { return planned->plan.spaces.at(0).strip_bytes; }

  // x = 0 everywhere, so that exp(x) is 1.
  void run() {
    Tensors x;
    for (const Variable& v : variables) x.push_back(zeros(v.shape()));
    Executable(planned).run(x);
  }
  void expect_values(float wanted) {
    for (const Variable& v : variables) {
      EXPECT_EQ(
          v.read().to_vector<float>(),
          std::vector<float>(static_cast<size_t>(v.shape().num_elements()), wanted));
    }
  }

  std::vector<Variable> variables;
  std::shared_ptr<const PlannedGraph> planned;
};

// Computed last variable first, as a backward pass does.
Tensors backwards(const Tensors& x) {
  Tensors g(x.size());
  for (size_t i = x.size(); i-- > 0;) g[i] = exp(x[i]);
  return g;
}

TEST_F(Strips, GradientsLieInTheOrderOfTheirVariables) {
  make({16, 64, 10});
  plan([&](const Tensors& x) {
    descend(variables, backwards(x));
    return Tensors{};
  });
  // Exp of variable 2, 1 and 0: behind one another in the other order.
  EXPECT_EQ(offsets("Exp"), Offsets({64 + 256, 64, 0}));
  EXPECT_EQ(strip_bytes(), 64 + 256 + 64);
  EXPECT_EQ(planned->plan.spaces[0].bytes, 64 + 256 + 64);
  EXPECT_NE(explain(*planned).find("384 B of them end to end for one loop"),
            std::string::npos);
  run();
  expect_values(0);
}

// Behind 10 elements the next place is not the next element.
TEST_F(Strips, EndWhereThereWouldBeAGap) {
  make({16, 10, 16, 32});
  plan([&](const Tensors& x) {
    descend(variables, backwards(x));
    return Tensors{};
  });
  EXPECT_EQ(strip_bytes(), 64 + 64 + 64 + 128);
  const Offsets at = offsets("Exp");  // of 3, 2, 1, 0
  EXPECT_EQ(at[2], at[3] + 64);
  EXPECT_EQ(at[0], at[1] + 64);
}

TEST_F(Strips, ASharedGradientIsInOnePlace) {
  make({16, 16, 16, 16});
  plan([&](const Tensors& x) {
    Tensors g = backwards(x);
    g[1] = g[0];
    descend(variables, g);
    return Tensors{};
  });
  EXPECT_EQ(strip_bytes(), 3 * 64);  // 1 (which is 0 too), 2, 3
  run();
  expect_values(0);
}

TEST_F(Strips, WhatTheCallerHoldsStaysWhereItIs) {
  make({16, 16, 16});
  plan([&](const Tensors& x) {
    descend(variables, {x[0], x[1], x[2]});
    return Tensors{};
  });
  EXPECT_TRUE(planned->parameter_strips.empty());
  EXPECT_EQ(planned->plan.spaces.empty() ? 0 : strip_bytes(), 0);
  plan([&](const Tensors& x) {
    const Tensors g = backwards(x);
    descend(variables, g);
    return Tensors{g[1]};
  });
  EXPECT_EQ(strip_bytes(), 0);
  run();
  expect_values(0);
}

TEST_F(Strips, AWholeViewIsFollowedAndAPartIsNot) {
  make({16, 16, 16});
  plan([&](const Tensors& x) {
    Tensors g = backwards(x);
    for (Tensor& t : g) t = reshape(reshape(t, {4, 4}), {16});
    descend(variables, g);
    return Tensors{};
  });
  EXPECT_EQ(offsets("Exp"), Offsets({128, 64, 0}));
  plan([&](const Tensors& x) {
    const Tensor all = exp(stack({x[0], x[1], x[2]}));
    Tensors g;
    for (int64_t i = 0; i < 3; ++i)
      g.push_back(reshape(slice(all, {i, 0}, {1, 16}), {16}));
    descend(variables, g);
    return Tensors{};
  });
  EXPECT_EQ(strip_bytes(), 0);
}

TEST_F(Strips, ReductionsAskForNothing) {
  make({16, 16});
  plan([&](const Tensors& x) {
    const Tensors g = backwards(x);
    std::vector<TensorArg> inputs(g.begin(), g.end());
    const FusedAttrs attrs{"in float32 rows 0; 1=all Sum(0):float32; out 1", 2};
    Tensors sums;
    current_emitter().emit(OpTable::get().at("FusedMulti"), attrs_ref(attrs), inputs,
                           sums);
    return sums;
  });
  EXPECT_EQ(strip_bytes(), 0);
}

// The plan of the branch asks, the plan around it places.
TEST_F(Strips, GradientsOfABranchLieInTheOrderOfItsVariables) {
  make({16, 32, 16});
  plan([&](const Tensors& x) {
    const Tensors g = backwards(x);
    cond(
        reduce_sum(g[0]) > 0.f,
        [&] {
          descend(variables, g);
          return Tensors{};
        },
        [] { return Tensors{}; });
    return Tensors{};
  });
  EXPECT_EQ(offsets("Exp"), Offsets({64 + 128, 64, 0}));
  EXPECT_EQ(strip_bytes(), 64 + 128 + 64);
  run();
  expect_values(0);
}

TEST_F(Strips, AreStoredAndPlannedTheSameAgain) {
  make({16, 64, 10});
  const auto body = [&](const Tensors& x) {
    descend(variables, backwards(x));
    return Tensors{};
  };
  plan(body);
  const auto first = planned;
  const Plan loaded = plan_from_json(to_json(first->plan));
  EXPECT_TRUE(loaded == first->plan);
  EXPECT_EQ(loaded.spaces[0].strip_bytes, 384);
  plan(body);
  Plan second = planned->plan;
  second.plan_ms = first->plan.plan_ms;
  EXPECT_TRUE(second == first->plan);
  auto again = std::make_shared<PlannedGraph>(*first);
  again->plan = loaded;
  again->prepared.clear();
  planned = again;
  run();
  expect_values(0);
}

}  // namespace
}  // namespace tandem
