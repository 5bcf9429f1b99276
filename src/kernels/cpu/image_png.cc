// PNG by libpng. Its errors leave by longjmp, since exceptions must not pass through C:
// functions between setjmp and the end hold no objects with destructors.
#include <csetjmp>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <png.h>

#include "kernels/cpu/image_codec.h"
#include "tandem/error.h"

namespace tandem::cpu {

namespace {

struct PngError {
  std::string message;
};

void on_png_error(png_structp png, png_const_charp message) {
  static_cast<PngError*>(png_get_error_ptr(png))->message = message;
  png_longjmp(png, 1);
}
void on_warning(png_structp, png_const_charp) {}

struct Reader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  PngError error;
  std::string_view left;
  std::vector<png_bytep> rows;
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
};

void read_png_bytes(png_structp png, png_bytep to, png_size_t n) {
  auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
  if (n > reader->left.size()) png_error(png, "the data ends too early");
  std::memcpy(to, reader->left.data(), n);
  reader->left.remove_prefix(n);
}

/// Whether each part before the pixels (a text, a profile) is as long as it says: libpng
/// makes room for one before it reads it.
bool has_whole_parts(std::string_view bytes) {
  constexpr size_t kSignature = 8, kHead = 8, kCheck = 4;
  for (size_t at = kSignature; at + kHead <= bytes.size();) {
    size_t length = 0;
    for (size_t i = 0; i < 4; ++i) {
      length = length << 8 | static_cast<unsigned char>(bytes[at + i]);
    }
    if (bytes.substr(at + 4, 4) == "IDAT") return true;
    if (length > bytes.size() - at - kHead) return false;
    at += kHead + length + kCheck;
  }
  return true;
}

/// What comes before the pixels. Takes no memory for them.
bool read_header(Reader& r) {
  if (setjmp(png_jmpbuf(r.png))) return false;
  png_set_read_fn(r.png, &r, read_png_bytes);
  png_read_info(r.png, r.info);
  return true;
}

/// Asks libpng for the wanted form: channels, bits. It makes its buffers for a row here.
bool choose_form(Reader& r, int64_t& channels, bool wide, bool& widen) {
  if (setjmp(png_jmpbuf(r.png))) return false;
  const int colour = png_get_color_type(r.png, r.info);
  const int bits = png_get_bit_depth(r.png, r.info);
  const bool transparent = png_get_valid(r.png, r.info, PNG_INFO_tRNS) != 0;
  const bool palette = colour == PNG_COLOR_TYPE_PALETTE;
  const bool alpha = (colour & PNG_COLOR_MASK_ALPHA) != 0;
  if (channels == 0) {
    channels = palette ? (transparent ? 4 : 3) : png_get_channels(r.png, r.info);
  }
  if (channels % 2 == 0) {
    if (!alpha && transparent) {
      png_set_tRNS_to_alpha(r.png);
    } else if (!alpha) {
      png_set_add_alpha(r.png, wide && bits == 16 ? 65535 : 255, PNG_FILLER_AFTER);
    }
  } else if (alpha || transparent) {
    png_set_strip_alpha(r.png);
  }
  if (bits > 8 && !wide) png_set_strip_16(r.png);
  widen = wide && bits <= 8;
  if (palette) png_set_palette_to_rgb(r.png);
  const bool grey = colour == PNG_COLOR_TYPE_GRAY || colour == PNG_COLOR_TYPE_GRAY_ALPHA;
  if (grey && bits < 8) png_set_expand_gray_1_2_4_to_8(r.png);
  if (channels >= 3 && grey) png_set_gray_to_rgb(r.png);
  if (channels < 3 && !grey) png_set_rgb_to_gray(r.png, 1, 0.299, 0.587);
  png_set_packing(r.png);
  if (wide && !widen) png_set_swap(r.png);
  png_set_interlace_handling(r.png);
  png_read_update_info(r.png, r.info);
  return true;
}

/// Bytes of the rows in the file's own form, unpacked.
size_t stored_bytes(const Reader& r) {
  const size_t bits = size_t{png_get_channels(r.png, r.info)} *
                      static_cast<size_t>(png_get_bit_depth(r.png, r.info));
  return (png_get_image_width(r.png, r.info) * bits + 7) / 8 *
         png_get_image_height(r.png, r.info);
}

bool read_rows(Reader& r) {
  if (setjmp(png_jmpbuf(r.png))) return false;
  png_read_image(r.png, r.rows.data());
  return true;
}

}  // namespace

