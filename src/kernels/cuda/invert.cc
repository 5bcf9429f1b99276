// InvertPermutation: int32, int64.
#include <fmt/format.h>

#include "kernels/cuda/families.h"
#include "kernels/cuda/index_words.h"
#include "kernels/cuda/program.h"

namespace tandem::cuda {

std::string invert_text(DType index) {
  return std::string(device_text("prelude.cuh")) +
         fmt::format("typedef {} X;\n", type_text(index)) +
         std::string(device_text("invert.cuh"));
}

namespace {

struct InvertPlan {
  Function function;
  int64_t n = 0;
  size_t bytes = 0;
  std::shared_ptr<ErrorSite> site;
};
InvertPlan prepare_invert(const Signature& s) {
  InvertPlan p;
  p.n = s.in(0).shape.num_elements();
  p.bytes = static_cast<size_t>(p.n) * dtype_size(s.in(0).dtype);
  p.function = find_function(s.device, s.op->name, invert_text(s.in(0).dtype), "invert");
  p.site = std::make_shared<ErrorSite>([](const Report& r) {
    return r.code == 1 ? fmt::format("InvertPermutation: {} is not between 0 and {}",
                                     r.value, r.extra)
                       : fmt::format("InvertPermutation: {} is duplicated in the input.",
                                     r.value);
  });
  return p;
}
void launch_invert(const InvertPlan& p, const LaunchArgs& a) {
  if (p.n == 0) return;
  fill_bytes(*a.stream, a.outputs[0], 0xff, p.bytes);
  launch(p.function, *a.stream, grid_for(p.function, p.n), a.inputs[0], a.outputs[0], p.n,
         flags_of(a), p.site->id());
}

}  // namespace

void register_invert(Kernels& kernels) {
  kernels.add(make_kernel<prepare_invert, launch_invert>(
      "InvertPermutation", "cuda.invert_permutation",
      mask(DType::kInt32, DType::kInt64)));
}

}  // namespace tandem::cuda
