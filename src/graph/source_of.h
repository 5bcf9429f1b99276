// The user's line of a traced node, for people: errors, explain(), dumps, profiles, and
// graphs that are stored. Of C++ programs a node keeps only the addresses of the calls
// (native_location), which debug information is asked about when somebody wants to know.
// Any thread.
#pragma once

#include <memory>
#include <string>

#include "graph/graph.h"
#include "tensor/live_memory.h"

namespace tandem {

/// Null: not known. Everybody who looks at a node's location asks here.
const SourceLocation* source_of(const Node& node);

/// The same of a location that is kept without its node.
const SourceLocation* source_of(const SourceLocation* location);

/// "train.cc:12"; "train(main+0x1c)" where only the function is known.
std::string site_text(const SourceLocation& at);

/// For the list of large tensors when memory runs out (tensor/live_memory.h).
MemoryLine memory_line(std::shared_ptr<const SourceLocation> location);

/// The place in the user's C++ program from which this thread is inside the library.
std::shared_ptr<const SourceLocation> native_location();

}  // namespace tandem
