// The kernels of decoding and encoding: contents of files are strings, pixels uint8 or
// uint16. Decoders allocate their output once they have read the header.
#include <string>

#include <fmt/format.h>

#include "kernels/cpu/image_codec.h"
#include "kernels/cpu/image_register.h"
#include "op/kernel.h"
#include "tandem/error.h"

namespace tandem::cpu {

namespace {

template <class A>
struct CodecPlan {
  std::string op;
  A attrs;
  ImageSize size;  // of the image to encode
  int bits = 8;
};

template <class A>
CodecPlan<A> prepare_codec(const Signature& s) {
  CodecPlan<A> p{s.op->name, s.attrs.as<A>(), {}, 8};
  const Shape& shape = s.in(0).shape;
  if (shape.rank() == 3) p.size = {0, shape[0], shape[1], shape[2]};
  if (s.in(0).dtype == DType::kUInt16) p.bits = 16;
  return p;
}

// Memory of output 0, for a decoder.
auto into(OutputAllocator& outputs) {
  return [&outputs](const ImageSize& size) {
    Shape shape{size.height, size.width, size.channels};
    if (size.frames > 0) shape = {size.frames, size.height, size.width, size.channels};
    return outputs.allocate(0, shape);
  };
}

// Of whatever format: TensorFlow's decoders of one format take the others too.
void decode_any(std::string_view op, std::string_view bytes,
                const image::DecodeImageAttrs& attrs, const image::DecodeJpegAttrs& jpeg,
                AllocatePixels allocate) {
  const bool wide = attrs.dtype == DType::kUInt16;
  const ImageFormat format = image_format(bytes);
  if (wide && format != ImageFormat::kPng && format != ImageFormat::kUnknown) {
    fail_image(op, "only PNG files hold uint16; use uint8 for other formats");
  }
  switch (format) {
    case ImageFormat::kJpeg:
      return decode_jpeg(op, bytes, jpeg, {}, allocate);
    case ImageFormat::kPng:
      return decode_png(op, bytes, {attrs.channels, attrs.dtype}, allocate);
    case ImageFormat::kBmp:
      return decode_bmp(op, bytes, attrs.channels, allocate);
    case ImageFormat::kGif:
      if (attrs.channels != 0 && attrs.channels != 3) {
        fail_image(op, "channels must be 0 or 3 for a GIF");
      }
      return decode_gif(op, bytes, !attrs.expand_animations, allocate);
    case ImageFormat::kUnknown:
      break;
  }
  if (bytes.empty()) fail_image(op, "Input is empty.");
  fail_image(op, "Unknown image file format. One of JPEG, PNG, GIF, BMP required.");
}

const std::string& contents(const LaunchArgs& a) { return *a.in<std::string>(0); }

void launch_image(const CodecPlan<image::DecodeImageAttrs>& p, const LaunchArgs& a,
                  OutputAllocator& outputs) {
  decode_any(p.op, contents(a), p.attrs, {.channels = p.attrs.channels}, into(outputs));
}

void launch_jpeg(const CodecPlan<image::DecodeJpegAttrs>& p, const LaunchArgs& a,
                 OutputAllocator& outputs) {
  decode_any(p.op, contents(a),
             {.channels = p.attrs.channels, .expand_animations = false}, p.attrs,
             into(outputs));
}

void launch_png(const CodecPlan<image::DecodePngAttrs>& p, const LaunchArgs& a,
                OutputAllocator& outputs) {
  decode_any(p.op, contents(a), {p.attrs.channels, p.attrs.dtype, false},
             {.channels = p.attrs.channels}, into(outputs));
}

void launch_bmp(const CodecPlan<image::DecodeBmpAttrs>& p, const LaunchArgs& a,
                OutputAllocator& outputs) {
  if (image_format(contents(a)) != ImageFormat::kBmp) {
    fail_image(p.op,
               "Trying to decode BMP format using a wrong op. Use `decode_image` "
               "instead.");
  }
  decode_bmp(p.op, contents(a), p.attrs.channels, into(outputs));
}

struct GifPlan {};
GifPlan prepare_gif(const Signature&) { return {}; }
void launch_gif(const GifPlan&, const LaunchArgs& a, OutputAllocator& outputs) {
  const ImageFormat format = image_format(contents(a));
  if (format == ImageFormat::kGif) {
    return decode_gif("DecodeGif", contents(a), false, into(outputs));
  }
  // Another format is a film of one frame.
  decode_any("DecodeGif", contents(a), {.channels = 3}, {.channels = 3},
             [&outputs](const ImageSize& size) {
               return outputs.allocate(0, {1, size.height, size.width, size.channels});
             });
}

struct CropPlan {
  image::DecodeJpegAttrs attrs;
  Crop crop;
};
CropPlan prepare_crop(const Signature& s) {
  const PartialValue& v = s.in(1).value;
  return {s.attrs.as<image::DecodeJpegAttrs>(), {v[0], v[1], v[2], v[3], false}};
}
void launch_crop(const CropPlan& p, const LaunchArgs& a, OutputAllocator& outputs) {
  decode_jpeg("DecodeAndCropJpeg", contents(a), p.attrs, p.crop, into(outputs));
}

struct SizePlan {
  DType dtype;
};
SizePlan prepare_size(const Signature& s) { return {s.out().dtype}; }
void launch_size(const SizePlan& p, const LaunchArgs& a) {
  const ImageSize size = jpeg_size("ExtractJpegShape", contents(a));
  const int64_t values[] = {size.height, size.width, size.channels};
  for (int i = 0; i < 3; ++i) {
    if (p.dtype == DType::kInt64) {
      a.out<int64_t>()[i] = values[i];
    } else {
      a.out<int32_t>()[i] = static_cast<int32_t>(values[i]);
    }
  }
}

void launch_encode_jpeg(const CodecPlan<image::EncodeJpegAttrs>& p, const LaunchArgs& a) {
  *a.out<std::string>() = encode_jpeg(a.in<uint8_t>(0), p.size, p.attrs);
}
void launch_encode_png(const CodecPlan<image::EncodePngAttrs>& p, const LaunchArgs& a) {
  *a.out<std::string>() =
      encode_png(a.in<std::byte>(0), p.size, p.bits, p.attrs.compression);
}

}  // namespace

void register_image_codec_kernels(KernelRegistry& registry) {
  registry.add(make_kernel<prepare_codec<image::DecodeImageAttrs>, launch_image>(
      "DecodeImage", "cpu.DecodeImage"));
  registry.add(make_kernel<prepare_codec<image::DecodeJpegAttrs>, launch_jpeg>(
      "DecodeJpeg", "cpu.DecodeJpeg"));
  registry.add(make_kernel<prepare_codec<image::DecodePngAttrs>, launch_png>(
      "DecodePng", "cpu.DecodePng"));
  registry.add(make_kernel<prepare_codec<image::DecodeBmpAttrs>, launch_bmp>(
      "DecodeBmp", "cpu.DecodeBmp"));
  registry.add(make_kernel<prepare_gif, launch_gif>("DecodeGif", "cpu.DecodeGif"));
  registry.add(make_kernel<prepare_crop, launch_crop>("DecodeAndCropJpeg",
                                                      "cpu.DecodeAndCropJpeg"));
  registry.add(
      make_kernel<prepare_size, launch_size>("ExtractJpegShape", "cpu.ExtractJpegShape"));
  registry.add(make_kernel<prepare_codec<image::EncodeJpegAttrs>, launch_encode_jpeg>(
      "EncodeJpeg", "cpu.EncodeJpeg"));
  registry.add(make_kernel<prepare_codec<image::EncodePngAttrs>, launch_encode_png>(
      "EncodePng", "cpu.EncodePng"));
}

}  // namespace tandem::cpu
