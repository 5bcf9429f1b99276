#include "graph/dim_names.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "graph/passes/passes.h"
#include "tandem/error.h"

namespace tandem {

namespace {

using Sizes = std::vector<int64_t>;  // by name

// Sizes with many divisors, so that a dimension may be split, and no two of them or of
// their multiples alike.
int64_t usual_size(size_t name) {
  static constexpr int64_t kPrimes[] = {11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
  const auto many = static_cast<int64_t>(std::size(kPrimes));
  const auto i = static_cast<int64_t>(name);
  return 840 * (kPrimes[i % many] + 60 * (i / many));
}
// Beyond what a program clips at, within what 32-bit shapes can say.
constexpr int64_t kLarge = (int64_t{1} << 30) + 840;

struct Example {
  Sizes sizes;
  bool must_fit = false;  // without it nothing is certain
};

std::vector<Example> make_examples(size_t names) {
  std::vector<Example> list;
  Sizes usual;
  for (size_t i = 0; i < names; ++i) usual.push_back(usual_size(i));
  list.push_back({usual, true});
  for (size_t i = 0; i < names; ++i) {
    Sizes large = usual;
    large[i] = kLarge;
    list.push_back({std::move(large), true});
  }
  for (const int64_t small : {int64_t{2}, int64_t{1}, int64_t{0}}) {
    for (size_t i = 0; i < names; ++i) {
      Sizes sizes = usual;
      sizes[i] = small;
      list.push_back({std::move(sizes), false});
    }
  }
  return list;
}

class Namer {
 public:
  explicit Namer(std::vector<std::string> names) : names_(std::move(names)) {}

  size_t number(const std::string& name) const {
    return static_cast<size_t>(std::find(names_.begin(), names_.end(), name) -
                               names_.begin());
  }

  /// The graph for one example; nothing when its shapes do not fit.
  std::optional<Graph> apply(const Graph& graph, const Sizes& sizes) const {
    std::vector<TensorInfo> infos;
    for (int32_t p : graph.parameters()) {
      const ValueInfo& declared = graph.node(p).outputs[0];
      TensorInfo info = declared;
      for (size_t d = 0; d < declared.dims.size(); ++d) {
        const size_t name = number(declared.dims[d]);
        if (name < names_.size() && declared.shape[static_cast<int>(d)] < 0) {
          info.shape.set(static_cast<int>(d), sizes[name]);
        }
      }
      infos.push_back(std::move(info));
    }
    try {
      return specialize(graph, infos);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  void add(Sizes sizes, Graph graph) {
    sizes_.push_back(std::move(sizes));
    graphs_.push_back(std::move(graph));
  }

  Graph run(const Graph& graph) const {
    std::vector<const Graph*> examples;
    for (const Graph& g : graphs_) examples.push_back(&g);
    return name(graph, examples);
  }

 private:
  Graph name(const Graph& graph, const std::vector<const Graph*>& examples) const {
    Graph named = graph;
    for (int32_t i = 0; i < named.size(); ++i) {
      Node& n = named.node(i);
      for (size_t o = 0; o < n.outputs.size(); ++o) {
        std::vector<const Shape*> shapes;
        for (const Graph* e : examples) shapes.push_back(&e->node(i).outputs[o].shape);
        name_dims(n.outputs[o], shapes);
      }
      for (size_t g = 0; g < n.subgraphs.size(); ++g) {
        std::vector<const Graph*> inner;
        for (const Graph* e : examples) inner.push_back(e->node(i).subgraphs[g].get());
        n.subgraphs[g] = std::make_shared<const Graph>(name(*n.subgraphs[g], inner));
      }
    }
    return named;
  }

  void name_dims(ValueInfo& info, const std::vector<const Shape*>& shapes) const {
    if (!info.shape.has_rank() || info.shape.is_known()) return;
    for (const Shape* s : shapes) {
      if (s->rank() != info.shape.rank()) return;
    }
    std::vector<std::string> dims = info.dims;
    dims.resize(static_cast<size_t>(info.shape.rank()));
    for (int d = 0; d < info.shape.rank(); ++d) {
      if (info.shape[d] >= 0 || !dims[static_cast<size_t>(d)].empty()) continue;
      Sizes seen;
      for (const Shape* s : shapes) seen.push_back((*s)[d]);
      // Sizes that do not depend on names: shapes that are computed, (n, -1) for one.
      if (seen[0] >= 0 && !info.state &&
          std::all_of(seen.begin(), seen.end(),
                      [&](int64_t s) { return s == seen[0]; })) {
        info.shape.set(d, seen[0]);
        continue;
      }
      dims[static_cast<size_t>(d)] = describe(seen);
    }
    if (std::any_of(dims.begin(), dims.end(), [](const auto& n) { return !n.empty(); })) {
      info.dims = std::move(dims);
    }
  }

  // By example: the size of something that is made of names.
  template <class F>
  bool fits(const Sizes& seen, F&& size) const {
    for (size_t e = 0; e < seen.size(); ++e) {
      if (seen[e] < 0 || seen[e] != size(sizes_[e])) return false;
    }
    return true;
  }
  std::string describe(const Sizes& seen) const {
    const int64_t usual = seen[0];
    if (usual < 0) return {};
    for (size_t i = 0; i < names_.size(); ++i) {
      if (fits(seen, [&](const Sizes& s) { return s[i]; })) return names_[i];
    }
    for (size_t i = 0; i < names_.size(); ++i) {
      const int64_t times = usual / usual_size(i), more = usual - usual_size(i);
      if (times > 1 && fits(seen, [&](const Sizes& s) { return times * s[i]; })) {
        return fmt::format("{}*{}", times, names_[i]);
      }
      if (fits(seen, [&](const Sizes& s) { return s[i] + more; })) {
        return fmt::format("{}{:+}", names_[i], more);
      }
      for (size_t j = i + 1; j < names_.size(); ++j) {
        const int64_t of_both = usual / (usual_size(i) * usual_size(j));
        if (of_both < 1) continue;
        if (fits(seen, [&](const Sizes& s) { return of_both * s[i] * s[j]; })) {
          const std::string both = fmt::format("{}*{}", names_[i], names_[j]);
          return of_both == 1 ? both : fmt::format("{}*{}", of_both, both);
        }
      }
    }
    return {};
  }

  const std::vector<std::string> names_;
  std::vector<Sizes> sizes_;  // by example that fits
  std::vector<Graph> graphs_;
};

}  // namespace

Graph name_dimensions(const Graph& graph) {
  std::vector<std::string> names;
  for (int32_t p : graph.parameters()) {
    const ValueInfo& info = graph.node(p).outputs[0];
    for (size_t d = 0; d < info.dims.size(); ++d) {
      const std::string& name = info.dims[d];
      if (name.empty() || info.shape[static_cast<int>(d)] >= 0) continue;
      if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
    }
  }
  if (names.empty()) return graph;
  Namer namer(names);
  for (Example& e : make_examples(names.size())) {
    std::optional<Graph> made = namer.apply(graph, e.sizes);
    if (made) {
      namer.add(std::move(e.sizes), std::move(*made));
    } else if (e.must_fit) {
      return graph;
    }
  }
  return namer.run(graph);
}

bool same_shape(const ValueInfo& a, const ValueInfo& b) {
  if (!a.shape.has_rank() || a.shape.rank() != b.shape.rank()) return false;
  for (int i = 0; i < a.shape.rank(); ++i) {
    if (a.shape[i] != b.shape[i]) return false;
    if (a.shape[i] >= 0) continue;
    const auto d = static_cast<size_t>(i);
    if (a.dims.empty() || b.dims.empty() || a.dims[d].empty() || a.dims[d] != b.dims[d])
      return false;
  }
  return true;
}

std::string shape_text(const ValueInfo& info) {
  if (info.dims.empty() || static_cast<int>(info.dims.size()) != info.shape.rank()) {
    return info.shape.debug_str();
  }
  std::string text;
  for (int i = 0; i < info.shape.rank(); ++i) {
    if (i) text += ',';
    const std::string& name = info.dims[static_cast<size_t>(i)];
    const int64_t size = info.shape[i];
    const std::string known = size < 0 ? "?" : std::to_string(size);
    text += name.empty() ? known : size < 0 ? name : name + '=' + known;
  }
  return '[' + text + ']';
}

}  // namespace tandem
