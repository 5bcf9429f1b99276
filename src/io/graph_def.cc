#include "io/graph_def.h"

#include <unordered_map>

#include <fmt/format.h>

namespace tandem {

namespace {

constexpr const char* kKinds[] = {"Placeholder", "Const", "VarHandleOp", "",    "Copy",
                                  "If",          "Case",  "While",       "Call"};

class GraphDefWriter {
 public:
  WireMessage run(const Graph& graph) {
    add(graph, "");
    WireMessage versions;
    versions.integer(1, 1);
    message_.message(4, versions);
    return std::move(message_);
  }

 private:
  /// Names of nodes repeat; those of a GraphDef must not.
  std::string unique(const std::string& wanted) {
    int& used = used_[wanted];
    return used++ == 0 ? wanted : unique(fmt::format("{}_{}", wanted, used - 1));
  }

  void add(const Graph& graph, const std::string& prefix) {
    std::vector<std::string> names;
    for (const Node& n : graph.nodes()) {
      const char* kind = n.op ? n.op->name.c_str() : kKinds[static_cast<size_t>(n.kind)];
      names.push_back(unique(prefix + (n.name.empty() ? kind : n.name)));
      WireMessage node;
      node.text(1, names.back());
      node.text(2, kind);
      for (const ValueRef& v : n.inputs) {
        if (!v.defined()) continue;
        const std::string& from = names[static_cast<size_t>(v.node)];
        node.text(3, v.output ? fmt::format("{}:{}", from, v.output) : from);
      }
      for (int32_t before : n.after) {
        node.text(3, "^" + names[static_cast<size_t>(before)]);
      }
      if (!n.device.empty()) node.text(4, n.device);
      add_shapes(n, node);
      message_.message(1, node);
      for (size_t i = 0; i < n.subgraphs.size(); ++i) {
        add(*n.subgraphs[i], fmt::format("{}/{}/", names.back(), i));
      }
    }
  }

  static void add_shapes(const Node& n, WireMessage& node) {
    if (n.outputs.empty()) return;
    WireMessage list, value, entry;
    for (const ValueInfo& o : n.outputs) {
      WireMessage shape;
      if (o.shape.has_rank()) {
        for (int64_t d : o.shape) {
          WireMessage dim;
          dim.integer(1, d);
          shape.message(2, dim);
        }
      } else {
        shape.integer(3, 1);
      }
      list.message(7, shape);
    }
    value.message(1, list);
    entry.text(1, "_output_shapes");
    entry.message(2, value);
    node.message(5, entry);
  }

  WireMessage message_;
  std::unordered_map<std::string, int> used_;
};

}  // namespace

WireMessage graph_def(const Graph& graph) { return GraphDefWriter().run(graph); }

WireMessage run_metadata(const std::vector<const Graph*>& graphs) {
  WireMessage message;
  for (const Graph* graph : graphs) {
    const WireMessage def = graph_def(*graph);
    WireMessage function;
    function.message(1, def);
    function.message(2, def);
    message.message(3, def);
    message.message(4, function);
  }
  return message;
}

}  // namespace tandem
