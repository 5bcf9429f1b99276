// GIF: frames of palette indices, compressed by LZW, drawn one over the other.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "kernels/cpu/image_codec.h"

namespace tandem::cpu {

namespace {

constexpr int kMaxCodes = 4096;  // twelve bits

class Reader {
 public:
  Reader(std::string_view op, std::string_view bytes) : op_(op), bytes_(bytes) {}
  uint8_t byte() {
    need(1);
    return static_cast<uint8_t>(bytes_[at_++]);
  }
  int word() {
    const int low = byte();
    return low | byte() << 8;
  }
  std::string_view take(size_t n) {
    need(n);
    at_ += n;
    return bytes_.substr(at_ - n, n);
  }
  bool done() const { return at_ >= bytes_.size(); }
  void skip_blocks() {
    while (const uint8_t n = byte()) take(n);
  }
  std::vector<uint8_t> blocks() {
    std::vector<uint8_t> all;
    while (const uint8_t n = byte()) {
      const std::string_view part = take(n);
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }
  [[noreturn]] void fail(std::string_view what) const {
    fail_image(op_, fmt::format("Invalid GIF data (size {}), {}", bytes_.size(), what));
  }

 private:
  void need(size_t n) const {
    if (bytes_.size() - at_ < n) fail("the data ends too early");
  }
  std::string_view op_, bytes_;
  size_t at_ = 0;
};

struct Palette {
  std::array<uint8_t, 768> colours{};
  void read(Reader& r, int bits) {
    const std::string_view all = r.take(size_t{3} << bits);
    std::memcpy(colours.data(), all.data(), all.size());
  }
};

/// Palette indices of `count` pixels; fewer when the data ends.
std::vector<uint8_t> unpack(Reader& r, size_t count) {
  const int least = r.byte();
  if (least < 1 || least > 11) r.fail("the code size is wrong");
  const std::vector<uint8_t> data = r.blocks();
  struct Code {
    int16_t before = -1;
    uint8_t last = 0, first = 0;
  };
  std::vector<Code> codes(kMaxCodes);
  const int clear = 1 << least, end = clear + 1;
  for (int i = 0; i < clear; ++i) {
    codes[static_cast<size_t>(i)] = {-1, static_cast<uint8_t>(i),
                                     static_cast<uint8_t>(i)};
  }
  std::vector<uint8_t> out, backwards;
  out.reserve(count);
  int next = end + 1, bits = least + 1, previous = -1;
  uint32_t word = 0;
  int held = 0;
  for (const uint8_t byte : data) {
    word |= static_cast<uint32_t>(byte) << held;
    held += 8;
    while (held >= bits && out.size() < count) {
      const int code = static_cast<int>(word & ((1u << bits) - 1));
      word >>= bits;
      held -= bits;
      if (code == clear) {
        next = end + 1;
        bits = least + 1;
        previous = -1;
        continue;
      }
      if (code == end) return out;
      if (code > next || (code == next && previous < 0)) r.fail("a code is unknown");
      if (previous >= 0 && next < kMaxCodes) {
        const Code& before = codes[static_cast<size_t>(previous)];
        const uint8_t first =
            code == next ? before.first : codes[static_cast<size_t>(code)].first;
        codes[static_cast<size_t>(next)] = {static_cast<int16_t>(previous), first,
                                            before.first};
        if (++next == 1 << bits && bits < 12) ++bits;
      }
      backwards.clear();
      for (int c = code; c >= 0; c = codes[static_cast<size_t>(c)].before) {
        backwards.push_back(codes[static_cast<size_t>(c)].last);
      }
      out.insert(out.end(), backwards.rbegin(), backwards.rend());
      previous = code;
    }
  }
  return out;
}

struct Frame {
  int left, top, width, height;
  bool interlaced;
  int transparent;  // index, or -1
  int disposal;     // 2: back to the background, 3: back to what was before
  Palette palette;
  std::vector<uint8_t> pixels;

