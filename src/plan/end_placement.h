// Whether a product may take in its bias and activation without leaving its device: a
// platform may have a kernel for the product and none for the product with its end. The
// same for other ops that swallow their neighbours. Pure; any thread.
#pragma once

#include "graph/graph.h"
#include "op/op_def.h"

namespace tandem {

/// `fused` is the op of the product with its end, with the product's inputs and, when
/// `bias` is defined, that as a vector.
bool end_keeps_device(const Graph& graph, const Node& product, const OpDef& fused,
                      AttrsRef attrs, ValueRef bias);
/// The same for a normalisation that ends with relu, perhaps after adding `side`, and for
/// a gradient of one that begins with relu's, perhaps by its result; false too where it
/// runs on the host, whose fused programs do that as well.
bool norm_end_pays(const Graph& graph, const Node& norm, const OpDef& fused,
                   AttrsRef attrs, ValueRef side);
/// The same for a cross entropy of `features`, its logits or what they were cast from.
bool narrow_loss_pays(const Graph& graph, const Node& loss, const OpDef& fused,
                      AttrsRef attrs, ValueRef features);

}  // namespace tandem
