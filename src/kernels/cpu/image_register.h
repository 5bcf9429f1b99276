// The parts of the image family, each registered by its own file.
#pragma once

namespace tandem {

class KernelRegistry;

namespace cpu {

void register_image_codec_kernels(KernelRegistry& registry);
void register_image_colour_kernels(KernelRegistry& registry);
void register_image_scale_kernels(KernelRegistry& registry);
void register_image_box_kernels(KernelRegistry& registry);
void register_image_gradient_kernels(KernelRegistry& registry);
void register_image_sample_kernels(KernelRegistry& registry);

}  // namespace cpu

}  // namespace tandem