  /// The row of the image that stored row i is.
  int row(int i) const {
    if (!interlaced) return i;
    constexpr int kStart[] = {0, 4, 2, 1}, kStep[] = {8, 8, 4, 2};
    for (int pass = 0; pass < 4; ++pass) {
      const int rows = (height - kStart[pass] + kStep[pass] - 1) / kStep[pass];
      if (i < rows) return kStart[pass] + i * kStep[pass];
      i -= std::max(rows, 0);
    }
    return height - 1;
  }

  void draw(std::vector<uint8_t>& canvas, int canvas_width, int canvas_height) const {
    for (size_t i = 0; i < pixels.size(); ++i) {
      const int x = left + static_cast<int>(i) % width;
      const int y = top + row(static_cast<int>(i) / width);
      if (pixels[i] == transparent || x >= canvas_width || y >= canvas_height) continue;
      std::memcpy(&canvas[static_cast<size_t>(y * canvas_width + x) * 3],
                  &palette.colours[size_t{pixels[i]} * 3], 3);
    }
  }
};

struct Gif {
  int width = 0, height = 0;
  std::vector<Frame> frames;
};

Gif read_gif(Reader& r, bool first_only) {
  Gif gif;
  const std::string_view magic = r.take(6);
  if (magic != "GIF87a" && magic != "GIF89a") r.fail("the header is not a GIF's");
  gif.width = r.word();
  gif.height = r.word();
  const int flags = r.byte();
  r.take(2);  // background, aspect
  Palette shared;
  if (flags & 128) shared.read(r, (flags & 7) + 1);
  int transparent = -1, disposal = 0;
  while (!r.done()) {
    const uint8_t kind = r.byte();
    if (kind == 0x3b) break;
    if (kind == 0x21) {
      if (r.byte() == 0xf9) {
        r.byte();
        const int control = r.byte();
        r.word();
        const int index = r.byte();
        transparent = control & 1 ? index : -1;
        disposal = control >> 2 & 7;
      }
      r.skip_blocks();
      continue;
    }
    if (kind != 0x2c) r.fail("a block is unknown");
    Frame f{};
    f.left = r.word(), f.top = r.word(), f.width = r.word(), f.height = r.word();
    const int local = r.byte();
    f.interlaced = (local & 64) != 0;
    f.transparent = transparent;
    f.disposal = disposal;
    f.palette = shared;
    if (local & 128) f.palette.read(r, (local & 7) + 1);
    f.pixels = unpack(r, static_cast<size_t>(f.width) * static_cast<size_t>(f.height));
    gif.frames.push_back(std::move(f));
    transparent = -1, disposal = 0;
    if (first_only) break;
  }
  if (gif.frames.empty() || gif.width <= 0 || gif.height <= 0)
    r.fail("there is no frame");
  return gif;
}

}  // namespace

void decode_gif(std::string_view op, std::string_view bytes, bool first_frame_only,
                AllocatePixels allocate) {
  Reader reader(op, bytes);
  const Gif gif = read_gif(reader, first_frame_only);
  const auto n = static_cast<int64_t>(gif.frames.size());
  auto* out = static_cast<uint8_t*>(
      allocate({first_frame_only ? 0 : n, gif.height, gif.width, 3}));
  const size_t size =
      static_cast<size_t>(gif.width) * static_cast<size_t>(gif.height) * 3;
  std::vector<uint8_t> canvas(size), before;
  for (const Frame& f : gif.frames) {
    if (f.disposal == 3) before = canvas;
    f.draw(canvas, gif.width, gif.height);
    std::memcpy(out, canvas.data(), size);
    out += size;
    if (f.disposal == 3) canvas = before;
    if (f.disposal != 2) continue;
    for (int y = f.top; y < std::min(f.top + f.height, gif.height); ++y) {
      const int right = std::min(f.left + f.width, gif.width);
      if (right <= f.left) break;
      std::memset(&canvas[static_cast<size_t>(y * gif.width + f.left) * 3], 0,
                  static_cast<size_t>(right - f.left) * 3);
    }
  }
}

}  // namespace tandem::cpu
