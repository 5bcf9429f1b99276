// Projective transforms of images: uint8, int32, int64, float32, float64 (float16 and
// bfloat16 through float32). Coordinates and weights are float32, as TensorFlow's
// (weights of float64 images are float64).
#include "tandem/ops/nn_transform.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/parallel.h"
#include "kernels/cpu/nn_register.h"
#include "kernels/cpu/nn_through_float.h"

namespace tandem::cpu {

namespace {

enum class Fill { kConstant, kReflect, kWrap, kNearest };

struct ProjectivePlan {
  int64_t batch = 0, in_h = 0, in_w = 0, out_h = 0, out_w = 0, channels = 0;
  int64_t transform_step = 0;  // 0: one for all images
  bool bilinear = false;
  Fill fill = Fill::kConstant;
};

ProjectivePlan prepare_projective(const Signature& s) {
  const auto& attrs = s.attrs.as<nn::ProjectiveAttrs>();
  const Shape &in = s.in(0).shape, &out = s.out().shape;
  return {in[0],
          in[1],
          in[2],
          out[1],
          out[2],
          in[3],
          s.in(1).shape[0] == 1 ? 0 : 8,
          attrs.interpolation == "BILINEAR",
          attrs.fill_mode == "REFLECT"   ? Fill::kReflect
          : attrs.fill_mode == "WRAP"    ? Fill::kWrap
          : attrs.fill_mode == "NEAREST" ? Fill::kNearest
                                         : Fill::kConstant};
}

// Edge pixels are repeated: …b a | a b c | c b…
float reflected(float at, float n) {
  if (n <= 1) return 0;
  const float period = 2 * n;
  if (at < 0) {
    at += period * std::trunc(-at / period);
    at = at < -n ? at + period : -at - 1;
  } else if (at > n - 1) {
    at -= period * std::trunc(at / period);
    if (at >= n) at = period - at - 1;
  }
  return std::clamp(at, 0.0f, n - 1);
}

float wrapped(float at, float n) {
  if (n <= 1) return 0;
  if (at < 0) {
    at += n * (std::trunc(-at / (n - 1)) + 1);
  } else if (at > n - 1) {
    at -= n * std::trunc(at / (n - 1));
  }
  return std::clamp(at, 0.0f, n - 1);
}

float mapped(Fill fill, float at, int64_t size) {
  const auto n = static_cast<float>(size);
  switch (fill) {
    case Fill::kReflect:
      return reflected(at, n);
    case Fill::kWrap:
      return wrapped(at, n);
    case Fill::kNearest:
      return std::clamp(at, 0.0f, n - 1);
    case Fill::kConstant:
      break;
  }
  return at;
}

template <class T>
struct Image {
  const ProjectivePlan& p;
  const T* pixels;
  T outside;

  T read(float y, float x, int64_t channel) const {
    const bool inside = y >= 0 && x >= 0 && y < static_cast<float>(p.in_h) &&
                        x < static_cast<float>(p.in_w);
    if (!inside) return outside;
    const int64_t at = static_cast<int64_t>(y) * p.in_w + static_cast<int64_t>(x);
    return pixels[at * p.channels + channel];
  }
  void nearest(float y, float x, T* out) const {
    y = std::round(y);
    x = std::round(x);
    for (int64_t c = 0; c < p.channels; ++c) out[c] = read(y, x, c);
  }
  void bilinear(float y, float x, T* out) const {
    using Weight = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const float top = std::floor(y), left = std::floor(x);
    const Weight down = y - top, right = x - left;
    for (int64_t c = 0; c < p.channels; ++c) {
      const auto mix = [&](float row) {
        return (1 - right) * static_cast<Weight>(read(row, left, c)) +
               right * static_cast<Weight>(read(row, left + 1, c));
      };
      out[c] = static_cast<T>((1 - down) * mix(top) + down * mix(top + 1));
    }
  }
};

template <class T>
void launch_projective(const ProjectivePlan& p, const LaunchArgs& a) {
  const T outside = static_cast<T>(*a.in<float>(3));
  const int64_t row = std::max<int64_t>(1, p.out_w * (20 + 10 * p.channels));
  parallel_for(
      p.batch * p.out_h, std::max<int64_t>(1, 65536 / row),
      [&](int64_t first, int64_t end) {
        for (int64_t i = first; i < end; ++i) {
          const int64_t b = i / p.out_h;
          const auto y = static_cast<float>(i % p.out_h);
          const float* m = a.in<float>(1) + b * p.transform_step;
          const Image<T> image{p, a.in<T>(0) + b * p.in_h * p.in_w * p.channels, outside};
          T* out = a.out<T>() + i * p.out_w * p.channels;
          for (int64_t j = 0; j < p.out_w; ++j, out += p.channels) {
            const auto x = static_cast<float>(j);
            const float k = m[6] * x + m[7] * y + 1;
            if (k == 0) {  // a point at infinity
              std::fill_n(out, p.channels, outside);
              continue;
            }
            const float from_x = mapped(p.fill, (m[0] * x + m[1] * y + m[2]) / k, p.in_w);
            const float from_y = mapped(p.fill, (m[3] * x + m[4] * y + m[5]) / k, p.in_h);
            if (p.bilinear) {
              image.bilinear(from_y, from_x, out);
            } else {
              image.nearest(from_y, from_x, out);
            }
          }
        }
      });
}

template <class T>
void add_projective(KernelRegistry& registry) {
  const DType t = dtype_of<T>;
  registry.add(make_kernel<prepare_projective, launch_projective<T>>(
      "ImageProjectiveTransformV3",
      "cpu.ImageProjectiveTransformV3." + std::string(dtype_name(t)), mask(t)));
}

}  // namespace

void register_nn_transform_kernels(KernelRegistry& registry) {
  add_projective<float>(registry);
  add_projective<double>(registry);
  add_projective<uint8_t>(registry);
  add_projective<int32_t>(registry);
  add_projective<int64_t>(registry);
  registry.add(make_half_kernel<prepare_projective, launch_projective<float>>(
      "ImageProjectiveTransformV3", "cpu.ImageProjectiveTransformV3.half"));
}

}  // namespace tandem::cpu
