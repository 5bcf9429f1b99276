// ImageProjectiveTransformV3: uint8, int32, int64 and floats; half precision computes in
// float32.
#include "kernels/cuda/families.h"
#include "kernels/cuda/image_text.h"
#include "tandem/ops/nn_transform.h"

namespace tandem::cuda {

namespace {

/// The layouts are known to device/image_projective.cuh.
enum Fill : int32_t { kConstant, kReflect, kWrap, kNearest };
struct Projective {
  int64_t batch = 0, in_h = 0, in_w = 0, out_h = 0, out_w = 0, channels = 0;
  int64_t transform_step = 0;
  int32_t bilinear = 0, fill = kConstant;
};

struct ProjectivePlan {
  Function function;
  Projective args;
  int64_t n = 0;
};

Fill fill_of(const std::string& mode) {
  return mode == "REFLECT"   ? kReflect
         : mode == "WRAP"    ? kWrap
         : mode == "NEAREST" ? kNearest
                             : kConstant;
}

ProjectivePlan prepare_projective(const Signature& s) {
  const auto& attrs = s.attrs.as<nn::ProjectiveAttrs>();
  const Shape &in = s.in(0).shape, &out = s.out().shape;
  ProjectivePlan p;
  p.args = {.batch = in[0],
            .in_h = in[1],
            .in_w = in[2],
            .out_h = out[1],
            .out_w = out[2],
            .channels = in[3],
            .transform_step = s.in(1).shape[0] == 1 ? 0 : 8,
            .bilinear = attrs.interpolation == "BILINEAR",
            .fill = fill_of(attrs.fill_mode)};
  p.n = out.num_elements();
  p.function = find_function(s.device, s.op->name,
                             image_text(type_text(s.in(0).dtype), "image_projective.cuh"),
                             "projective");
  return p;
}
void launch_projective(const ProjectivePlan& p, const LaunchArgs& a) {
  if (p.n == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.n), a.inputs[0], a.inputs[1],
         a.inputs[3], a.outputs[0], p.args);
}

}  // namespace

void register_image_projective(Kernels& kernels) {
  kernels.add(make_kernel<prepare_projective, launch_projective>(
      "ImageProjectiveTransformV3", "cuda.projective",
      kFloats | mask(DType::kUInt8, DType::kInt32, DType::kInt64)));
}

}  // namespace tandem::cuda
