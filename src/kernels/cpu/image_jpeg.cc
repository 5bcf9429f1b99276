// JPEG by libjpeg-turbo. Its errors leave by longjmp, since exceptions must not pass
// through C: functions between setjmp and the end hold no objects with destructors.
#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <jpeglib.h>

#include "kernels/cpu/image_codec.h"
#include "tandem/error.h"

namespace tandem::cpu {

namespace {

struct ErrorManager {
  jpeg_error_mgr base;
  std::jmp_buf leave;
  char message[JMSG_LENGTH_MAX];
};

void on_jpeg_error(j_common_ptr info) {
  auto* errors = reinterpret_cast<ErrorManager*>(info->err);
  errors->base.format_message(info, errors->message);
  std::longjmp(errors->leave, 1);
}
void on_message(j_common_ptr, int) {}
void fail_with(j_common_ptr info, const char* message) {
  auto* errors = reinterpret_cast<ErrorManager*>(info->err);
  std::snprintf(errors->message, sizeof errors->message, "%s", message);
  std::longjmp(errors->leave, 1);
}
boolean on_end_of_data(j_decompress_ptr info) {
  fail_with(reinterpret_cast<j_common_ptr>(info), "the data ends too early");
  return FALSE;
}
// A progressive image is gone through once for each of its scans, of which a small file
// can have very many.
void on_progress(j_common_ptr info) {
  constexpr int kMostScans = 500;
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMostScans) {
    fail_with(info, "it has more than 500 scans");
  }
}

jpeg_error_mgr* quiet_errors(ErrorManager& errors) {
  jpeg_std_error(&errors.base);
  errors.base.error_exit = on_jpeg_error;
  errors.base.emit_message = on_message;
  errors.message[0] = 0;
  return &errors.base;
}

// Everything that must be freed however decoding ends.
struct Decompress {
  jpeg_decompress_struct info;
  ErrorManager errors;
  jpeg_progress_mgr progress{};
  bool made = false;
  std::vector<uint8_t> line;
  ~Decompress() {
    if (made) jpeg_destroy_decompress(&info);
  }
};

bool open_jpeg(Decompress& d, std::string_view bytes, bool fill_up = false) {
  d.info.err = quiet_errors(d.errors);
  if (setjmp(d.errors.leave)) return false;
  jpeg_create_decompress(&d.info);
  d.made = true;
  jpeg_mem_src(&d.info, reinterpret_cast<const unsigned char*>(bytes.data()),
               static_cast<unsigned long>(bytes.size()));
  // By itself libjpeg makes up what is missing at the end.
  if (!fill_up) d.info.src->fill_input_buffer = on_end_of_data;
  d.progress.progress_monitor = on_progress;
  d.info.progress = &d.progress;
  jpeg_read_header(&d.info, TRUE);
  return true;
}

bool start(Decompress& d) {
  if (setjmp(d.errors.leave)) return false;
  jpeg_start_decompress(&d.info);
  return true;
}

bool read_line(Decompress& d) {
  if (setjmp(d.errors.leave)) return false;
  JSAMPROW row = d.line.data();
  return jpeg_read_scanlines(&d.info, &row, 1) == 1;
}

// Inks to light. Files that Adobe's programs wrote hold inverted inks.
void cmyk_to_rgb(const uint8_t* from, uint8_t* to, int64_t n, bool inverted) {
  for (int64_t i = 0; i < n; ++i, from += 4, to += 3) {
    for (int k = 0; k < 3; ++k) {
      const int ink = inverted ? from[k] : 255 - from[k];
      const int black = inverted ? from[3] : 255 - from[3];
      to[k] = static_cast<uint8_t>(ink * black / 255);
    }
  }
}

/// Checks the size that the header says, before memory is taken for it.
void check_contents(std::string_view op, const jpeg_decompress_struct& info, size_t bytes,
                    bool recover) {
  // TensorFlow's limit, too.
  constexpr int64_t kMost = int64_t{1} << 29;
  const int64_t height = info.image_height, width = info.image_width;
  if (height * width * std::max(info.num_components, 3) >= kMost) {
    fail_image(op, fmt::format("Image too large: {}x{} with {} components", height, width,
                               info.num_components));
  }
  // Huffman codes give each block of 8x8 values one bit at least.
  if (info.arith_code || recover) return;
  int64_t blocks = 0;
  for (int i = 0; i < info.num_components; ++i) {
    const jpeg_component_info& c = info.comp_info[i];
    blocks += int64_t{c.width_in_blocks} * c.height_in_blocks;
  }
  if (blocks / 8 > static_cast<int64_t>(bytes)) {
    fail_image(op, fmt::format("Invalid JPEG data: {}x{} pixels cannot be in {} bytes",
                               height, width, bytes));
  }
}

Crop window(std::string_view op, const Crop& crop, int64_t height, int64_t width) {
  if (crop.whole) return {0, 0, height, width, true};
  if (crop.y < 0 || crop.x < 0 || crop.height <= 0 || crop.width <= 0 ||
      crop.y + crop.height > height || crop.x + crop.width > width) {
    fail_image(op, fmt::format("Invalid crop window: y={}, x={}, height={}, width={} of "
                               "an image of {}x{}",
                               crop.y, crop.x, crop.height, crop.width, height, width));
  }
  return crop;
}

}  // namespace

ImageSize jpeg_size(std::string_view op, std::string_view bytes) {
  Decompress d;
  if (!open_jpeg(d, bytes))
    fail_image(op, fmt::format("Invalid JPEG data: {}", d.errors.message));
  return {.frames = 0,
          .height = d.info.image_height,
          .width = d.info.image_width,
          .channels = d.info.num_components};
}

