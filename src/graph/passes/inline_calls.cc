// Inlining: a call is its body, with operands for parameters. Names become
// "call/node"; what has effects keeps its place in the order.
#include "graph/passes/common.h"
#include "graph/passes/passes.h"

namespace tandem {

Graph inline_calls(const Graph& graph) {
  GraphRewriter rewriter(graph);
  for (int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(i);
    std::vector<GraphPtr> subgraphs = rewrite_subgraphs(n, inline_calls);
    if (n.kind != Node::Kind::kCall) {
      rewriter.copy(i, std::move(subgraphs));
      continue;
    }
    splice_for(rewriter, i, *subgraphs[0], rewriter.map(n.inputs));
  }
  return rewriter.finish();
}

}  // namespace tandem
