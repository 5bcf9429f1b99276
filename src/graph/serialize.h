// Graphs as bytes: a JSON header (nodes, infos, attributes, names of variables) and a
// binary section (contents of constants), with a checksum. What is loaded equals what was
// stored, node ids too; constants come back on the host. Any thread.
//
//   "TDMGRAPH"  version u32  header bytes u64  binary bytes u64  checksum u64
//   header      binary
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/verify.h"

namespace tandem {

/// Throws InvalidArgumentError for a constant that has no stored form (lists of tensors).
/// `variables`: gets the handles of its variables, in order of StoredVariable::index.
std::string to_bytes(const Graph& graph, std::vector<Tensor>* variables = nullptr);

/// A variable that a stored graph uses. Their contents are not part of the graph.
struct StoredVariable {
  std::string name;
  DType dtype = DType::kInvalid;
  Shape shape;    // declared
  int index = 0;  // in order of first use; tells variables of one name apart
};
/// Gives the handle of the variable that takes its place; called once for each.
using VariableLoader = std::function<Tensor(const StoredVariable&)>;

/// Numbers of lookup tables: stored → those of the tables that take their places.
using TableNumbers = std::map<int64_t, int64_t>;

/// Throws DataLossError for bytes that are damaged or were never a graph, and
/// InvalidArgumentError for a graph that this build cannot hold: an unknown op or
/// version, no variable or one of another dtype or shape. `tables`: the graph uses no
/// others; without them the stored numbers stay, which mean nothing in other processes.
Graph from_bytes(std::string_view bytes, const VariableLoader& variables = nullptr,
                 GraphRole role = GraphRole::kFunction,
                 const TableNumbers* tables = nullptr);

}  // namespace tandem
