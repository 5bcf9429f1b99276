// Random boxes of images, drawn as TensorFlow's sampler draws them, so that one seed
// gives one box in both.
#include "tandem/ops/image_sample.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "kernels/cpu/image_register.h"
#include "op/kernel.h"
#include "tandem/error.h"

namespace tandem::cpu {

namespace {

struct SamplePlan {
  image::SampleBoxAttrs attrs;
  int64_t boxes = 0, words = 0;
};
SamplePlan prepare_sample(const Signature& s) {
  return {s.attrs.as<image::SampleBoxAttrs>(), s.in(1).shape.num_elements() / 4,
          s.in(2).shape.num_elements()};
}

struct Box {
  int64_t top = 0, left = 0, height = 0, width = 0;
};

class Words {
 public:
  explicit Words(std::span<const uint32_t> words) : words_(words) {}
  /// In [0, 1), from 23 bits.
  double part() {
    return static_cast<double>(next() & 0x7fffffu) / static_cast<double>(1 << 23);
  }
  /// A whole number in [0, n).
  int64_t below(int64_t n) {
    const auto bound = static_cast<uint32_t>(n);
    if ((bound & (bound - 1)) == 0) return next() & (bound - 1);
    const uint32_t rejected = (~0u % bound) + 1;
    uint32_t word = next();
    while (word < rejected) word = next();
    return word % bound;
  }

