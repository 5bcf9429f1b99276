// The parts of the image family, each registered by its own file.
#pragma once

namespace tandem {

class OpTable;

void register_image_codec_ops(OpTable& table);
void register_image_colour_ops(OpTable& table);
void register_image_scale_ops(OpTable& table);
void register_image_box_ops(OpTable& table);

}  // namespace tandem
