// Images: decoding and encoding of files' contents, colours, resizing by filters, boxes.
// Images are [height, width, channels] or batches of them.
#pragma once

#include <string>

#include "tandem/ops/attrs.h"
#include "tandem/tensor.h"

namespace tandem::image {

struct DecodeJpegAttrs {
  /// 0: as in the file; 1: grey; 3: colour.
  int64_t channels = 0;
  /// The image is made smaller by this factor while it is decoded: 1, 2, 4 or 8.
  int64_t ratio = 1;
  bool fancy_upscaling = true;
  bool try_recover_truncated = false;
  /// Of the lines; a file with fewer is refused.
  double acceptable_fraction = 1;
  /// "INTEGER_FAST", "INTEGER_ACCURATE", or empty for the default.
  std::string dct_method = {};
  TANDEM_ATTRS(DecodeJpegAttrs, channels, ratio, fancy_upscaling, try_recover_truncated,
               acceptable_fraction, dct_method)
};
/// uint8 [height, width, channels] from the contents of a JPEG file.
Tensor decode_jpeg(const Tensor& contents, DecodeJpegAttrs attrs = {});

struct DecodePngAttrs {
  /// 0: as in the file; 1: grey; 2: grey and alpha; 3: colour; 4: colour and alpha.
  int64_t channels = 0;
  /// uint8 or uint16.
  DType dtype = DType::kUInt8;
  TANDEM_ATTRS(DecodePngAttrs, channels, dtype)
};
/// [height, width, channels] from the contents of a PNG file.
Tensor decode_png(const Tensor& contents, DecodePngAttrs attrs = {});

struct DecodeBmpAttrs {
  int64_t channels = 0;
  TANDEM_ATTRS(DecodeBmpAttrs, channels)
};
/// uint8 [height, width, channels] from the contents of a BMP file.
Tensor decode_bmp(const Tensor& contents, DecodeBmpAttrs attrs = {});
/// uint8 [frames, height, width, 3] from the contents of a GIF file.
Tensor decode_gif(const Tensor& contents);

struct DecodeImageAttrs {
  int64_t channels = 0;
  DType dtype = DType::kUInt8;
  /// A GIF gives all its frames [frames, height, width, 3], else the first one alone.
  bool expand_animations = true;
  TANDEM_ATTRS(DecodeImageAttrs, channels, dtype, expand_animations)
};
/// Whichever of JPEG, PNG, BMP and GIF the contents are. uint8 or (PNG) uint16.
Tensor decode_image(const Tensor& contents, DecodeImageAttrs attrs = {});

struct EncodeJpegAttrs {
  /// "", "grayscale" or "rgb".
  std::string format = {};
  int64_t quality = 95;
  bool progressive = false;
  bool optimize_size = false;
  bool chroma_downsampling = true;
  /// "in" or "cm".
  std::string density_unit = "in";
  int64_t x_density = 300;
  int64_t y_density = 300;
  TANDEM_ATTRS(EncodeJpegAttrs, format, quality, progressive, optimize_size,
               chroma_downsampling, density_unit, x_density, y_density)
};
/// The contents of a JPEG file with this uint8 image.
Tensor encode_jpeg(const Tensor& image, EncodeJpegAttrs attrs = {});

struct EncodePngAttrs {
  /// zlib's level, -1 for its default.
  int64_t compression = -1;
  TANDEM_ATTRS(EncodePngAttrs, compression)
};
/// The contents of a PNG file with this uint8 or uint16 image.
Tensor encode_png(const Tensor& image, EncodePngAttrs attrs = {});

/// Red, green, blue in [0, 1] as hue, saturation, value in [0, 1], and back.
Tensor rgb_to_hsv(const Tensor& images);
Tensor hsv_to_rgb(const Tensor& images);

struct ScaleAttrs {
  /// "lanczos3", "lanczos5", "lanczos1", "gaussian", "box", "triangle", "keyscubic" or
  /// "mitchellcubic".
  std::string kernel_type = "lanczos3";
  /// The filter grows with the step between samples.
  bool antialias = true;
  TANDEM_ATTRS(ScaleAttrs, kernel_type, antialias)
};
/// Images [batch, height, width, channels] sampled by a filter: an output pixel y lies at
/// (y + 1/2 - translation) / scale of the image. float32.
Tensor scale_and_translate(const Tensor& images, const Tensor& size, const Tensor& scale,
                           const Tensor& translation, ScaleAttrs attrs = {});

struct CropAndResizeAttrs {
  /// "bilinear" or "nearest".
  std::string method = "bilinear";
  /// Outside of the image.
  double extrapolation_value = 0;
  TANDEM_ATTRS(CropAndResizeAttrs, method, extrapolation_value)
};
/// Boxes (y1, x1, y2, x2, in parts of the image's size) of the images they belong to, all
/// of one size. float32.
Tensor crop_and_resize(const Tensor& image, const Tensor& boxes, const Tensor& box_ind,
                       const Tensor& crop_size, CropAndResizeAttrs attrs = {});

}  // namespace tandem::image
