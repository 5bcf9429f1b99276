// RGBToHSV with its gradient, HSVToRGB: floats; AdjustHue: float16, float32. Half
// precision computes in float32.
#include "kernels/cuda/families.h"
#include "kernels/cuda/image_text.h"

namespace tandem::cuda {

namespace {

struct ColourPlan {
  Function function;
  int64_t pixels = 0;
};
ColourPlan plan_colour(const Signature& s, const char* entry) {
  ColourPlan p;
  p.pixels = s.in(0).shape.num_elements() / 3;
  p.function =
      find_function(s.device, s.op->name,
                    image_text(type_text(s.in(0).dtype), "image_colour.cuh"), entry);
  return p;
}
ColourPlan prepare_to_hsv(const Signature& s) { return plan_colour(s, "rgb_to_hsv"); }
ColourPlan prepare_to_rgb(const Signature& s) { return plan_colour(s, "hsv_to_rgb"); }
ColourPlan prepare_hue(const Signature& s) { return plan_colour(s, "adjust_hue"); }
ColourPlan prepare_colour_grad(const Signature& s) {
  return plan_colour(s, "rgb_to_hsv_grad");
}

void launch_one(const ColourPlan& p, const LaunchArgs& a) {
  if (p.pixels == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.pixels), a.inputs[0], a.outputs[0],
         p.pixels);
}
void launch_two(const ColourPlan& p, const LaunchArgs& a) {
  if (p.pixels == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.pixels), a.inputs[0], a.inputs[1],
         a.outputs[0], p.pixels);
}

}  // namespace

void register_image_colour(Kernels& kernels) {
  kernels.add(
      make_kernel<prepare_to_hsv, launch_one>("RGBToHSV", "cuda.colour.to_hsv", kFloats));
  kernels.add(
      make_kernel<prepare_to_rgb, launch_one>("HSVToRGB", "cuda.colour.to_rgb", kFloats));
  kernels.add(make_kernel<prepare_hue, launch_two>(
      "AdjustHue", "cuda.colour.hue", mask(DType::kFloat16, DType::kFloat32)));
  kernels.add(make_kernel<prepare_colour_grad, launch_two>(
      "RGBToHSVGrad", "cuda.colour.to_hsv_grad", kFloats));
}

}  // namespace tandem::cuda
