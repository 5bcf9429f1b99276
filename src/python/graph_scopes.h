// FuncGraph: a graph that Python code is traced into, as the context of a `with` block.
// Belongs to the interpreter; needs its lock. One thread traces at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "graph/trace.h"
#include "python/bind.h"
#include "run/tape.h"

namespace tandem::python {

struct PyGraph {
  explicit PyGraph(std::string name) : graph(std::make_shared<Graph>(std::move(name))) {}
  PyGraph(const PyGraph&) = delete;
  PyGraph& operator=(const PyGraph&) = delete;
  /// Leaves it: an interrupt may come between entering a graph and the block that leaves
  /// it.
  ~PyGraph();

  /// Shared with the compiled function that is made of it: tensors that left the function
  /// can still say what they are.
  std::shared_ptr<Graph> graph;
  std::unique_ptr<Tracer> tracer;
  bool finished = false;
  bool open = false;  // the graph of a session: looked at by name, run in parts
  int64_t draws = 0;  // that the thread had traced when it was entered
  struct Entered {
    std::unique_ptr<HideListeners> hidden;
    std::unique_ptr<EmitterScope> scope;
    nb::object previous;  // null: none
    std::string prefix;   // of names, before
    std::thread::id thread = std::this_thread::get_id();
  };
  std::vector<Entered> entered;

  /// Names in use, in lower case, and how often each was asked for: of scopes, and of the
  /// nodes that were there when one was asked for.
  std::unordered_map<std::string, int> names;
  int32_t named = 0;  // nodes that `names` knows
};

/// What a symbolic tensor refers to; null when it is eager, or of a branch or loop whose
/// trace has ended.
const GraphValue* graph_value_of(const Tensor& tensor);

/// The graph of a session that a symbolic tensor belongs to, or null.
PyGraph* open_graph_of(PyObject* tensor);

/// The contents of a symbolic tensor of a few integers, where tracing knows all of them.
std::optional<Ints> known_ints(const Tensor& tensor);

}  // namespace tandem::python