void decode_jpeg(std::string_view op, std::string_view bytes,
                 const image::DecodeJpegAttrs& attrs, const Crop& crop,
                 AllocatePixels allocate) {
  Decompress d;
  const auto fail = [&](std::string_view what) {
    fail_image(op, fmt::format("Invalid JPEG data or crop window, data size {}{}{}",
                               bytes.size(), what.empty() ? "" : ": ", what));
  };
  if (!open_jpeg(d, bytes, attrs.try_recover_truncated)) fail(d.errors.message);
  check_contents(op, d.info, bytes.size(), attrs.try_recover_truncated);
  int64_t channels = attrs.channels;
  if (channels == 4) fail_image(op, "JPEG does not support 4 channels");
  if (channels == 0) channels = d.info.num_components == 1 ? 1 : 3;
  const bool inks = d.info.num_components == 4;
  d.info.out_color_space = inks ? JCS_CMYK : (channels == 1 ? JCS_GRAYSCALE : JCS_RGB);
  d.info.scale_num = 1;
  d.info.scale_denom = static_cast<unsigned>(attrs.ratio);
  d.info.do_fancy_upsampling = attrs.fancy_upscaling;
  // TensorFlow's default is the fast transform; its numbers are wanted.
  d.info.dct_method = attrs.dct_method == "INTEGER_ACCURATE" ? JDCT_ISLOW : JDCT_IFAST;
  if (!start(d)) fail(d.errors.message);

  const Crop part = window(op, crop, d.info.output_height, d.info.output_width);
  auto* out = static_cast<uint8_t*>(allocate({0, part.height, part.width, channels}));
  d.line.resize(static_cast<size_t>(d.info.output_width) *
                static_cast<size_t>(d.info.output_components));
  const auto row_bytes = static_cast<size_t>(part.width * channels);
  int64_t y = 0;
  for (; y < part.y + part.height; ++y) {
    if (!read_line(d)) break;
    if (y < part.y) continue;
    uint8_t* to = out + static_cast<size_t>(y - part.y) * row_bytes;
    const uint8_t* from = d.line.data() + part.x * d.info.output_components;
    if (!inks && channels == d.info.output_components) {
      std::memcpy(to, from, row_bytes);
    } else if (inks && channels == 3) {
      cmyk_to_rgb(from, to, part.width, d.info.saw_Adobe_marker);
    } else {
      fail_image(op, fmt::format("an image of {} components cannot be decoded with {} "
                                 "channels; use channels=3",
                                 d.info.num_components, channels));
    }
  }
  // libjpeg fills what a truncated file lacks, and only warns.
  const bool complete = y == part.y + part.height && d.info.err->num_warnings == 0;
  if (complete) return;
  const double share = static_cast<double>(y) / static_cast<double>(d.info.output_height);
  if (!attrs.try_recover_truncated && y < part.y + part.height) fail(d.errors.message);
  if (y < part.y + part.height && share < attrs.acceptable_fraction) {
    fail("too few lines could be read");
  }
  const auto rows_left = static_cast<size_t>(part.y + part.height - std::max(y, part.y));
  std::memset(out + static_cast<size_t>(std::max<int64_t>(y - part.y, 0)) * row_bytes, 0,
              rows_left * row_bytes);
}

namespace {

struct Compress {
  jpeg_compress_struct info;
  ErrorManager errors;
  bool made = false;
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  ~Compress() {
    if (made) jpeg_destroy_compress(&info);
    std::free(bytes);
  }
};

bool write_jpeg(Compress& c, const uint8_t* pixels, const ImageSize& size,
                const image::EncodeJpegAttrs& attrs) {
  c.info.err = quiet_errors(c.errors);
  if (setjmp(c.errors.leave)) return false;
  jpeg_create_compress(&c.info);
  c.made = true;
  jpeg_mem_dest(&c.info, &c.bytes, &c.size);
  c.info.image_width = static_cast<JDIMENSION>(size.width);
  c.info.image_height = static_cast<JDIMENSION>(size.height);
  c.info.input_components = static_cast<int>(size.channels);
  c.info.in_color_space = size.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&c.info);
  if (attrs.optimize_size) c.info.optimize_coding = TRUE;
  c.info.density_unit = attrs.density_unit == "in" ? 1 : 2;
  c.info.X_density = static_cast<UINT16>(attrs.x_density);
  c.info.Y_density = static_cast<UINT16>(attrs.y_density);
  jpeg_set_quality(&c.info, static_cast<int>(attrs.quality), TRUE);
  if (attrs.progressive) jpeg_simple_progression(&c.info);
  if (!attrs.chroma_downsampling) {
    for (int i = 0; i < c.info.num_components; ++i) {
      c.info.comp_info[i].h_samp_factor = 1;
      c.info.comp_info[i].v_samp_factor = 1;
    }
  }
  jpeg_start_compress(&c.info, TRUE);
  const auto row_bytes = static_cast<size_t>(size.width * size.channels);
  while (c.info.next_scanline < c.info.image_height) {
    auto* row = const_cast<JSAMPROW>(pixels + c.info.next_scanline * row_bytes);
    jpeg_write_scanlines(&c.info, &row, 1);
  }
  jpeg_finish_compress(&c.info);
  return true;
}

}  // namespace

std::string encode_jpeg(const uint8_t* pixels, const ImageSize& size,
                        const image::EncodeJpegAttrs& attrs) {
  Compress c;
  if (!write_jpeg(c, pixels, size, attrs)) {
    fail_image("EncodeJpeg", fmt::format("JPEG encoding failed: {}", c.errors.message));
  }
  return {reinterpret_cast<const char*>(c.bytes), c.size};
}

}  // namespace tandem::cpu
