#include "plan/end_placement.h"

#include <optional>

#include "device/runtime.h"
#include "op/placement.h"
#include "plan/assignment.h"
#include "tandem/device.h"

namespace tandem {

namespace {

/// Where the plain op is placed and where it is with its end; `more` is the end's input.
struct Places {
  const Device *before, *after;
};
Places places(const Graph& graph, const Node& node, const OpDef& fused, AttrsRef attrs,
              TensorInfo more) {
  NodeSignature s;
  node_signature(graph, node, nullptr, s);
  const DeviceScope none(std::nullopt);
  std::optional<DeviceScope> scope;
  if (!node.device.empty()) scope.emplace(node.device);
  Places p{};
  p.before = place_eager(s.signature).device;
  s.inputs.push_back(std::move(more));
  s.signature.op = &fused;
  s.signature.attrs = attrs;
  s.signature.inputs = s.inputs;
  p.after = place_eager(s.signature).device;
  return p;
}

}  // namespace

bool end_keeps_device(const Graph& graph, const Node& product, const OpDef& fused,
                      AttrsRef attrs, ValueRef bias) {
  if (Runtime::get().devices().size() == 1) return true;
  TensorInfo vector;
  if (bias.defined()) {
    const ValueInfo& info = graph.info(bias);
    vector.dtype = info.dtype;
    vector.shape = Shape{info.shape.num_elements()};
  }
  const Places p = places(graph, product, fused, attrs, std::move(vector));
  return p.after == p.before;
}

bool norm_end_pays(const Graph& graph, const Node& norm, const OpDef& fused,
                   AttrsRef attrs, ValueRef side) {
  if (Runtime::get().devices().size() == 1) return false;
  TensorInfo more;
  if (side.defined()) {
    more.dtype = graph.info(side).dtype;
    more.shape = graph.info(side).shape;
  }
  const Places p = places(graph, norm, fused, attrs, std::move(more));
  return p.before && p.after == p.before && p.before->platform() != kHostPlatform;
}

}  // namespace tandem