void decode_png(std::string_view op, std::string_view bytes,
                const image::DecodePngAttrs& attrs, AllocatePixels allocate) {
  Reader r;
  r.left = bytes;
  r.png =
      png_create_read_struct(PNG_LIBPNG_VER_STRING, &r.error, on_png_error, on_warning);
  r.info = r.png ? png_create_info_struct(r.png) : nullptr;
  if (!r.info) throw ResourceExhaustedError("DecodePng: libpng could not start");
  const bool wide = attrs.dtype == DType::kUInt16;
  int64_t channels = attrs.channels;
  bool widen = false;
  const auto fail = [&] {
    fail_image(
        op, fmt::format("Invalid PNG data, size {}: {}", bytes.size(), r.error.message));
  };
  if (!has_whole_parts(bytes)) {
    r.error.message = "the data ends too early";
    fail();
  }
  if (!read_header(r)) fail();
  const auto height = static_cast<size_t>(png_get_image_height(r.png, r.info));
  const int64_t width = png_get_image_width(r.png, r.info);
  // zlib packs 1032 bytes into one at most: what cannot be in the file gets no memory.
  if (stored_bytes(r) / 1032 > bytes.size()) {
    r.error.message =
        fmt::format("{}x{} pixels cannot be in so few bytes", width, height);
    fail();
  }
  if (!choose_form(r, channels, wide, widen)) fail();
  const ImageSize size{0, static_cast<int64_t>(height), width, channels};
  check_image_size(op, size, wide ? 2 : 1);
  const size_t row = static_cast<size_t>(width * channels) * (wide ? 2 : 1);
  if (png_get_rowbytes(r.png, r.info) != (widen ? row / 2 : row)) {
    r.error.message = "its rows are of another size than its header says";
    fail();
  }
  auto* out = static_cast<uint8_t*>(allocate(size));
  r.rows.resize(height);
  for (size_t y = 0; y < height; ++y) r.rows[y] = out + y * row;
  if (!read_rows(r)) fail();
  if (!widen) return;
  // 8 bits lie in the first half of each row: spread them from the end.
  const size_t n = row / 2;
  for (size_t y = 0; y < height; ++y) {
    for (size_t i = n; i-- > 0;) {
      const uint8_t v = r.rows[y][i];
      r.rows[y][2 * i] = r.rows[y][2 * i + 1] = v;
    }
  }
}

namespace {

struct Writer {
  png_structp png = nullptr;
  png_infop info = nullptr;
  PngError error;
  std::string out;
  ~Writer() { png_destroy_write_struct(&png, &info); }
};

void write_bytes(png_structp png, png_bytep from, png_size_t n) {
  static_cast<Writer*>(png_get_io_ptr(png))
      ->out.append(reinterpret_cast<const char*>(from), n);
}
void flush_nothing(png_structp) {}

bool write_png(Writer& w, const uint8_t* pixels, const ImageSize& size, int bits,
               int64_t compression) {
  constexpr int kColours[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                              PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
  if (setjmp(png_jmpbuf(w.png))) return false;
  png_set_write_fn(w.png, &w, write_bytes, flush_nothing);
  png_set_compression_level(w.png, static_cast<int>(compression));
  png_set_IHDR(w.png, w.info, static_cast<png_uint_32>(size.width),
               static_cast<png_uint_32>(size.height), bits, kColours[size.channels],
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(w.png, w.info);
  if (bits == 16) png_set_swap(w.png);
  const size_t row =
      static_cast<size_t>(size.width * size.channels) * static_cast<size_t>(bits / 8);
  for (int64_t y = 0; y < size.height; ++y) {
    png_write_row(w.png, pixels + static_cast<size_t>(y) * row);
  }
  png_write_end(w.png, nullptr);
  return true;
}

}  // namespace

std::string encode_png(const void* pixels, const ImageSize& size, int bits,
                       int64_t compression) {
  Writer w;
  w.png =
      png_create_write_struct(PNG_LIBPNG_VER_STRING, &w.error, on_png_error, on_warning);
  w.info = w.png ? png_create_info_struct(w.png) : nullptr;
  if (!w.info) throw ResourceExhaustedError("EncodePng: libpng could not start");
  if (!write_png(w, static_cast<const uint8_t*>(pixels), size, bits, compression)) {
    fail_image("EncodePng", fmt::format("PNG encoding failed: {}", w.error.message));
  }
  return std::move(w.out);
}

}  // namespace tandem::cpu
