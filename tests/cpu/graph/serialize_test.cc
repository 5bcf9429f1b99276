// Graphs as bytes: back equal, damaged never a crash.
#include "graph/serialize.h"

#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "base/hash.h"
#include "graph/equal.h"
#include "graph/passes/passes.h"
#include "run/graph_interpreter.h"
#include "support/random_graph.h"
#include "tandem/tandem.h"

namespace tandem::testing {
namespace {

// Finds the variables that the graph itself uses.
VariableLoader same_variables(const Graph& g) {
  Tensors handles;
  for (const Node& n : g.nodes()) {
    if (n.kind == Node::Kind::kVariable) handles.push_back(n.constant);
  }
  // Stored in order of first use, which is the order of nodes.
  return [handles](const StoredVariable& v) {
    return handles.at(static_cast<size_t>(v.index));
  };
}

Graph program_with_loop(Variable& v) {
  return trace({{float32, {kUnknownDim, 3}}}, [&](const Tensors& x) {
    NameScope scope("layer");
    DeviceScope device("/CPU:0");
    const Tensor words = constant({"a", "", "a longer string"});
    v.assign_add(reduce_sum(x[0], {.axis = {0}}));
    const Tensors r = trace_while([](const Tensors& c) { return c[0] < 3; },
                                  [&](const Tensors& c) {
                                    v.assign(v.read() * 0.5f);
                                    return Tensors{c[0] + 1, c[1] + v.read()};
                                  },
                                  {constant(int32_t{0}), x[0]});
    return Tensors{r[1], shape(x[0]), words, nn::softmax(r[1])};
  });
}

TEST(Serialize, LoadsBackEqual) {
  Variable v(constant({1.f, 2.f, 3.f}), {.name = "weights"});
  const Graph g = program_with_loop(v);
  const std::string bytes = to_bytes(g);
  std::vector<StoredVariable> asked;
  const Graph back = from_bytes(bytes, [&](const StoredVariable& s) {
    asked.push_back(s);
    return v.handle();
  });
  EXPECT_TRUE(equal(g, back)) << g.dump() << back.dump();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].name, "weights");
  EXPECT_EQ(asked[0].dtype, float32);
  EXPECT_EQ(asked[0].shape, (Shape{3}));
  for (int32_t i = 0; i < g.size(); ++i) EXPECT_EQ(g.node(i).id(), back.node(i).id());
  EXPECT_EQ(to_bytes(back), bytes);
}

TEST(Serialize, LoadedGraphsRun) {
  Variable v(constant({1.f, 2.f, 3.f}));
  Graph g = program_with_loop(v);
  const std::string bytes = to_bytes(g);
  const Tensor x = constant({{1.f, 2.f, 3.f}});
  const Tensors expected = interpret(g, Tensors{x});
  const Tensor after = v.read();
  // Into another process, whose variables are others.
  Variable w(constant({1.f, 2.f, 3.f}));
  const Graph back = from_bytes(bytes, [&](const StoredVariable&) { return w.handle(); });
  const Tensors got = interpret(back, Tensors{x});
  EXPECT_EQ(got[0].to_vector<float>(), expected[0].to_vector<float>());
  EXPECT_EQ(got[2].to_vector<std::string>(), expected[2].to_vector<std::string>());
  EXPECT_EQ(w.read().to_vector<float>(), after.to_vector<float>());
  EXPECT_EQ(got.size(), 4u);
}

TEST(Serialize, RandomProgramsBeforeAndAfterPasses) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    RandomGraph program(seed, {.unknown_batch = seed % 2 == 0});
    const Graph known = specialize(program.graph(), infos_of(program.arguments()));
    const Graph fast = optimize(known);
    for (const Graph* g : {&program.graph(), &known, &fast}) {
      const Graph back = from_bytes(to_bytes(*g), same_variables(*g));
      ASSERT_TRUE(equal(*g, back)) << "seed " << seed << "\n" << g->dump() << back.dump();
    }
  }
}

TEST(Serialize, VariablesMustFit) {
  Variable v(constant({1.f, 2.f, 3.f}), {.name = "weights"});
  const std::string bytes = to_bytes(program_with_loop(v));
  EXPECT_THROW(from_bytes(bytes), InvalidArgumentError);
  const Variable shorter(constant({1.f})), ints(constant({1, 2, 3}));
  for (const Variable& wrong : {shorter, ints}) {
    EXPECT_THROW(from_bytes(bytes, [&](const StoredVariable&) { return wrong.handle(); }),
                 InvalidArgumentError);
  }
}

// Loads bytes that may be anything: a graph, or one of the two errors.
bool loads(std::string_view bytes, const Variable& v) {
  try {
    from_bytes(bytes, [&](const StoredVariable&) { return v.handle(); });
    return true;
  } catch (const DataLossError&) {
  } catch (const InvalidArgumentError&) {
  }
  return false;
}

TEST(Serialize, TruncatedAndFlippedBytesAreRefused) {
  Variable v(constant({1.f, 2.f, 3.f}));
  const std::string bytes = to_bytes(program_with_loop(v));
  ASSERT_TRUE(loads(bytes, v));
  for (size_t n = 0; n < bytes.size(); n += n < 64 ? 1 : 37) {
    EXPECT_FALSE(loads(std::string_view(bytes).substr(0, n), v)) << n;
  }
  EXPECT_FALSE(loads(bytes + "x", v));
  std::mt19937_64 random(5);
  for (int i = 0; i < 400; ++i) {
    std::string broken = bytes;
    const size_t at = i < 36 ? static_cast<size_t>(i) : random() % broken.size();
    broken[at] = static_cast<char>(broken[at] ^ (1 << random() % 8));
    EXPECT_FALSE(loads(broken, v)) << at;
  }
}

// Damage that the checksum does not see, because it was made before: still no crash.
TEST(Serialize, WrongHeadersAreErrors) {
  Variable v(constant({1.f, 2.f, 3.f}));
  const std::string bytes = to_bytes(program_with_loop(v));
  uint64_t header_size = 0;
  std::memcpy(&header_size, bytes.data() + 12, 8);
  std::mt19937_64 random(6);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string broken = bytes;
    // Digits become other digits, so that the text often stays JSON.
    for (int k = 0; k < 1 + i % 3; ++k) {
      size_t at = 0;
      do {
        at = 36 + random() % header_size;
      } while (!std::isdigit(static_cast<unsigned char>(broken[at])) && i % 4);
      broken[at] = i % 4 ? static_cast<char>('0' + random() % 10)
                         : static_cast<char>(32 + random() % 90);
    }
    const std::string_view rest = std::string_view(broken).substr(36);
    const uint64_t sum =
        hash_bytes(rest.substr(header_size), hash_bytes(rest.substr(0, header_size)));
    std::memcpy(broken.data() + 28, &sum, 8);
    refused += !loads(broken, v);
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace tandem::testing
