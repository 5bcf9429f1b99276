// Names of dimensions: those that an input_signature gives are followed through the
// graph, so that two unknown dimensions of one name are known to be equal. Names say
// nothing about sizes; a dimension may have one and be known. Pure functions; any thread.
#pragma once

#include <string>

#include "graph/graph.h"

namespace tandem {

/// The graph with names for every unknown dimension that follows from named ones of its
/// parameters: "n", or for sizes made of them "2*n", "n+1", "n*t". In sub-graphs too.
///
/// What follows is asked of the ops' own inference, with example sizes in the place of
/// names: a dimension is called n when it has n's size in every example. Examples are
/// chosen so that nothing but n has it: one in which n is larger than any clip, one with
/// many divisors, small ones, 1 and 0; sizes that do not fit the graph cannot be given to
/// it. Dimensions that no name was given stay unknown in every example, and those that
/// are the same in all become known.
Graph name_dimensions(const Graph& graph);

/// Both have the same shape: known dimensions are equal, unknown ones have equal names.
bool same_shape(const ValueInfo& a, const ValueInfo& b);

/// "[n,3]", "[n=32,3]", "[?,3]".
std::string shape_text(const ValueInfo& info);

}  // namespace tandem
