// Cross. dtypes: all integers and floating-point ones.
#include <fmt/format.h>

#include "kernels/cuda/families.h"
#include "kernels/cuda/program.h"

namespace tandem::cuda {

std::string cross_text(DType dtype) {
  const char* compute = dtype == DType::kFloat64 ? "double"
                        : is_floating(dtype)     ? "float"
                        : dtype_size(dtype) == 8 ? "u64"
                                                 : "u32";
  return std::string(device_text("prelude.cuh")) +
         fmt::format("typedef {} E;\ntypedef {} C;\n", type_text(dtype), compute) +
         std::string(device_text("cross.cuh"));
}

namespace {

struct CrossPlan {
  Function function;
  int64_t vectors = 0;
};
CrossPlan prepare_cross(const Signature& s) {
  CrossPlan p;
  p.vectors = s.out().shape.num_elements() / 3;
  p.function = find_function(s.device, "cross", cross_text(s.in(0).dtype), "cross");
  return p;
}
void launch_cross(const CrossPlan& p, const LaunchArgs& a) {
  if (p.vectors == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.vectors), a.inputs[0], a.inputs[1],
         a.outputs[0], p.vectors);
}

}  // namespace

void register_cross(Kernels& kernels) {
  kernels.add(make_kernel<prepare_cross, launch_cross>("Cross", "cuda.cross", kReals));
}

}  // namespace tandem::cuda
