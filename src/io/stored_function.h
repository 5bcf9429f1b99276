// Functions in files: a graph as graph/serialize.h writes it, and which variables it
// uses, in the order of the file. Any thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/serialize.h"
#include "run/compiled_function.h"

namespace tandem {

/// Handles of the variables that a graph uses, in the order in which its stored form
/// numbers them. Hidden ones too: the state of random ops.
std::vector<Tensor> stored_variables(const Graph& graph);

/// Numbers of the lookup tables that a graph uses.
std::vector<int64_t> stored_tables(const Graph& graph);

void store_function(const std::string& path, const Graph& graph);

/// `handles` take the places of stored_variables(), and `tables` those of the tables with
/// these numbers. Throws NotFoundError, DataLossError, and InvalidArgumentError for
/// variables that do not fit and for a table that is not among them.
std::shared_ptr<CompiledFunction> load_function(const std::string& path,
                                                std::span<const Tensor> handles,
                                                const TableNumbers& tables = {});

/// Throws DataLossError where the function in the file `path` has not these arguments and
/// results, by dtype: what a description says of it is a lie.
void check_interface(const GraphFunction& function, const std::string& path,
                     std::span<const DType> arguments, std::span<const DType> results);

}  // namespace tandem
