// Resizing of images. Bilinear: float32 and float64, integers of up to 64 bits, float16
// and bfloat16 through float32; results are float32. Nearest neighbour moves pixels of
// any size; its gradient is for float32, float64, and through float32.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/parallel.h"
#include "kernels/cpu/nn_register.h"
#include "kernels/cpu/nn_through_float.h"
#include "kernels/cpu/resize_scale.h"
#include "tandem/ops/nn_image.h"

namespace tandem::cpu {

namespace {

/// Where an output row or column comes from.
struct ResizeSource {
  int64_t low, high;
  float weight;  // of high
};

struct ResizePlan {
  int64_t batch = 0, in_h = 0, in_w = 0, out_h = 0, out_w = 0, channels = 0;
  std::vector<ResizeSource> rows, columns;
  size_t element = 0;
};

std::vector<ResizeSource> bilinear_sources(int64_t in, int64_t out,
                                           const nn::ResizeAttrs& a) {
  const float scale = resize_scale(in, out, a.align_corners);
  std::vector<ResizeSource> sources(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i) {
    const auto at = static_cast<float>(i);
    const float x = a.half_pixel_centers ? (at + 0.5f) * scale - 0.5f : at * scale;
    const float floor = std::floor(x);
    // Both ends: above 2^24 a place may be rounded to one past the last.
    const auto pixel = [in](float place) {
      return std::clamp<int64_t>(static_cast<int64_t>(place), 0, in - 1);
    };
    sources[static_cast<size_t>(i)] = {pixel(floor), pixel(std::ceil(x)), x - floor};
  }
  return sources;
}

std::vector<ResizeSource> nearest_sources(int64_t in, int64_t out,
                                          const nn::ResizeAttrs& a) {
  const float scale = resize_scale(in, out, a.align_corners);
  std::vector<ResizeSource> sources(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i) {
    const float x =
        (static_cast<float>(i) + (a.half_pixel_centers ? 0.5f : 0.0f)) * scale;
    const auto at = static_cast<int64_t>(a.align_corners ? std::round(x) : std::floor(x));
    sources[static_cast<size_t>(i)] = {std::clamp<int64_t>(at, 0, in - 1), 0, 0};
  }
  return sources;
}

// From the shapes of the image and of the resized one, whichever of them is the input.
ResizePlan plan_resize(const Signature& s, const Shape& image, const Shape& result,
                       bool bilinear) {
  const auto& attrs = s.attrs.as<nn::ResizeAttrs>();
  ResizePlan p{.batch = image[0],
               .in_h = image[1],
               .in_w = image[2],
               .out_h = result[1],
               .out_w = result[2],
               .channels = image[3],
               .rows = {},
               .columns = {},
               .element = dtype_size(s.in(0).dtype)};
  const auto sources = bilinear ? bilinear_sources : nearest_sources;
  p.rows = sources(p.in_h, p.out_h, attrs);
  p.columns = sources(p.in_w, p.out_w, attrs);
  return p;
}

ResizePlan prepare_bilinear(const Signature& s) {
  return plan_resize(s, s.in(0).shape, s.out().shape, true);
}
ResizePlan prepare_bilinear_grad(const Signature& s) {
  return plan_resize(s, s.out().shape, s.in(0).shape, true);
}
ResizePlan prepare_nearest(const Signature& s) {
  return plan_resize(s, s.in(0).shape, s.out().shape, false);
}
ResizePlan prepare_nearest_grad(const Signature& s) {
  return plan_resize(s, s.out().shape, s.in(0).shape, false);
}

int64_t resize_grain(const ResizePlan& p, int64_t cost) {
  return std::max<int64_t>(1, 65536 / std::max<int64_t>(1, p.out_w * p.channels * cost));
}

template <class T>
void launch_bilinear(const ResizePlan& p, const LaunchArgs& a) {
  const int64_t c = p.channels;
  parallel_for(p.batch * p.out_h, resize_grain(p, 6), [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      const ResizeSource& y = p.rows[static_cast<size_t>(i % p.out_h)];
      const T* image = a.in<T>(0) + i / p.out_h * p.in_h * p.in_w * c;
      const T *top = image + y.low * p.in_w * c, *bottom = image + y.high * p.in_w * c;
      float* out = a.out<float>() + i * p.out_w * c;
      for (const ResizeSource& x : p.columns) {
        const T *tl = top + x.low * c, *tr = top + x.high * c;
        const T *bl = bottom + x.low * c, *br = bottom + x.high * c;
#pragma omp simd
        for (int64_t k = 0; k < c; ++k) {
          const auto left = static_cast<float>(tl[k]), below = static_cast<float>(bl[k]);
          const float upper = left + (static_cast<float>(tr[k]) - left) * x.weight;
          const float lower = below + (static_cast<float>(br[k]) - below) * x.weight;
          out[k] = upper + (lower - upper) * y.weight;
        }
        out += c;
      }
    }
  });
}

// Blocks of channels of one image: every block adds to pixels of its own.
template <class Body>
void over_resize_channels(const ResizePlan& p, Body body) {
  constexpr int64_t kBlock = 16;
  const int64_t blocks = (p.channels + kBlock - 1) / kBlock;
  parallel_for(p.batch * blocks, 1, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      const int64_t from = i % blocks * kBlock;
      body(i / blocks, from, std::min(kBlock, p.channels - from));
    }
  });
}

