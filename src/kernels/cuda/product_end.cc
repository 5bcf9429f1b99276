#include "kernels/cuda/product_end.h"

#include <fmt/format.h>

#include "ops/fused_products.h"
#include "tandem/ops/activations.h"
#include "tandem/ops/attrs.h"

namespace tandem::cuda {

FusedProgram end_program(const ProductEnd& end, DType dtype) {
  FusedProgram p;
  p.num_inputs = end.bias ? 2 : 1;
  p.input_dtypes.assign(static_cast<size_t>(p.num_inputs), dtype);
  int32_t value = 0;
  const auto add = [&](const char* op, std::vector<int32_t> arguments, Attrs attrs) {
    FusedInstruction i;
    i.op = op;
    i.attrs = std::move(attrs);
    i.dtype = dtype;
    i.arguments = std::move(arguments);
    p.instructions.push_back(std::move(i));
    value = p.num_values() - 1;
  };
  if (end.bias) add("AddV2", {0, 1}, {});
  if (const FusedActivation* a = find_fused_activation(end.activation)) {
    const std::string_view op = a->op;
    Attrs attrs;
    if (op == "Gelu") attrs = Attrs(attrs_ref(nn::GeluAttrs{a->approximate}));
    if (op == "LeakyRelu") attrs = Attrs(attrs_ref(nn::LeakyReluAttrs{end.alpha}));
    add(a->op, {value}, std::move(attrs));
  }
  p.outputs = {value};
  return p;
}

std::string end_text(const ProductEnd& end, DType dtype) {
  std::string text = fmt::format("typedef {} T;\ntypedef {} C;\n", type_text(dtype),
                                 dtype == DType::kFloat64 ? "double" : "float");
  text += "inline T finish(C v0, C bias) {\n  int fail = 0;\n";
  if (end.empty()) return text + "  return put<T>(v0);\n}\n";
  if (end.bias) text += "  const C v1 = bias;\n";
  const FusedProgram p = end_program(end, dtype);
  return text + instruction_lines(p) +
         fmt::format("  return put<T>(v{});\n}}\n", p.outputs[0]);
}

ElementwisePlan plan_end(Device* device, const ProductEnd& end, DType dtype,
                         const Shape& shape) {
  std::vector<Shape> inputs = {shape};
  if (end.bias) inputs.push_back(Shape{shape.dim(-1)});
  return plan_elementwise(device, "FusedMatMul", end_program(end, dtype), shape, inputs);
}

void run_end(const ElementwisePlan& plan, const StreamContext& stream, void* product,
             void* bias) {
  void* const inputs[] = {product, bias};
  run_elementwise(plan, stream, inputs, &product);
}

}  // namespace tandem::cuda
