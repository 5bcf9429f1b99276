// Boxes of images. CropAndResize takes numbers of up to 64 bits; drawing takes float32,
// and float16 through float32.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <queue>
#include <vector>

#include <fmt/format.h>

#include "base/parallel.h"
#include "kernels/cpu/image_crop.h"
#include "kernels/cpu/image_register.h"
#include "kernels/cpu/nn_through_float.h"
#include "op/kernel.h"
#include "tandem/error.h"
#include "tandem/ops/image.h"

namespace tandem::cpu {

namespace {

struct CropAndResizePlan {
  bool nearest = false;
  float outside = 0;
  int64_t batch = 0, h = 0, w = 0, channels = 0, boxes = 0, out_h = 0, out_w = 0;
};
CropAndResizePlan prepare_crop_and_resize(const Signature& s) {
  const auto& a = s.attrs.as<image::CropAndResizeAttrs>();
  const Shape &in = s.in(0).shape, &out = s.out().shape;
  return {a.method == "nearest",
          static_cast<float>(a.extrapolation_value),
          in[0],
          in[1],
          in[2],
          in[3],
          out[0],
          out[1],
          out[2]};
}

template <class T>
void launch_crop_and_resize(const CropAndResizePlan& p, const LaunchArgs& a) {
  const int64_t c = p.channels;
  for (int64_t i = 0; i < p.boxes; ++i) {
    const int32_t image = a.in<int32_t>(2)[i];
    if (image < 0 || image >= p.batch) {
      throw InvalidArgumentError(fmt::format(
          "CropAndResize: box_index has values outside [0, batch_size): {} of {}", image,
          p.batch));
    }
  }
  parallel_for(p.boxes * p.out_h, 8, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float* box = a.in<float>(1) + r / p.out_h * 4;
      const T* image = a.in<T>(0) + a.in<int32_t>(2)[r / p.out_h] * p.h * p.w * c;
      float* out = a.out<float>() + r * p.out_w * c;
      const float y = crop_place(r % p.out_h, p.out_h, box[0], box[2], p.h);
      const bool outside = !crop_inside(y, p.h);
      for (int64_t i = 0; i < p.out_w; ++i, out += c) {
        const float x = crop_place(i, p.out_w, box[1], box[3], p.w);
        if (outside || !crop_inside(x, p.w)) {
          std::fill_n(out, c, p.outside);
          continue;
        }
        const auto at = [&](float py, float px) {
          return image + (crop_pixel(py, p.h) * p.w + crop_pixel(px, p.w)) * c;
        };
        if (p.nearest) {
          const T* pixel = at(std::round(y), std::round(x));
          for (int64_t k = 0; k < c; ++k) out[k] = static_cast<float>(pixel[k]);
          continue;
        }
        const float y0 = std::floor(y), x0 = std::floor(x);
        const float y1 = std::ceil(y), x1 = std::ceil(x), wy = y - y0, wx = x - x0;
        const T *tl = at(y0, x0), *tr = at(y0, x1), *bl = at(y1, x0), *br = at(y1, x1);
        for (int64_t k = 0; k < c; ++k) {
          const auto l = static_cast<float>(tl[k]), b = static_cast<float>(bl[k]);
          const float top = l + (static_cast<float>(tr[k]) - l) * wx;
          const float bottom = b + (static_cast<float>(br[k]) - b) * wx;
          out[k] = top + (bottom - top) * wy;
        }
      }
    }
  });
}

// ---- Choosing boxes

struct BoxPlan {
  int64_t n = 0;
};
BoxPlan prepare_boxes(const Signature& s) { return {s.in(1).shape[0]}; }

float overlap_of(const float* a, const float* b) {
  const auto edges = [](const float* box, float* out) {
    out[0] = std::min(box[0], box[2]), out[2] = std::max(box[0], box[2]);
    out[1] = std::min(box[1], box[3]), out[3] = std::max(box[1], box[3]);
  };
  float p[4], q[4];
  edges(a, p);
  edges(b, q);
  const auto area = [](const float* e) { return (e[2] - e[0]) * (e[3] - e[1]); };
  if (area(p) <= 0 || area(q) <= 0) return 0;
  const float height = std::max(std::min(p[2], q[2]) - std::max(p[0], q[0]), 0.0f);
  const float width = std::max(std::min(p[3], q[3]) - std::max(p[1], q[1]), 0.0f);
  const float shared = height * width;
  return shared / (area(p) + area(q) - shared);
}

struct Candidate {
  int32_t box;
  float score;
  size_t compared;  // chosen boxes it has been compared with
  bool operator<(const Candidate& o) const {
    return score < o.score || (score == o.score && box > o.box);
  }
};