template <class T>
void clear(const ResizePlan& p, T* image, int64_t from, int64_t n) {
  for (int64_t i = 0; i < p.in_h * p.in_w; ++i)
    std::fill_n(image + i * p.channels + from, n, T(0));
}

template <class T>
void launch_bilinear_grad(const ResizePlan& p, const LaunchArgs& a) {
  const int64_t c = p.channels;
  over_resize_channels(p, [&](int64_t image, int64_t from, int64_t n) {
    T* out = a.out<T>() + image * p.in_h * p.in_w * c;
    const float* g = a.in<float>(0) + image * p.out_h * p.out_w * c + from;
    clear(p, out, from, n);
    for (const ResizeSource& y : p.rows) {
      T *top = out + y.low * p.in_w * c + from,
        *bottom = out + y.high * p.in_w * c + from;
      for (const ResizeSource& x : p.columns) {
        const float wy = y.weight, wx = x.weight;
        for (int64_t k = 0; k < n; ++k) {
          top[x.low * c + k] += static_cast<T>(g[k] * (1 - wy) * (1 - wx));
          top[x.high * c + k] += static_cast<T>(g[k] * (1 - wy) * wx);
          bottom[x.low * c + k] += static_cast<T>(g[k] * wy * (1 - wx));
          bottom[x.high * c + k] += static_cast<T>(g[k] * wy * wx);
        }
        g += c;
      }
    }
  });
}

void launch_nearest(const ResizePlan& p, const LaunchArgs& a) {
  const size_t pixel = static_cast<size_t>(p.channels) * p.element;
  const auto w = static_cast<size_t>(p.in_w);
  parallel_for(p.batch * p.out_h, resize_grain(p, 2), [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      const auto row = static_cast<size_t>(i / p.out_h * p.in_h +
                                           p.rows[static_cast<size_t>(i % p.out_h)].low);
      const std::byte* from = a.in<std::byte>(0) + row * w * pixel;
      std::byte* to = a.out<std::byte>() + static_cast<size_t>(i * p.out_w) * pixel;
      for (const ResizeSource& x : p.columns) {
        std::memcpy(to, from + static_cast<size_t>(x.low) * pixel, pixel);
        to += pixel;
      }
    }
  });
}

template <class T>
void launch_nearest_grad(const ResizePlan& p, const LaunchArgs& a) {
  const int64_t c = p.channels;
  over_resize_channels(p, [&](int64_t image, int64_t from, int64_t n) {
    T* out = a.out<T>() + image * p.in_h * p.in_w * c;
    const T* g = a.in<T>(0) + image * p.out_h * p.out_w * c + from;
    clear(p, out, from, n);
    for (const ResizeSource& y : p.rows) {
      for (const ResizeSource& x : p.columns) {
        T* to = out + (y.low * p.in_w + x.low) * c + from;
        for (int64_t k = 0; k < n; ++k) to[k] += g[k];
        g += c;
      }
    }
  });
}

template <class T>
void add_bilinear(KernelRegistry& registry) {
  const DType t = dtype_of<T>;
  registry.add(make_kernel<prepare_bilinear, launch_bilinear<T>>(
      "ResizeBilinear", "cpu.ResizeBilinear." + std::string(dtype_name(t)), mask(t)));
}

}  // namespace

void register_nn_resize_kernels(KernelRegistry& registry) {
  add_bilinear<float>(registry);
  add_bilinear<double>(registry);
  add_bilinear<int8_t>(registry);
  add_bilinear<int16_t>(registry);
  add_bilinear<int32_t>(registry);
  add_bilinear<int64_t>(registry);
  add_bilinear<uint8_t>(registry);
  add_bilinear<uint16_t>(registry);
  registry.add(make_half_kernel<prepare_bilinear, launch_bilinear<float>>(
      "ResizeBilinear", "cpu.ResizeBilinear.half"));
  registry.add(make_kernel<prepare_bilinear_grad, launch_bilinear_grad<float>>(
      "ResizeBilinearGrad", "cpu.ResizeBilinearGrad.f32", mask(DType::kFloat32)));
  registry.add(make_kernel<prepare_bilinear_grad, launch_bilinear_grad<double>>(
      "ResizeBilinearGrad", "cpu.ResizeBilinearGrad.f64", mask(DType::kFloat64)));
  registry.add(make_half_kernel<prepare_bilinear_grad, launch_bilinear_grad<float>>(
      "ResizeBilinearGrad", "cpu.ResizeBilinearGrad.half"));
  registry.add(make_kernel<prepare_nearest, launch_nearest>("ResizeNearestNeighbor",
                                                            "cpu.ResizeNearestNeighbor"));
  registry.add(make_kernel<prepare_nearest_grad, launch_nearest_grad<float>>(
      "ResizeNearestNeighborGrad", "cpu.ResizeNearestNeighborGrad.f32",
      mask(DType::kFloat32)));
  registry.add(make_kernel<prepare_nearest_grad, launch_nearest_grad<double>>(
      "ResizeNearestNeighborGrad", "cpu.ResizeNearestNeighborGrad.f64",
      mask(DType::kFloat64)));
  registry.add(make_half_kernel<prepare_nearest_grad, launch_nearest_grad<float>>(
      "ResizeNearestNeighborGrad", "cpu.ResizeNearestNeighborGrad.half"));
}

}  // namespace tandem::cpu
