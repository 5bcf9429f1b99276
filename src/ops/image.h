// The parts of the image family, each registered by its own file.
#pragma once

namespace tandem {

class GradContext;
class OpTable;

void register_image_codec_ops(OpTable& table);
void register_image_colour_ops(OpTable& table);
void register_image_scale_ops(OpTable& table);
void register_image_box_ops(OpTable& table);
void register_image_gradient_ops(OpTable& table);
void register_image_sample_ops(OpTable& table);

/// Of CropAndResize and RGBToHSV.
void grad_crop_and_resize(GradContext& c);
void grad_rgb_to_hsv(GradContext& c);

}  // namespace tandem
