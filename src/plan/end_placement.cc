#include "plan/end_placement.h"

#include <optional>

#include "device/runtime.h"
#include "op/placement.h"
#include "plan/assignment.h"
#include "tandem/device.h"

namespace tandem {

namespace {

/// Where the plain op is placed and where the fused one is.
struct Places {
  const Device *before, *after;
  bool pays() const {
    return before && after == before && before->platform() != kHostPlatform;
  }
};
/// `change` makes the fused op's inputs of the plain one's.
template <class Change>
Places places(const Graph& graph, const Node& node, const OpDef& fused, AttrsRef attrs,
              const Change& change) {
  NodeSignature s;
  node_signature(graph, node, nullptr, s);
  const DeviceScope none(std::nullopt);
  std::optional<DeviceScope> scope;
  if (!node.device.empty()) scope.emplace(node.device);
  Places p{};
  p.before = place_eager(s.signature).device;
  change(s.inputs);
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
  const Places p = places(graph, product, fused, attrs,
                          [&](auto& inputs) { inputs.push_back(std::move(vector)); });
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
  const auto add = [&](auto& inputs) { inputs.push_back(std::move(more)); };
  return places(graph, norm, fused, attrs, add).pays();
}

bool narrow_loss_pays(const Graph& graph, const Node& loss, const OpDef& fused,
                      AttrsRef attrs, ValueRef features) {
  if (Runtime::get().devices().size() == 1) return false;
  const auto narrow = [&](auto& inputs) {
    inputs[0].dtype = graph.info(features).dtype;
    inputs.emplace_back();  // the scale is a matter of the kernel alone
  };
  return places(graph, loss, fused, attrs, narrow).pays();
}

}  // namespace tandem
