// Decoding and encoding of images: from and to the contents of files.
#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/image.h"
#include "tandem/ops/image.h"

namespace tandem {

namespace {

using namespace image;

int64_t channels_or_unknown(int64_t channels) {
  return channels == 0 ? kUnknownDim : channels;
}

Shape one_image(int64_t channels) {
  return {kUnknownDim, kUnknownDim, channels_or_unknown(channels)};
}

void check_contents(const InferContext& c) {
  if (c.shape(0).has_rank() && c.shape(0).rank() != 0) {
    c.fail(fmt::format("`contents` must be scalar but got shape {}",
                       c.shape(0).debug_str()));
  }
}

void check_channels(const InferContext& c, int64_t channels) {
  c.require(channels == 0 || channels == 1 || channels == 3 || channels == 4,
            fmt::format("channels must be 0, 1, 3 or 4, got {}", channels));
}

void check_jpeg(const InferContext& c, const DecodeJpegAttrs& a) {
  check_contents(c);
  check_channels(c, a.channels);
  c.require(a.ratio == 1 || a.ratio == 2 || a.ratio == 4 || a.ratio == 8,
            fmt::format("ratio must be 1, 2, 4, or 8, got {}", a.ratio));
  c.require(a.dct_method.empty() || a.dct_method == "INTEGER_FAST" ||
                a.dct_method == "INTEGER_ACCURATE",
            "dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}");
}

void infer_jpeg(InferContext& c) {
  const auto& a = c.attrs<DecodeJpegAttrs>();
  check_jpeg(c, a);
  c.add_output(DType::kUInt8, one_image(a.channels));
}

void infer_jpeg_crop(InferContext& c) {
  const auto& a = c.attrs<DecodeJpegAttrs>();
  check_jpeg(c, a);
  const TensorInfo& window = c.input(1);
  if (window.shape.has_rank() &&
      (window.shape.rank() != 1 || (window.shape[0] >= 0 && window.shape[0] != 4))) {
    c.fail(
        fmt::format("crop_window must have four elements: {}", window.shape.debug_str()));
  }
  Shape out = one_image(a.channels);
  for (int i = 0; window.has_value && i < 2; ++i) {
    const int64_t v = window.value[static_cast<size_t>(2 + i)];
    if (v != kUnknownValue) out.set(i, v);
  }
  c.add_output(DType::kUInt8, out);
}

void infer_png(InferContext& c) {
  const auto& a = c.attrs<DecodePngAttrs>();
  check_contents(c);
  check_channels(c, a.channels);
  c.require(a.dtype == DType::kUInt8 || a.dtype == DType::kUInt16,
            "dtype must be uint8 or uint16");
  c.add_output(a.dtype, one_image(a.channels));
}

void infer_bmp(InferContext& c) {
  const auto& a = c.attrs<DecodeBmpAttrs>();
  check_contents(c);
  check_channels(c, a.channels);
  c.add_output(DType::kUInt8, one_image(a.channels));
}

void infer_gif(InferContext& c) {
  check_contents(c);
  c.add_output(DType::kUInt8, {kUnknownDim, kUnknownDim, kUnknownDim, 3});
}

void infer_any_image(InferContext& c) {
  const auto& a = c.attrs<DecodeImageAttrs>();
  check_contents(c);
  check_channels(c, a.channels);
  c.require(a.dtype == DType::kUInt8 || a.dtype == DType::kUInt16,
            "dtype must be uint8 or uint16 here; convert the image afterwards");
  // With animations the rank depends on the contents.
  c.add_output(a.dtype, a.expand_animations ? Shape::unknown() : one_image(a.channels));
}

void infer_jpeg_shape(InferContext& c) {
  check_contents(c);
  const DType type = c.attrs<ShapeAttrs>().out_type;
  c.require(type == DType::kInt32 || type == DType::kInt64,
            fmt::format("output_type must be int32 or int64, not {}", dtype_name(type)));
  c.add_output(type, {3});
}

void infer_encode_jpeg(InferContext& c) {
  const auto& a = c.attrs<EncodeJpegAttrs>();
  c.rank(0, 3);
  const int64_t channels = c.shape(0).has_rank() ? c.shape(0)[2] : kUnknownDim;
  c.require(a.format.empty() || a.format == "grayscale" || a.format == "rgb",
            "format must be '', 'grayscale' or 'rgb'");
  const bool fits = a.format == "grayscale" ? channels == 1
                    : a.format == "rgb"     ? channels == 3
                                            : channels == 1 || channels == 3;
  if (channels >= 0 && !fits) {
    c.fail(
        fmt::format("image must have 1 or 3 channels as the format says, got {} "
                    "(format '{}')",
                    channels, a.format));
  }
  c.require(a.quality >= 0 && a.quality <= 100,
            fmt::format("quality must be in [0,100], got {}", a.quality));
  c.require(a.density_unit == "in" || a.density_unit == "cm",
            "density_unit must be 'in' or 'cm'");
  c.add_output(DType::kString, Shape{});
}

void infer_encode_png(InferContext& c) {
  c.rank(0, 3);
  const int64_t channels = c.shape(0).has_rank() ? c.shape(0)[2] : kUnknownDim;
  if (channels == 0 || channels > 4) {
    c.fail(fmt::format("image must have 1, 2, 3, or 4 channels, got {}", channels));
  }
  const int64_t level = c.attrs<EncodePngAttrs>().compression;
  c.require(level >= -1 && level <= 9,
            fmt::format("compression should be in [-1,9], got {}", level));
  c.add_output(DType::kString, Shape{});
}

OpDef decoder(const char* name, const char* doc, void (*infer)(InferContext&),
              const AttrsType* attrs) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {{'T', mask(DType::kString)}};
  def.inputs = {{.name = "contents"}};
  def.outputs = {"image"};
  def.attrs = attrs;
  def.infer = infer;
  def.differentiable = false;
  def.dynamic = true;
  def.effects = kMayFail;
  return def;
}

OpDef encoder(const char* name, const char* doc, void (*infer)(InferContext&),
              const AttrsType* attrs, DTypeMask types) {
  OpDef def = decoder(name, doc, infer, attrs);
  def.types = {{'T', types}};
  def.inputs = {{.name = "image"}};
  def.outputs = {"contents"};
  def.dynamic = false;
  return def;
}

}  // namespace

