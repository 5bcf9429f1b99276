// Errors of nodes: what a kernel or an op throws when a graph runs does not know which
// line of the user's program it belongs to. Any thread.
#pragma once

#include <exception>
#include <string>

#include "graph/graph.h"

namespace tandem {

/// In a catch block: throws the error again with the node's name and line, in
/// TensorFlow's form. An error that names a node already (of a sub-graph) or is none of
/// Tandem's goes on as it is.
[[noreturn]] void rethrow_at(const Node& node);

/// The node's name and line as they stand behind a message.
std::string text_at(const Node& node);

/// The same error, not thrown.
std::exception_ptr error_at(const Node& node);

}  // namespace tandem