 private:
  uint32_t next() {
    if (at_ == words_.size()) {
      throw InvalidArgumentError(
          fmt::format("SampleBoxFromWords: {} random words are too few", words_.size()));
    }
    return words_[at_++];
  }
  std::span<const uint32_t> words_;
  size_t at_ = 0;
};

// Ratios and areas may be any numbers; beyond every image one is as good as the other.
double in_reach(double x) {
  constexpr double kFar = 0x1p40;
  return x < kFar ? std::max(x, -kFar) : kFar;
}
// Halves go to the even neighbour.
int64_t rounded_to_even(double x) { return std::lrint(in_reach(x)); }

// A box of that ratio with an area between two; none when rounding forbids it.
std::optional<Box> draw(const image::SampleBoxAttrs& a, int64_t height, int64_t width,
                        double ratio, Words& words) {
  const double pixels = static_cast<double>(width) * static_cast<double>(height);
  const double least = a.least_area * pixels, most = a.most_area * pixels;
  int64_t rows = rounded_to_even(std::sqrt(least / ratio)),
          tallest = rounded_to_even(std::sqrt(most / ratio));
  const auto columns_of = [&](int64_t r) {
    return rounded_to_even(static_cast<double>(r) * ratio);
  };
  if (columns_of(tallest) > width) {
    const double fits = (static_cast<double>(width) + 0.5 - 1e-7) / ratio;
    tallest = static_cast<int64_t>(in_reach(fits));
    tallest -= columns_of(tallest) > width;
  }
  tallest = std::min(tallest, height);
  rows = std::min(rows, tallest);
  if (rows < tallest) rows += words.below(tallest - rows + 1);
  int64_t columns = columns_of(rows);
  const auto area = [&] {
    return static_cast<double>(rows) * static_cast<double>(columns);
  };
  if (area() < least) columns = columns_of(++rows);
  if (area() > most) columns = columns_of(--rows);
  if (area() < least || area() > most || columns <= 0 || columns > width || rows <= 0 ||
      rows > height) {
    return {};
  }
  Box box{0, 0, rows, columns};
  if (rows < height) box.top = words.below(height - rows);
  if (columns < width) box.left = words.below(width - columns);
  return box;
}

// Whether a box covers enough of one of the objects, which are in parts of the image.
bool covers(const Box& box, std::span<const float> objects, int64_t height, int64_t width,
            double part) {
  const auto pixel = [](float at, int64_t size) {
    return static_cast<int64_t>(static_cast<double>(at) * static_cast<double>(size));
  };
  for (size_t i = 0; i + 3 < objects.size(); i += 4) {
    const int64_t y0 = pixel(objects[i], height), x0 = pixel(objects[i + 1], width),
                  y1 = pixel(objects[i + 2], height), x1 = pixel(objects[i + 3], width);
    const auto area = static_cast<double>((y1 - y0) * (x1 - x0));
    if (area < 1) continue;
    const int64_t down = std::min(y1, box.top + box.height) - std::max(y0, box.top);
    const int64_t across = std::min(x1, box.left + box.width) - std::max(x0, box.left);
    const int64_t shared = std::max<int64_t>(0, down) * std::max<int64_t>(0, across);
    if (static_cast<double>(shared) >= part * area) return true;
  }
  return false;
}

// Boxes of objects lie in the image and have an area.
void check_objects(std::span<const float> objects) {
  for (size_t i = 0; i + 3 < objects.size(); i += 4) {
    const std::span<const float> box = objects.subspan(i, 4);
    const bool inside =
        std::all_of(box.begin(), box.end(), [](float at) { return at >= 0 && at <= 1; });
    if (!inside || !(box[0] < box[2]) || !(box[1] < box[3])) {
      throw InvalidArgumentError(fmt::format(
          "SampleDistortedBoundingBox: bounding box {} is [{}, {}, {}, {}]: coordinates "
          "must be in [0, 1], and the least below the largest",
          i / 4, box[0], box[1], box[2], box[3]));
    }
  }
}

void launch_sample(const SamplePlan& p, const LaunchArgs& a) {
  static constexpr float kWhole[] = {0, 0, 1, 1};
  const image::SampleBoxAttrs& attrs = p.attrs;
  const int64_t height = a.in<int32_t>(0)[0], width = a.in<int32_t>(0)[1];
  if (height <= 0 || width <= 0) {
    throw InvalidArgumentError(
        fmt::format("SampleDistortedBoundingBox: image height and width must be "
                    "positive, got {} and {}",
                    height, width));
  }
  std::span<const float> objects(a.in<float>(1), static_cast<size_t>(4 * p.boxes));
  if (!p.boxes) {
    if (!attrs.use_image_if_no_bounding_boxes) {
      throw InvalidArgumentError(
          "SampleDistortedBoundingBox: No bounding boxes provided as input. One must "
          "enable use_image_if_no_bounding_boxes if you wish to not provide any bounding "
          "boxes.");
    }
    objects = kWhole;
  }
  check_objects(objects);
  Words words({a.in<uint32_t>(2), static_cast<size_t>(p.words)});
  Box box{0, 0, height, width};
  for (int64_t i = 0; i < attrs.max_attempts; ++i) {
    const double ratio =
        words.part() * (attrs.most_ratio - attrs.least_ratio) + attrs.least_ratio;
    const std::optional<Box> drawn = draw(attrs, height, width, ratio, words);
    if (drawn && covers(*drawn, objects, height, width, attrs.min_object_covered)) {
      box = *drawn;
      break;
    }
  }
  const int64_t begin[] = {box.top, box.left, 0}, size[] = {box.height, box.width, -1};
  for (int k = 0; k < 3; ++k) {
    a.out<int32_t>(0)[k] = static_cast<int32_t>(begin[k]);
    a.out<int32_t>(1)[k] = static_cast<int32_t>(size[k]);
  }
  const auto share = [](int64_t at, int64_t of) {
    return static_cast<float>(static_cast<double>(at) / static_cast<double>(of));
  };
  float* edges = a.out<float>(2);
  edges[0] = share(box.top, height);
  edges[1] = share(box.left, width);
  edges[2] = share(box.top + box.height, height);
  edges[3] = share(box.left + box.width, width);
}

}  // namespace

void register_image_sample_kernels(KernelRegistry& registry) {
  registry.add(make_kernel<prepare_sample, launch_sample>("SampleBoxFromWords",
                                                          "cpu.SampleBoxFromWords"));
}

}  // namespace tandem::cpu