void register_image_codec_ops(OpTable& table) {
  table.add(decoder("DecodeImage", "The pixels of a JPEG, PNG, BMP or GIF file.",
                    infer_any_image, &attrs_type<DecodeImageAttrs>()));
  table.add(decoder("DecodeJpeg", "The pixels of a JPEG file.", infer_jpeg,
                    &attrs_type<DecodeJpegAttrs>()));
  table.add(decoder("DecodePng", "The pixels of a PNG file.", infer_png,
                    &attrs_type<DecodePngAttrs>()));
  table.add(decoder("DecodeBmp", "The pixels of a BMP file.", infer_bmp,
                    &attrs_type<DecodeBmpAttrs>()));
  table.add(decoder("DecodeGif", "The frames of a GIF file.", infer_gif, nullptr));

  OpDef def = decoder("DecodeAndCropJpeg", "A box of the pixels of a JPEG file.",
                      infer_jpeg_crop, &attrs_type<DecodeJpegAttrs>());
  def.types.push_back({'S', mask(DType::kInt32)});
  def.inputs.push_back({.name = "crop_window", .type = 'S', .host = true});
  table.add(def);

  def = decoder("ExtractJpegShape", "Height, width and channels of a JPEG file.",
                infer_jpeg_shape, &attrs_type<ShapeAttrs>());
  def.outputs = {"image_shape"};
  def.dynamic = false;
  table.add(def);

  table.add(encoder("EncodeJpeg", "The contents of a JPEG file with this image.",
                    infer_encode_jpeg, &attrs_type<EncodeJpegAttrs>(),
                    mask(DType::kUInt8)));
  table.add(encoder("EncodePng", "The contents of a PNG file with this image.",
                    infer_encode_png, &attrs_type<EncodePngAttrs>(),
                    mask(DType::kUInt8, DType::kUInt16)));
}

namespace image {

Tensor decode_jpeg(const Tensor& contents, DecodeJpegAttrs attrs) {
  static const OpHandle op("DecodeJpeg");
  return emit(op, {contents}, attrs);
}
Tensor decode_png(const Tensor& contents, DecodePngAttrs attrs) {
  static const OpHandle op("DecodePng");
  return emit(op, {contents}, attrs);
}
Tensor decode_bmp(const Tensor& contents, DecodeBmpAttrs attrs) {
  static const OpHandle op("DecodeBmp");
  return emit(op, {contents}, attrs);
}
Tensor decode_gif(const Tensor& contents) {
  static const OpHandle op("DecodeGif");
  return emit(op, {contents});
}
Tensor decode_image(const Tensor& contents, DecodeImageAttrs attrs) {
  static const OpHandle op("DecodeImage");
  return emit(op, {contents}, attrs);
}
Tensor encode_jpeg(const Tensor& image, EncodeJpegAttrs attrs) {
  static const OpHandle op("EncodeJpeg");
  return emit(op, {image}, attrs);
}
Tensor encode_png(const Tensor& image, EncodePngAttrs attrs) {
  static const OpHandle op("EncodePng");
  return emit(op, {image}, attrs);
}

}  // namespace image

}  // namespace tandem
