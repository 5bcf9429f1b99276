// ResizeBilinear, ResizeNearestNeighbor: numbers of up to 64 bits; their gradients:
// floats. What an output reads is computed where it is needed, in float32 as on the CPU.
#include <fmt/format.h>

#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/image_text.h"
#include "tandem/ops/nn_image.h"

namespace tandem::cuda {

std::string image_text(const char* type, const char* file) {
  return text_prefix(false) + fmt::format("typedef {} T;\n", type) +
         std::string(device_text("image.cuh")) + std::string(device_text(file));
}

namespace {

/// The layout is known to device/image_resize.cuh.
struct Resize {
  int64_t batch = 0, in[2] = {}, out[2] = {}, channels = 0;
  float scale[2] = {};
  int32_t half_pixels = 0, align_corners = 0;
};
struct ResizePlan {
  Function function;
  Resize args;
  int64_t n = 0;
};

// From the shapes of the image and of the resized one, whichever of them is the input.
ResizePlan plan_resize(const Signature& s, const Shape& image, const Shape& result,
                       const char* type, const char* entry) {
  const auto& attrs = s.attrs.as<nn::ResizeAttrs>();
  ResizePlan p;
  p.args.batch = image[0];
  p.args.channels = image[3];
  for (int d = 0; d < 2; ++d) {
    const int64_t in = image[1 + d], out = result[1 + d];
    p.args.in[d] = in;
    p.args.out[d] = out;
    p.args.scale[d] = attrs.align_corners && out > 1
                          ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                          : static_cast<float>(in) / static_cast<float>(out);
  }
  p.args.half_pixels = attrs.half_pixel_centers;
  p.args.align_corners = attrs.align_corners;
  p.n = s.out().shape.num_elements();
  p.function =
      find_function(s.device, s.op->name, image_text(type, "image_resize.cuh"), entry);
  return p;
}
ResizePlan prepare_bilinear(const Signature& s) {
  return plan_resize(s, s.in(0).shape, s.out().shape, type_text(s.in(0).dtype),
                     "bilinear");
}
ResizePlan prepare_bilinear_grad(const Signature& s) {
  return plan_resize(s, s.out().shape, s.in(0).shape, type_text(s.out().dtype),
                     "bilinear_grad");
}
ResizePlan prepare_nearest(const Signature& s) {
  return plan_resize(s, s.in(0).shape, s.out().shape,
                     bits_text(dtype_size(s.in(0).dtype)), "nearest");
}
ResizePlan prepare_nearest_grad(const Signature& s) {
  return plan_resize(s, s.out().shape, s.in(0).shape, type_text(s.out().dtype),
                     "nearest_grad");
}
void launch_resize(const ResizePlan& p, const LaunchArgs& a) {
  if (p.n == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.n), a.inputs[0], a.outputs[0],
         p.args);
}

}  // namespace

void register_image_resize(Kernels& kernels) {
  constexpr DTypeMask kPixels = kReals & ~mask(DType::kUInt32, DType::kUInt64);
  kernels.add(make_kernel<prepare_bilinear, launch_resize>(
      "ResizeBilinear", "cuda.resize.bilinear", kPixels));
  kernels.add(make_kernel<prepare_bilinear_grad, launch_resize>(
      "ResizeBilinearGrad", "cuda.resize.bilinear_grad", kFloats));
  kernels.add(make_kernel<prepare_nearest, launch_resize>(
      "ResizeNearestNeighbor", "cuda.resize.nearest", kPixels));
  kernels.add(make_kernel<prepare_nearest_grad, launch_resize>(
      "ResizeNearestNeighborGrad", "cuda.resize.nearest_grad", kFloats));
}

}  // namespace tandem::cuda
