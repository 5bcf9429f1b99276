#include "plan/end_placement.h"

#include <optional>

#include "device/runtime.h"
#include "op/placement.h"
#include "plan/assignment.h"
#include "tandem/device.h"

namespace tandem {

bool end_keeps_device(const Graph& graph, const Node& product, const OpDef& fused,
                      AttrsRef attrs, ValueRef bias) {
  if (Runtime::get().devices().size() == 1) return true;
  NodeSignature s;
  node_signature(graph, product, nullptr, s);
  const DeviceScope none(std::nullopt);
  std::optional<DeviceScope> scope;
  if (!product.device.empty()) scope.emplace(product.device);
  const Device* const before = place_eager(s.signature).device;
  TensorInfo vector;
  if (bias.defined()) {
    const ValueInfo& info = graph.info(bias);
    vector.dtype = info.dtype;
    vector.shape = Shape{info.shape.num_elements()};
  }
  s.inputs.push_back(std::move(vector));
  s.signature.op = &fused;
  s.signature.attrs = attrs;
  s.signature.inputs = s.inputs;
  return place_eager(s.signature).device == before;
}

}  // namespace tandem
