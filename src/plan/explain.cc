// What a plan says to its user.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "graph/dim_names.h"
#include "graph/source_of.h"
#include "plan/plan.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

std::string bytes_text(int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  const double kib = static_cast<double>(bytes) / 1024;
  if (kib < 1024) return fmt::format("{:.1f} KiB", kib);
  if (kib < 1024 * 1024) return fmt::format("{:.1f} MiB", kib / 1024);
  return fmt::format("{:.2f} GiB", kib / 1024 / 1024);
}

std::string short_device(const std::string& full) {
  const size_t at = full.find("device:");
  return at == std::string::npos ? full : full.substr(at + 7);
}

std::string node_word(const Node& n) {
  switch (n.kind) {
    case Node::Kind::kCopy:
      return "Copy";
    case Node::Kind::kIf:
      return "If";
    case Node::Kind::kCase:
      return "Case";
    case Node::Kind::kWhile:
      return "While";
    default:
      return n.op ? n.op->name : "";
  }
}

// "batch = 32, time = 64": what named dimensions of the arguments are in this plan.
std::string dimensions_text(const Graph& graph) {
  std::map<std::string, int64_t> sizes;
  for (int32_t p : graph.parameters()) {
    const ValueInfo& info = graph.node(p).outputs[0];
    for (size_t d = 0; d < info.dims.size(); ++d) {
      if (!info.dims[d].empty()) sizes[info.dims[d]] = info.shape[static_cast<int>(d)];
    }
  }
  std::string text;
  for (const auto& [name, size] : sizes) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, size);
  }
  return text;
}

// Without folders: lines of a program are told apart by the file's name.
std::string location_text(const SourceLocation& at) {
  SourceLocation name = at;
  name.file = at.file.substr(at.file.rfind('/') + 1);
  return site_text(name);
}

void explain_into(const PlannedGraph& planned, int indent, std::string& text) {
  const Graph& g = *planned.graph;
  const Plan& p = planned.plan;
  const std::string pad(static_cast<size_t>(indent), ' ');
  std::map<int32_t, int64_t> per_lane;
  for (const PlanStep& s : p.steps) ++per_lane[s.lane];
  text += fmt::format("{}{}: {} nodes, {} steps, planned in {:.1f} ms\n", pad, g.name(),
                      g.size(), p.steps.size(), p.plan_ms);
  if (const std::string sizes = dimensions_text(g); !sizes.empty()) {
    text += fmt::format("{}  dimensions: {}\n", pad, sizes);
  }
  for (size_t l = 0; l < p.lanes.size(); ++l) {
    text += fmt::format("{}  lane {}: {} steps", pad, p.lanes[l].name,
                        per_lane[static_cast<int32_t>(l)]);
    const auto first = std::find_if(p.steps.begin(), p.steps.end(), [&](const auto& s) {
      return s.lane == static_cast<int32_t>(l) && !s.kernel.empty();
    });
    if (p.lanes[l].kind == PlanLane::Kind::kHost && first != p.steps.end()) {
      text +=
          fmt::format(" on {} thread{}", first->threads, first->threads == 1 ? "" : "s");
    }
    text += "\n";
  }
  for (const PlanSpace& s : p.spaces) {
    text += fmt::format("{}  memory {}: {} of buffers in {} (peak; with results {})", pad,
                        short_device(s.device), bytes_text(s.unshared_bytes),
                        bytes_text(s.bytes), bytes_text(p.peak_bytes(s.device)));
    if (s.strip_bytes) {
      text +=
          fmt::format(", {} of them end to end for one loop", bytes_text(s.strip_bytes));
    }
    text += "\n";
  }
  if (p.over_limit) {
    text += fmt::format("{}  exceeds the limit of {} by {}\n", pad,
                        short_device(p.over_device), bytes_text(p.over_limit));
  }
  std::vector<char> is_step(g.nodes().size(), 0);
  for (const PlanStep& s : p.steps) is_step[static_cast<size_t>(s.node)] = 1;
  for (size_t i = 0; i < is_step.size(); ++i) {
    const Node& n = g.node(static_cast<int32_t>(i));
    if (n.kind != Node::Kind::kCopy || is_step[i]) continue;
    text += fmt::format("{}  in place: {} {} ({})\n", pad, n.name,
                        bytes_text(p.places[i][0].bytes), p.reasons[i]);
  }
  text += fmt::format("{}  copies between devices: {} ({})\n", pad, p.copies,
                      bytes_text(p.copy_bytes));
  for (size_t k = 0; k < p.steps.size(); ++k) {
    const PlanStep& s = p.steps[k];
    const Node& n = g.node(s.node);
    std::string outputs;
    for (const ValueInfo& o : n.outputs) {
      if (o.state) continue;
      if (outputs.size() > 60) {
        outputs += " …";
        break;
      }
      outputs += fmt::format(" {}{}", dtype_name(o.dtype), shape_text(o));
    }
    text += fmt::format("{}  {:>4} {} {}{}", pad, k,
                        p.lanes[static_cast<size_t>(s.lane)].name, node_word(n), outputs);
    if (!s.kernel.empty()) text += fmt::format("  [{}; {}]", s.kernel, s.why_kernel);
    text += fmt::format("  {} ({})", n.name, p.reasons[static_cast<size_t>(s.node)]);
    if (!s.waits.empty()) {
      text += "  waits for";
      for (int32_t w : s.waits) text += fmt::format(" {}", w);
    }
    if (const SourceLocation* at = source_of(n)) text += "  at " + location_text(*at);
    text += "\n";
    for (const auto& sub : planned.subplans[static_cast<size_t>(s.node)]) {
      explain_into(*sub, indent + 6, text);
    }
  }
}

}  // namespace

std::string explain(const PlannedGraph& planned) {
  std::string text;
  explain_into(planned, 0, text);
  return text;
}

}  // namespace tandem
