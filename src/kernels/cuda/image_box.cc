// CropAndResize: numbers of up to 64 bits; its gradients: float32. DrawBoundingBoxesV2:
// float16, float32.
#include <fmt/format.h>

#include "kernels/cuda/families.h"
#include "kernels/cuda/image_text.h"
#include "tandem/ops/image.h"

namespace tandem::cuda {

namespace {

/// The layouts are known to device/image_box.cuh.
struct Crops {
  int64_t batch = 0, h = 0, w = 0, channels = 0, boxes = 0, out_h = 0, out_w = 0;
  float outside = 0;
  int32_t nearest = 0;
};
struct Outlines {
  int64_t batch = 0, h = 0, w = 0, channels = 0, boxes = 0, colours = 0, palette = 0;
};

struct CropPlan {
  Function function;
  Crops args;
  int64_t crops = 0, pixels = 0;  // elements
  bool ordered = false;
  std::shared_ptr<ErrorSite> site;
};

CropPlan plan_crop(const Signature& s, const Shape& image, const Shape& crops,
                   DType dtype, const char* entry) {
  CropPlan p;
  p.args = {.batch = image[0],
            .h = image[1],
            .w = image[2],
            .channels = image[3],
            .boxes = crops[0],
            .out_h = crops[1],
            .out_w = crops[2]};
  p.crops = crops.num_elements();
  p.pixels = image.num_elements();
  p.site = std::make_shared<ErrorSite>([](const Report& r) {
    return fmt::format(
        "CropAndResize: box_index has values outside [0, batch_size): {} of {}", r.value,
        r.extra);
  });
  p.function = find_function(s.device, s.op->name,
                             image_text(type_text(dtype), "image_box.cuh"), entry);
  return p;
}
void set_method(const Signature& s, CropPlan& p) {
  const auto& attrs = s.attrs.as<image::CropAndResizeAttrs>();
  p.args.nearest = attrs.method == "nearest";
  p.args.outside = static_cast<float>(attrs.extrapolation_value);
}

CropPlan prepare_crop(const Signature& s) {
  CropPlan p = plan_crop(s, s.in(0).shape, s.out().shape, s.in(0).dtype, "crop");
  set_method(s, p);
  return p;
}
void launch_crop(const CropPlan& p, const LaunchArgs& a) {
  if (p.crops == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.crops), a.inputs[0], a.inputs[1],
         a.inputs[2], a.outputs[0], p.args, flags_of(a), p.site->id());
}

CropPlan prepare_grad_image(const Signature& s) {
  CropPlan p = plan_crop(s, s.out().shape, s.in(0).shape, DType::kFloat32,
                         s.deterministic ? "crop_grad_image_ordered" : "crop_grad_image");
  p.ordered = s.deterministic;
  set_method(s, p);
  return p;
}
void launch_grad_image(const CropPlan& p, const LaunchArgs& a) {
  if (!p.ordered || p.pixels == 0) {
    fill_zeros(*a.stream, a.outputs[0], static_cast<size_t>(p.pixels) * sizeof(float));
  }
  const int64_t n = p.ordered ? p.pixels : p.crops;
  if (n == 0 && p.args.boxes == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, n), a.inputs[0], a.inputs[1],
         a.inputs[2], a.outputs[0], p.args, flags_of(a), p.site->id());
}

CropPlan prepare_grad_boxes(const Signature& s) {
  return plan_crop(s, s.in(1).shape, s.in(0).shape, DType::kFloat32, "crop_grad_boxes");
}
void launch_grad_boxes(const CropPlan& p, const LaunchArgs& a) {
  if (p.args.boxes == 0) return;
  const Grid grid{.x = static_cast<unsigned>(std::min<int64_t>(p.args.boxes, 1 << 20)),
                  .threads = 256};
  launch(p.function, *a.stream, grid, a.inputs[0], a.inputs[1], a.inputs[2], a.inputs[3],
         a.outputs[0], p.args, flags_of(a), p.site->id());
}

struct DrawPlan {
  Function function;
  Outlines args;
  int64_t n = 0;
};
DrawPlan prepare_draw(const Signature& s) {
  const Shape &image = s.in(0).shape, &colours = s.in(2).shape;
  DrawPlan p;
  p.args = {.batch = image[0],
            .h = image[1],
            .w = image[2],
            .channels = image[3],
            .boxes = s.in(1).shape[1],
            .colours = colours[0],
            .palette = colours[1]};
  p.n = image.num_elements();
  p.function =
      find_function(s.device, s.op->name,
                    image_text(type_text(s.in(0).dtype), "image_box.cuh"), "draw");
  return p;
}
void launch_draw(const DrawPlan& p, const LaunchArgs& a) {
  if (p.n == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.n / p.args.channels), a.inputs[0],
         a.inputs[1], a.inputs[2], a.outputs[0], p.args);
}

}  // namespace

void register_image_box(Kernels& kernels) {
  constexpr DTypeMask kPixels = kReals & ~mask(DType::kUInt32, DType::kUInt64);
  kernels.add(
      make_kernel<prepare_crop, launch_crop>("CropAndResize", "cuda.crop", kPixels));
  kernels.add(make_kernel<prepare_grad_image, launch_grad_image>(
      "CropAndResizeGradImage", "cuda.crop_grad_image", mask(DType::kFloat32)));
  kernels.add(make_kernel<prepare_grad_boxes, launch_grad_boxes>(
      "CropAndResizeGradBoxes", "cuda.crop_grad_boxes", mask(DType::kFloat32)));
  kernels.add(make_kernel<prepare_draw, launch_draw>(
      "DrawBoundingBoxesV2", "cuda.draw_boxes", mask(DType::kFloat16, DType::kFloat32)));
}

}  // namespace tandem::cuda
