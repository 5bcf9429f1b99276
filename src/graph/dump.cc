// The two ways to look at a graph: text, and Graphviz.
#include <fmt/format.h>

#include "graph/custom_gradient.h"
#include "graph/dim_names.h"
#include "graph/graph.h"
#include "graph/source_of.h"

namespace tandem {

namespace {

std::string value_name(ValueRef v) {
  if (!v.defined()) return "-";
  return v.output ? fmt::format("%{}.{}", v.node, v.output) : fmt::format("%{}", v.node);
}

std::string value_list(const std::vector<ValueRef>& values) {
  std::string text;
  for (ValueRef v : values) {
    if (!text.empty()) text += ", ";
    text += value_name(v);
  }
  return text;
}

// "float32[2,3]", with the values of small constants.
std::string info_text(const ValueInfo& info) {
  std::string text = fmt::format("{}{}", dtype_name(info.dtype), shape_text(info));
  if (info.state) text = "state<" + text + ">";
  return text;
}

const char* kind_word(const Node& n) {
  switch (n.kind) {
    case Node::Kind::kParameter:
      return "parameter";
    case Node::Kind::kConstant:
      return "constant";
    case Node::Kind::kVariable:
      return "variable";
    case Node::Kind::kCopy:
      return "Copy";
    case Node::Kind::kIf:
      return "If";
    case Node::Kind::kCase:
      return "Case";
    case Node::Kind::kWhile:
      return "While";
    case Node::Kind::kCall:
      return "Call";
    case Node::Kind::kOp:
      break;
  }
  return n.op->name.c_str();
}

std::string constant_text(const Node& n) {
  const ValueInfo& info = n.outputs[0];
  if (!info.data || info.shape.num_elements() > 4) return {};
  if (info.has_value) {
    std::string text;
    for (int64_t v : info.value) text += fmt::format("{}{}", text.empty() ? "" : ", ", v);
    return fmt::format(" {{{}}}", text);
  }
  if (info.dtype == DType::kFloat32) {
    const auto* p = static_cast<const float*>(info.data);
    std::string text;
    for (int64_t i = 0; i < info.shape.num_elements(); ++i) {
      text += fmt::format("{}{}", i ? ", " : "", p[i]);
    }
    return fmt::format(" {{{}}}", text);
  }
  return {};
}

void dump_into(const Graph& graph, int indent, std::string& text) {
  const std::string pad(static_cast<size_t>(indent), ' ');
  for (int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(i);
    text += fmt::format("{}%{} = {}", pad, i, kind_word(n));
    if (!n.inputs.empty() || n.kind == Node::Kind::kOp) {
      text += fmt::format("({})", value_list(n.inputs));
    }
    if (n.kind == Node::Kind::kConstant) text += constant_text(n);
    const AttrsRef a = n.attrs.ref();
    if (a.data) {
      const std::string attrs = a.type->print(a.data);
      if (!attrs.empty()) text += " " + attrs;
    }
    text += " :";
    for (const ValueInfo& o : n.outputs) text += " " + info_text(o);
    if (!n.device.empty()) text += " @" + n.device;
    if (!n.after.empty()) {
      text += " after";
      for (int32_t before : n.after) text += fmt::format(" %{}", before);
    }
    text += fmt::format("  # {}", n.name);
    if (const SourceLocation* at = source_of(n)) text += " at " + site_text(*at);
    text += "\n";
    for (const GraphPtr& sub : n.subgraphs) {
      text += fmt::format("{}  {} {{\n", pad, sub->name());
      dump_into(*sub, indent + 4, text);
      text += pad + "  }\n";
    }
    if (n.gradient && n.gradient->graph) {
      text += pad + "  its gradient {\n";
      dump_into(*n.gradient->graph, indent + 4, text);
      text += pad + "  }\n";
    }
  }
  text += fmt::format("{}return {}\n", pad, value_list(graph.results()));
  if (!graph.final_states().empty()) {
    text += fmt::format("{}states {}\n", pad, value_list(graph.final_states()));
  }
}

// A string of the dot language. Lines of a label are apart by real line feeds.
std::string in_quotes(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out + "\"";
}

// One colour per device, the same in every picture.
const char* colour(const std::string& device) {
  static constexpr const char* kColours[] = {"#d7e8f7", "#f9e0c7", "#dff0d8", "#eadcf4"};
  if (device.empty()) return "#ffffff";
  size_t sum = 0;
  for (char c : device) sum += static_cast<unsigned char>(c);
  return kColours[sum % std::size(kColours)];
}

void dot_into(const Graph& graph, const std::string& prefix, int indent,
              std::string& text) {
  const std::string pad(static_cast<size_t>(indent), ' ');
  const auto id = [&](int32_t node) {
    return in_quotes(fmt::format("{}{}", prefix, node));
  };
  for (int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(i);
    std::string label = kind_word(n);
    if (n.name != label) label += "\n" + n.name;
    if (!n.outputs.empty()) label += "\n" + info_text(n.outputs[0]);
    const bool leaf = n.inputs.empty();
    text +=
        fmt::format("{}{} [label={}, shape={}, style=filled, fillcolor=\"{}\"];\n", pad,
                    id(i), in_quotes(label), leaf ? "ellipse" : "box", colour(n.device));
    for (ValueRef v : n.inputs) {
      if (!v.defined()) continue;
      text += fmt::format("{}{} -> {}{};\n", pad, id(v.node), id(i),
                          graph.info(v).state ? " [style=dashed]" : "");
    }
    for (int32_t before : n.after) {
      text += fmt::format("{}{} -> {} [style=dotted];\n", pad, id(before), id(i));
    }
    for (size_t k = 0; k < n.subgraphs.size(); ++k) {
      const std::string inner = fmt::format("{}{}.{}.", prefix, i, k);
      text += fmt::format("{}subgraph {} {{\n{}  label={};\n", pad,
                          in_quotes("cluster_" + inner), pad,
                          in_quotes(n.name + ": " + n.subgraphs[k]->name()));
      dot_into(*n.subgraphs[k], inner, indent + 2, text);
      text += pad + "}\n";
    }
  }
}

}  // namespace

std::string Graph::dump() const {
  std::string text;
  dump_into(*this, 0, text);
  return text;
}

std::string Graph::dot() const {
  std::string text = fmt::format("digraph {} {{\n  rankdir=TB;\n  node [fontsize=10];\n",
                                 in_quotes(name_));
  dot_into(*this, "n", 2, text);
  return text + "}\n";
}

}  // namespace tandem
