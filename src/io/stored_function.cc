#include "io/stored_function.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "base/file.h"
#include "base/new_file.h"
#include "graph/custom_gradient.h"
#include "tandem/error.h"
#include "tandem/lookup.h"
#include "tensor/tensor_impl.h"

namespace tandem {

namespace {

// The walk of graph/serialize.cc.
void collect(const Graph& graph, std::unordered_set<uint64_t>& seen,
             std::vector<Tensor>& handles) {
  for (const Node& n : graph.nodes()) {
    if (n.constant.defined() && n.constant.dtype() == DType::kResource &&
        seen.insert(n.constant.impl()->id).second) {
      handles.push_back(n.constant);
    }
    for (const GraphPtr& g : n.subgraphs) collect(*g, seen, handles);
  }
}

void collect_tables(const Graph& graph, std::set<int64_t>& tables) {
  for (const Node& n : graph.nodes()) {
    if (n.op && n.op->attrs == &attrs_type<lookup::TableAttrs>()) {
      tables.insert(n.attrs.ref().as<lookup::TableAttrs>().table);
    }
    for (const GraphPtr& g : n.subgraphs) collect_tables(*g, tables);
    if (n.gradient && n.gradient->graph) collect_tables(*n.gradient->graph, tables);
  }
}

}  // namespace

std::vector<Tensor> stored_variables(const Graph& graph) {
  std::unordered_set<uint64_t> seen;
  std::vector<Tensor> handles;
  collect(graph, seen, handles);
  return handles;
}

std::vector<int64_t> stored_tables(const Graph& graph) {
  std::set<int64_t> tables;
  collect_tables(graph, tables);
  return {tables.begin(), tables.end()};
}

void store_function(const std::string& path, const Graph& graph) {
  NewFile file(path);
  file.write(to_bytes(graph));
  file.commit();
}

void check_interface(const GraphFunction& function, const std::string& path,
                     std::span<const DType> arguments, std::span<const DType> results) {
  const Graph& graph = function.graph();
  std::vector<DType> takes, gives;
  for (int32_t p : graph.parameters()) takes.push_back(graph.info({p, 0}).dtype);
  for (ValueRef r : graph.results()) {
    gives.push_back(r.defined() ? graph.info(r).dtype : DType::kInvalid);
  }
  const auto differs = [&](const char* what, const std::vector<DType>& has,
                           std::span<const DType> said) {
    if (std::ranges::equal(has, said)) return;
    const auto names = [](std::span<const DType> dtypes) {
      std::vector<std::string> all;
      for (DType d : dtypes) {
        all.emplace_back(d == DType::kInvalid ? "nothing" : dtype_name(d));
      }
      return all;
    };
    throw DataLossError(fmt::format(
        "{} has the {} ({}), and the description of the model says ({}). It is damaged.",
        path, what, fmt::join(names(has), ", "), fmt::join(names(said), ", ")));
  };
  differs("arguments", takes, arguments);
  differs("results", gives, results);
}

std::shared_ptr<CompiledFunction> load_function(const std::string& path,
                                                std::span<const Tensor> handles,
                                                const TableNumbers& tables) {
  const auto find = [&](const StoredVariable& v) {
    return static_cast<size_t>(v.index) < handles.size()
               ? handles[static_cast<size_t>(v.index)]
               : Tensor();
  };
  try {
    auto graph = std::make_shared<Graph>(
        from_bytes(read_whole_file(path), find, GraphRole::kFunction, &tables));
    return std::make_shared<CompiledFunction>(std::move(graph), GraphFunctionOptions{});
  } catch (const DataLossError& e) {
    throw DataLossError(fmt::format("{}: {}", path, e.what()));
  } catch (const InvalidArgumentError& e) {
    throw InvalidArgumentError(fmt::format("{}: {}", path, e.what()));
  }
}

}  // namespace tandem
