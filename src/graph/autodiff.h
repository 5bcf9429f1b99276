// Reverse-mode differentiation of graphs. The backward graph is traced as if it were
// nested in the forward graph: what it captures is what has to be saved. Gradients are
// those of the op table, so what works eagerly works here; control flow gets gradient
// nodes of its own (autodiff_control_flow.h). One thread.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "graph/trace.h"
#include "tandem/gradient.h"

namespace tandem {

/// How the gradient of a wanted value crosses the end of the backward graph: not at all
/// (unconnected), as one result, or as three (values, indices, dense shape).
enum class GradientForm { kNone, kDense, kSlices };

struct Differentiated {
  /// The given graph; after its own results it returns what is saved.
  Graph forward;
  /// Parameters: the gradients of the differentiated results in order, then what is
  /// saved. Results: the gradients of the wanted values in order, as `forms` says.
  Graph backward;
  std::vector<GradientForm> forms;
  size_t saved = 0;
  /// The wanted values as values of `forward`.
  std::vector<ValueRef> wanted;
};

/// `wanted`: parameters, captured tensors (constants) and variables of the graph, the
/// latter by any state. `results`: which of its results are differentiated; their dtypes
/// are floating or complex.
Differentiated differentiate(const Graph& forward, std::span<const ValueRef> wanted,
                             std::span<const size_t> results);

/// The walk itself: gradients of `wanted` from those of some values of the forward trace,
/// emitted with the thread's emitter (this trace or one nested in it). Undefined where
/// unconnected. The forward graph may grow: shapes that are needed, more results of its
/// control flow. `stops` are taken as constants: gradients reach them and go no further.
using Seed = std::pair<ValueRef, Gradient>;
std::vector<Gradient> backpropagate(Tracer& forward, std::span<const Seed> seeds,
                                    std::span<const ValueRef> wanted,
                                    std::span<const ValueRef> stops = {});

/// Which values depend on wanted ones in a way that gradients follow; of `stops` only
/// those that are wanted themselves.
class Activity {
 public:
  Activity(const Graph& graph, std::span<const ValueRef> wanted,
           std::span<const ValueRef> stops = {});
  bool active(ValueRef v) const;
  /// Active values without producers that `results` depend on.
  std::vector<ValueRef> sources(std::span<const ValueRef> results) const;

 private:
  bool node_active(const Node& node) const;
  const Graph& graph_;
  std::vector<std::vector<bool>> values_;
  std::vector<uint64_t> handles_;  // variables that are wanted
};

/// What a value of a graph is to gradient functions: the captured tensor, a variable's
/// handle, or a symbolic tensor of the trace.
Tensor tensor_of(Tracer& tracer, ValueRef v);

/// Zeros for a gradient nobody gave: like a tensor, a list or a variable's value.
Tensor zero_gradient(const Tensor& like);

}  // namespace tandem
