// Decoders and encoders of image files, free of tensors: bytes in, pixels out. A decoder
// reads the header, asks for memory, and writes pixels there. Bad contents throw
// InvalidArgumentError that names the op. Any thread; nothing is shared.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fn_ref.h"
#include "tandem/ops/image.h"

namespace tandem::cpu {

struct ImageSize {
  int64_t frames = 0;  // 0: one image, without a dimension of frames
  int64_t height = 0, width = 0, channels = 0;
};

/// Memory for the pixels of an image of that size, in order frame, row, column, channel.
using AllocatePixels = FnRef<void*(const ImageSize&)>;

enum class ImageFormat { kUnknown, kJpeg, kPng, kBmp, kGif };
ImageFormat image_format(std::string_view bytes);

struct Crop {
  int64_t y = 0, x = 0, height = 0, width = 0;
  bool whole = true;
};

[[noreturn]] void fail_image(std::string_view op, std::string_view message);
/// Refuses images of 2^31 bytes and more, before memory is asked for.
void check_image_size(std::string_view op, const ImageSize& size,
                      int64_t bytes_per_channel);

void decode_jpeg(std::string_view op, std::string_view bytes,
                 const image::DecodeJpegAttrs& attrs, const Crop& crop,
                 AllocatePixels allocate);
/// `channels` as in the file after decode_jpeg; reads the header alone.
ImageSize jpeg_size(std::string_view op, std::string_view bytes);
void decode_png(std::string_view op, std::string_view bytes,
                const image::DecodePngAttrs& attrs, AllocatePixels allocate);
void decode_bmp(std::string_view op, std::string_view bytes, int64_t channels,
                AllocatePixels allocate);
void decode_gif(std::string_view op, std::string_view bytes, bool first_frame_only,
                AllocatePixels allocate);

std::string encode_jpeg(const uint8_t* pixels, const ImageSize& size,
                        const image::EncodeJpegAttrs& attrs);
/// bits: 8 or 16 a channel.
std::string encode_png(const void* pixels, const ImageSize& size, int bits,
                       int64_t compression);

}  // namespace tandem::cpu
