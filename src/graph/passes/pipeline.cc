// The order of the passes. Calls and variables once, at the beginning; then the passes
// that feed each other, in rounds, until a round changes nothing; then layouts, which
// need to see what is left, and rounds again if they changed something.
#include <fmt/format.h>

#include "graph/equal.h"
#include "graph/passes/passes.h"
#include "graph/verify.h"

namespace tandem {

std::string PassTrace::text() const {
  std::string result;
  for (const Entry& e : entries) {
    if (e.nodes_before == e.nodes_after && e.note.empty()) continue;
    result += fmt::format("{:<22} {:>5} -> {:<5} nodes{}{}\n", e.pass, e.nodes_before,
                          e.nodes_after, e.note.empty() ? "" : "  ", e.note);
  }
  return result;
}

namespace {

class Pipeline {
 public:
  Pipeline(const Graph& graph, PassTrace* trace) : graph_(graph), trace_(trace) {
    check("the graph as given");
  }

  template <class Pass>
  void run(bool on, const char* name, Pass&& pass) {
    if (!on) return;
    const int64_t before = graph_.count(true);
    Graph next = pass(graph_);
    const bool changed = !equal(graph_, next);
    changed_ = changed_ || changed;
    graph_ = std::move(next);
    check(name);
    if (!trace_) return;
    const int64_t after = graph_.count(true);
    trace_->entries.push_back(
        {name, before, after, changed && before == after ? "rewritten" : ""});
  }

  /// Whether a pass changed something since this was asked last.
  bool changed() { return std::exchange(changed_, false); }
  Graph take() { return std::move(graph_); }

 private:
  void check([[maybe_unused]] const char* pass) const {
#ifndef NDEBUG
    try {
      verify(graph_);
    } catch (const InternalError& e) {
      // A value that a pass has found may be refused: what the user gave, with a class of
      // its own.
      infer_again(graph_);
      throw InternalError(fmt::format("after {}: {}\n{}", pass, e.what(), graph_.dump()));
    }
#endif
  }

  Graph graph_;
  PassTrace* trace_;
  bool changed_ = false;
};

}  // namespace

namespace {

void run_rounds(Pipeline& p, const PassOptions& options) {
  for (int round = 0; round < options.max_rounds; ++round) {
    p.changed();
    if (round > 0) p.run(true, "infer_again", infer_again);
    p.run(options.fold_constants, "fold_constants",
          [&](const Graph& g) { return fold_constants(g, options.evaluate); });
    p.run(options.remove_dead_branches, "remove_dead_branches", remove_dead_branches);
    p.run(options.simplify, "simplify", simplify);
    p.run(options.merge_common, "merge_common", merge_common);
    p.run(options.hoist_loop_invariants, "hoist_loop_invariants", hoist_loop_invariants);
    p.run(options.remove_dead_nodes, "remove_dead_nodes", remove_dead_nodes);
    if (!p.changed()) break;
    // Branches that were taken in bring variables with them, in whatever round.
    p.run(options.canonical_states, "canonical_states", canonical_states);
  }
}

}  // namespace

Graph optimize(const Graph& graph, const PassOptions& options, PassTrace* trace) {
  Pipeline p(graph, trace);
  p.run(options.inline_calls, "inline_calls", inline_calls);
  p.run(options.canonical_states, "canonical_states", canonical_states);
  run_rounds(p, options);
  p.changed();
  p.run(options.layout, "layout",
        [&](const Graph& g) { return layout(g, options.layout_target); });
  if (p.changed()) run_rounds(p, options);
  return p.take();
}

}  // namespace tandem
