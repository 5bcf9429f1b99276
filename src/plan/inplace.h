// Which outputs of a node may have the memory of which inputs. Pure; any thread.
#pragma once

#include "device/device.h"
#include "graph/graph.h"

namespace tandem {

/// Output `output` of `node` may be written to the memory of its input `input`, when
/// nobody needs that any more: both have the same elements in the same places, and the
/// kernel reads an element before it writes it. `device`: where the node runs.
bool may_share(const Graph& graph, const Node& node, size_t input, int32_t output,
               const Device* device);

}  // namespace tandem