// With a positive sigma a box that overlaps a chosen one loses score instead of being
// dropped, and waits for its turn again.
template <class Overlap>
void choose(int64_t n, const LaunchArgs& a, OutputAllocator& outputs, Overlap overlap) {
  const auto* scores = a.in<float>(1);
  const int32_t most = *a.in<int32_t>(2);
  const float threshold = *a.in<float>(3), least = *a.in<float>(4),
              sigma = *a.in<float>(5);
  if (!(threshold >= 0 && threshold <= 1)) {
    throw InvalidArgumentError(fmt::format(
        "NonMaxSuppression: iou_threshold must be in [0, 1], got {}", threshold));
  }
  if (most < 0) {
    throw InvalidArgumentError(fmt::format(
        "NonMaxSuppression: max_output_size must be non-negative, got {}", most));
  }
  if (!(sigma >= 0)) {
    throw InvalidArgumentError(fmt::format(
        "NonMaxSuppression: soft_nms_sigma must be non-negative, got {}", sigma));
  }
  const bool soft = sigma > 0;
  std::priority_queue<Candidate> left;
  for (int64_t i = 0; i < n; ++i) {
    if (scores[i] > least) left.push({static_cast<int32_t>(i), scores[i], 0});
  }
  std::vector<int32_t> chosen;
  std::vector<float> chosen_scores;
  while (!left.empty() && chosen.size() < static_cast<size_t>(most)) {
    Candidate c = left.top();
    left.pop();
    const float before = c.score;
    bool dropped = false;
    for (size_t k = chosen.size(); k-- > c.compared && !dropped;) {
      const float shared = overlap(c.box, chosen[k]);
      if (soft)
        c.score *= shared <= threshold ? std::exp(-0.5f / sigma * shared * shared) : 0;
      dropped = soft ? c.score <= least : shared > threshold;
    }
    c.compared = chosen.size();
    if (dropped) continue;
    if (c.score == before) {
      chosen.push_back(c.box);
      chosen_scores.push_back(c.score);
    } else if (c.score > least) {
      left.push(c);
    }
  }
  const Shape shape{static_cast<int64_t>(chosen.size())};
  std::copy(chosen.begin(), chosen.end(),
            static_cast<int32_t*>(outputs.allocate(0, shape)));
  std::copy(chosen_scores.begin(), chosen_scores.end(),
            static_cast<float*>(outputs.allocate(1, shape)));
}

void launch_boxes(const BoxPlan& p, const LaunchArgs& a, OutputAllocator& outputs) {
  const auto* boxes = a.in<float>(0);
  choose(p.n, a, outputs, [boxes](int32_t i, int32_t j) {
    return overlap_of(boxes + 4 * i, boxes + 4 * j);
  });
}
void launch_overlaps(const BoxPlan& p, const LaunchArgs& a, OutputAllocator& outputs) {
  const auto* overlaps = a.in<float>(0);
  choose(p.n, a, outputs, [&](int32_t i, int32_t j) { return overlaps[i * p.n + j]; });
}

// ---- Drawing

struct DrawPlan {
  int64_t batch = 0, h = 0, w = 0, channels = 0, boxes = 0, colours = 0, palette = 0;
};
DrawPlan prepare_draw(const Signature& s) {
  const Shape& in = s.in(0).shape;
  return {in[0],           in[1], in[2], in[3], s.in(1).shape[1], s.in(2).shape[0],
          s.in(2).shape[1]};
}

// Colours of the outlines when none are given.
constexpr float kDefaultColours[][4] = {
    {1, 1, 0, 1},     {0, 0, 1, 1},   {1, 0, 0, 1},   {0, 1, 0, 1}, {0.5, 0, 0.5, 1},
    {0.5, 0.5, 0, 1}, {0.5, 0, 0, 1}, {0, 0, 0.5, 1}, {0, 1, 1, 1}, {1, 0, 1, 1}};

void launch_draw(const DrawPlan& p, const LaunchArgs& a) {
  const int64_t image = p.h * p.w * p.channels;
  std::memcpy(a.out<float>(), a.in<float>(0),
              static_cast<size_t>(p.batch * image) * sizeof(float));
  for (int64_t i = 0; i < p.batch * p.boxes; ++i) {
    const float* box = a.in<float>(1) + 4 * i;
    float* out = a.out<float>() + i / p.boxes * image;
    const int64_t number = i % p.boxes;
    const float* colour = p.colours > 0 ? a.in<float>(2) + number % p.colours * p.palette
                                        : kDefaultColours[number % 10];
    const auto edge = [](float part, int64_t size) {
      return static_cast<int64_t>(part * static_cast<float>(size - 1));
    };
    const int64_t top = edge(box[0], p.h), left = edge(box[1], p.w);
    const int64_t bottom = edge(box[2], p.h), right = edge(box[3], p.w);
    if (top > bottom || left > right || bottom < 0 || right < 0 || top >= p.h ||
        left >= p.w) {
      continue;  // it is not in the image
    }
    const auto paint = [&](int64_t y, int64_t x) {
      if (y < 0 || y >= p.h || x < 0 || x >= p.w) return;
      std::copy_n(colour, p.channels, out + (y * p.w + x) * p.channels);
    };
    for (int64_t x = std::max<int64_t>(left, 0); x <= std::min(right, p.w - 1); ++x) {
      paint(top, x);
      paint(bottom, x);
    }
    for (int64_t y = std::max<int64_t>(top, 0); y <= std::min(bottom, p.h - 1); ++y) {
      paint(y, left);
      paint(y, right);
    }
  }
}

template <class... T>
void add_crops(KernelRegistry& registry) {
  (registry.add(make_kernel<prepare_crop_and_resize, launch_crop_and_resize<T>>(
       "CropAndResize", "cpu.CropAndResize." + std::string(dtype_name(dtype_of<T>)),
       mask(dtype_of<T>))),
   ...);
}

}  // namespace

void register_image_box_kernels(KernelRegistry& registry) {
  add_crops<float, double, float16, bfloat16, uint8_t, int8_t, uint16_t, int16_t, int32_t,
            int64_t>(registry);
  registry.add(make_kernel<prepare_boxes, launch_boxes>("NonMaxSuppressionV5",
                                                        "cpu.NonMaxSuppressionV5"));
  registry.add(make_kernel<prepare_boxes, launch_overlaps>(
      "NonMaxSuppressionWithOverlaps", "cpu.NonMaxSuppressionWithOverlaps"));
  registry.add(make_kernel<prepare_draw, launch_draw>(
      "DrawBoundingBoxesV2", "cpu.DrawBoundingBoxesV2.f32", mask(DType::kFloat32)));
  registry.add(make_half_kernel<prepare_draw, launch_draw>(
      "DrawBoundingBoxesV2", "cpu.DrawBoundingBoxesV2.f16"));
}

}  // namespace tandem::cpu
