// GIF by giflib. The image is as large as the largest frame, and a frame is drawn over
// the one before it, as TensorFlow does it: the size of the canvas, the background and
// what becomes of a frame afterwards are not looked at.
#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <gif_lib.h>

#include "base/log.h"
#include "kernels/cpu/image_codec.h"

namespace tandem::cpu {

namespace {

struct CloseGif {
  void operator()(GifFileType* gif) const { DGifCloseFile(gif, nullptr); }
};
using GifPtr = std::unique_ptr<GifFileType, CloseGif>;

int read_gif_bytes(GifFileType* gif, GifByteType* to, int n) {
  auto* left = static_cast<std::string_view*>(gif->UserData);
  const size_t got = std::min(left->size(), static_cast<size_t>(std::max(n, 0)));
  std::memcpy(to, left->data(), got);
  left->remove_prefix(got);
  return static_cast<int>(got);
}

std::string_view words_of(int error) {
  const char* const words = GifErrorString(error);
  return words ? words : "Unknown error";
}

struct Frame {
  int64_t left = 0, top = 0, width = 0, height = 0;
  int transparent = NO_TRANSPARENT_COLOR;
  std::vector<GifColorType> colours;
  std::vector<GifByteType> pixels;
};

/// Why a GIF cannot be read further; empty at its end.
using Problem = std::string;

Problem read_extension(GifFileType* gif, int& transparent) {
  int code = 0;
  GifByteType* block = nullptr;
  if (DGifGetExtension(gif, &code, &block) == GIF_ERROR) {
    return std::string(words_of(gif->Error));
  }
  while (block) {
    GraphicsControlBlock control;
    if (code == GRAPHICS_EXT_FUNC_CODE &&
        DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK) {
      transparent = control.TransparentColor;
    }
    if (DGifGetExtensionNext(gif, &block) == GIF_ERROR) {
      return std::string(words_of(gif->Error));
    }
  }
  return {};
}

/// `left`: bytes of the file that were not read when the frame began.
Problem read_pixels(GifFileType* gif, size_t left, Frame& f) {
  const GifImageDesc& d = gif->Image;
  f.left = d.Left, f.top = d.Top, f.width = d.Width, f.height = d.Height;
  if (f.width <= 0 || f.height <= 0) {
    return fmt::format("a frame is of {}x{}", f.width, f.height);
  }
  // A code of 12 bits stands for 4096 pixels at most, and shorter ones for fewer.
  constexpr int64_t kMostPixelsOfByte = 4096 * 8 / 12 + 1;
  if (f.width * f.height / kMostPixelsOfByte > static_cast<int64_t>(left)) {
    return fmt::format("a frame of {}x{} cannot be in {} bytes", f.width, f.height, left);
  }
  const ColorMapObject* const map = d.ColorMap ? d.ColorMap : gif->SColorMap;
  if (!map) return "missing color map";
  f.colours.assign(map->Colors, map->Colors + map->ColorCount);
  f.pixels.resize(static_cast<size_t>(f.width * f.height));
  constexpr int64_t kInterlaced[][2] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
  constexpr int64_t kPlain[][2] = {{0, 1}};
  const auto passes = d.Interlace ? std::span<const int64_t[2]>(kInterlaced)
                                  : std::span<const int64_t[2]>(kPlain);
  for (const auto& [start, step] : passes) {
    for (int64_t y = start; y < f.height; y += step) {
      if (DGifGetLine(gif, &f.pixels[static_cast<size_t>(y * f.width)],
                      static_cast<int>(f.width)) == GIF_ERROR) {
        return std::string(words_of(gif->Error));
      }
    }
  }
  return {};
}

Problem read_frames(GifFileType* gif, const std::string_view& left,
                    std::vector<Frame>& frames) {
  int transparent = NO_TRANSPARENT_COLOR;
  while (true) {
    GifRecordType kind = UNDEFINED_RECORD_TYPE;
    if (DGifGetRecordType(gif, &kind) == GIF_ERROR) {
      return std::string(words_of(gif->Error));
    }
    if (kind == TERMINATE_RECORD_TYPE) return {};
    Problem problem;
    if (kind == EXTENSION_RECORD_TYPE) {
      problem = read_extension(gif, transparent);
    } else if (kind == IMAGE_DESC_RECORD_TYPE) {
      const size_t there = left.size();
      if (DGifGetImageDesc(gif) == GIF_ERROR) return std::string(words_of(gif->Error));
      Frame f;
      f.transparent = transparent;
      problem = read_pixels(gif, there, f);
      if (problem.empty()) frames.push_back(std::move(f));
      transparent = NO_TRANSPARENT_COLOR;
    }
    if (!problem.empty()) return problem;
  }
  return {};
}

}  // namespace

void decode_gif(std::string_view op, std::string_view bytes, bool first_frame_only,
                AllocatePixels allocate) {
  const auto fail = [&](std::string_view what) {
    fail_image(op, fmt::format("Invalid GIF data (size {}), {}", bytes.size(), what));
  };
  std::string_view left = bytes;
  int error = 0;
  const GifPtr gif(DGifOpen(&left, read_gif_bytes, &error));
  if (!gif) fail(fmt::format("failed to open gif file: {}", words_of(error)));
  std::vector<Frame> frames;
  const Problem problem = read_frames(gif.get(), left, frames);
  if (frames.empty()) {
    fail(problem.empty() ? "gif file does not contain any image" : problem);
  }
  // TensorFlow gives the frames that are complete, and says so in its log.
  if (!problem.empty()) {
    logging::warn(fmt::format("{}: only {} frames of a GIF could be read: {}", op,
                              frames.size(), problem));
  }
  int64_t width = 0, height = 0;
  for (const Frame& f : frames) {
    width = std::max(width, f.width);
    height = std::max(height, f.height);
  }
  if (first_frame_only) frames.resize(1);
  const auto n = static_cast<int64_t>(frames.size());
  const ImageSize size{first_frame_only ? 0 : n, height, width, 3};
  check_image_size(op, size, 1);
  auto* out = static_cast<uint8_t*>(allocate(size));
  const auto frame_bytes = static_cast<size_t>(height * width * 3);
  std::memset(out, 0, frame_bytes);
  for (size_t i = 0; i < frames.size(); ++i, out += frame_bytes) {
    const Frame& f = frames[i];
    if (i > 0) std::memcpy(out, out - frame_bytes, frame_bytes);
    for (int64_t y = f.top; y < std::min(f.top + f.height, height); ++y) {
      for (int64_t x = f.left; x < std::min(f.left + f.width, width); ++x) {
        const int colour =
            f.pixels[static_cast<size_t>((y - f.top) * f.width + x - f.left)];
        if (colour == f.transparent) continue;
        if (static_cast<size_t>(colour) >= f.colours.size()) {
          fail(fmt::format("found color index {} outside of color map range {}", colour,
                           f.colours.size()));
        }
        const GifColorType& c = f.colours[static_cast<size_t>(colour)];
        uint8_t* const to = out + (y * width + x) * 3;
        to[0] = c.Red, to[1] = c.Green, to[2] = c.Blue;
      }
    }
  }
}

}  // namespace tandem::cpu
