// The dot export, read by the dot language's own grammar: what Graphviz would refuse is
// found without it. Where `dot` is there, it draws them too.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "graph/trace.h"
#include "support/random_graph.h"
#include "support/temporary_folder.h"
#include "support/trace_support.h"
#include "tandem/tandem.h"

namespace tandem::testing {
namespace {

/// What a drawing has: names with their labels, edges, clusters with their nesting.
struct Drawing {
  std::map<std::string, std::string> labels;
  std::vector<std::pair<std::string, std::string>> edges;
  std::set<std::string> dashed;  // "a -> b"
  int clusters = 0, deepest = 0;
};

/// The part of the language that is used: digraph, subgraph, node, edge and attribute
/// statements; identifiers are words, numbers or quoted strings.
class DotReader {
 public:
  explicit DotReader(const std::string& text) : text_(text) {}

  Drawing read() {
    expect("digraph");
    token();
    statements(0);
    EXPECT_EQ(peek(), "") << "something follows the graph";
    return drawing_;
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) {
      ++at_;
    }
  }
  std::string peek() {
    const size_t before = at_;
    const std::string t = token();
    at_ = before;
    return t;
  }
  std::string token() {
    skip();
    if (at_ == text_.size()) return "";
    const char c = text_[at_];
    if (c == '"') return string();
    if (text_.compare(at_, 2, "->") == 0) {
      at_ += 2;
      return "->";
    }
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      const size_t begin = at_;
      while (at_ < text_.size() &&
             (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' ||
              text_[at_] == '.')) {
        ++at_;
      }
      return text_.substr(begin, at_ - begin);
    }
    ++at_;
    return {c};
  }
  // Ends at the first quote without a backslash; a line feed inside is written as an
  // escape.
  std::string string() {
    std::string out = "\"";
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\n') ADD_FAILURE() << "a string over two lines: " << out;
      if (text_[at_] == '\\') {
        ++at_;
        if (at_ < text_.size() && text_[at_] == 'n') {
          out += '\n';
          continue;
        }
      }
      if (at_ < text_.size()) out += text_[at_];
    }
    if (at_ == text_.size()) ADD_FAILURE() << "a string without an end: " << out;
    ++at_;
    return out;
  }
  void expect(const std::string& wanted) {
    const std::string got = token();
    if (got != wanted) {
      ADD_FAILURE() << "'" << wanted << "' is expected, not '" << got << "' before "
                    << text_.substr(at_, 60);
      at_ = text_.size();
    }
  }
  std::map<std::string, std::string> attributes() {
    std::map<std::string, std::string> made;
    if (peek() != "[") return made;
    token();
    while (at_ < text_.size() && peek() != "]") {
      const std::string name = token();
      expect("=");
      made[name] = token();
      if (peek() == ",") token();
    }
    expect("]");
    return made;
  }
  void statements(int depth) {
    drawing_.deepest = std::max(drawing_.deepest, depth);
    expect("{");
    while (at_ < text_.size() && peek() != "}") statement(depth);
    expect("}");
  }
  void statement(int depth) {
    const std::string first = token();
    if (first == "subgraph") {
      const std::string name = token();
      EXPECT_TRUE(name.starts_with("\"cluster")) << name << " would not be drawn";
      ++drawing_.clusters;
      statements(depth + 1);
      return;
    }
    if (peek() == "=") {
      token();
      token();
    } else if (peek() == "->") {
      token();
      const std::string second = token();
      drawing_.edges.emplace_back(first, second);
      if (attributes()["style"] == "dashed")
        drawing_.dashed.insert(first + " -> " + second);
    } else {
      const auto found = attributes();
      if (first != "node") {
        EXPECT_TRUE(found.count("label")) << first;
        EXPECT_TRUE(drawing_.labels.emplace(first, found.at("label")).second)
            << first << " is there twice";
      }
    }
    expect(";");
  }

  const std::string& text_;
  size_t at_ = 0;
  Drawing drawing_;
};

Drawing drawing_of(const Graph& graph) {
  const std::string text = graph.dot();
  Drawing d = DotReader(text).read();
  EXPECT_EQ(static_cast<int64_t>(d.labels.size()), graph.count(true)) << text;
  for (const auto& [from, to] : d.edges) {
    EXPECT_TRUE(d.labels.count(from) && d.labels.count(to)) << from << " -> " << to;
  }
  return d;
}

TEST(Dot, HasANodeForEachAndAnEdgeForEachUse) {
  Graph g("a \"quoted\" name");
  const ValueRef x = g.add_parameter(DType::kFloat32, Shape{2, 3}, "x");
  const Variable v(ones({2, 3}), {.name = "kernel\\\"1\""});
  const ValueRef state = g.add_variable(v.handle());
  const int32_t read =
      g.add_op(OpTable::get().at("ReadVariableOp"),
               default_attrs(OpTable::get().at("ReadVariableOp")), {state});
  const OpDef& mul = OpTable::get().at("Mul");
  const int32_t product =
      g.add_op(mul, default_attrs(mul), {x, {read, 0}}, "two\nlines \"quoted\"");
  g.results().push_back({product, 0});
  const Drawing d = drawing_of(g);
  ASSERT_EQ(d.edges.size(), 3u);
  EXPECT_EQ(d.dashed.size(), 1u);  // the state
  bool named = false;
  for (const auto& [id, label] : d.labels) {
    named |= label == "\"Mul\ntwo\nlines \"quoted\"\nfloat32[2,3]";
  }
  EXPECT_TRUE(named) << g.dot();
}

TEST(Dot, BranchesAndLoopsAreClusters) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const RandomGraph program(seed, {});
    drawing_of(program.graph());
  }
  auto f = function([](Tensor x) {
    return while_loop([&](const std::vector<Tensor>& s) { return s[0] < 3; },
                      [&](const std::vector<Tensor>& s) {
                        const auto y = cond(
                            reduce_sum(s[1]) > 0.f,
                            [&] { return std::vector<Tensor>{s[1] * 2.f}; },
                            [&] { return std::vector<Tensor>{-s[1]}; });
                        return std::vector<Tensor>{s[0] + 1, y[0]};
                      },
                      {constant(0), x})[1];
  });
  f(constant({1.f, -2.f}));
  const std::string text = f.dot();
  const Drawing d = DotReader(text).read();
  EXPECT_EQ(d.clusters, 4) << text;  // condition, body, then, else
  EXPECT_EQ(d.deepest, 2);
}

// Graphviz itself, where there is one.
TEST(Dot, Renders) {
  if (std::system("dot -V >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "Graphviz is not installed: only the grammar was checked";
  }
  const TemporaryFolder folder;
  const RandomGraph program(7, {});
  const std::string path = folder / "graph.dot";
  FILE* file = std::fopen(path.c_str(), "w");
  ASSERT_TRUE(file);
  std::fputs(program.graph().dot().c_str(), file);
  std::fclose(file);
  EXPECT_EQ(std::system(("dot -Tsvg -o " + path + ".svg " + path).c_str()), 0);
}

}  // namespace
}  // namespace tandem::testing
