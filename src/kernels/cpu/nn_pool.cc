// Pooling: float32, float64 and (maximum only) integers of up to 64 bits; float16 and
// bfloat16 through float32.
#include <algorithm>

#include <fmt/format.h>

#include "base/parallel.h"
#include "kernels/cpu/nn_pool_loops.h"
#include "kernels/cpu/nn_register.h"
#include "kernels/cpu/nn_through_float.h"
#include "tandem/ops/nn_conv.h"

namespace tandem::cpu {

namespace {

struct PoolPlan {
  PoolGeometry g;
  int64_t images = 0;
  int64_t in_image = 0, out_image = 0;  // elements of one image
  int64_t row_grain = 1;
  // MaxPoolWithArgmax
  bool wide_index = true, batch_in_index = false;
  int64_t out_elements = 0;
  size_t workspace_bytes = 0;
};

PoolPlan plan_pool(const std::string& op, const nn::PoolAttrs& attrs,
                   const Shape& input) {
  const nn::PoolShape shape = nn::pool_shape(op, attrs, input);
  PoolPlan p;
  for (int i = 0; i < 3; ++i) {
    const int from = i - (3 - shape.spatial);
    p.g.d[i] = from < 0 ? nn::WindowDim{.in = 1, .out = 1} : shape.dims[from];
  }
  p.g.channels = shape.channels_first ? 1 : shape.channels;
  p.images = shape.channels_first ? shape.batch * shape.channels : shape.batch;
  p.in_image = p.g.in_positions() * p.g.channels;
  p.out_image = p.g.out_positions() * p.g.channels;
  int64_t taps = 1;  // that can lie in the input
  for (const nn::WindowDim& d : p.g.d) taps *= std::min(d.size, d.in);
  const int64_t work = p.g.d[2].out * p.g.channels * taps;
  p.row_grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(work, 1));
  return p;
}

PoolPlan prepare_pool(const Signature& s) {
  return plan_pool(s.op->name, s.attrs.as<nn::PoolAttrs>(), s.in(0).shape);
}
PoolPlan prepare_avg_grad(const Signature& s) {
  return plan_pool(s.op->name, s.attrs.as<nn::PoolAttrs>(), s.out().shape);
}
PoolPlan prepare_argmax(const Signature& s) {
  const auto& a = s.attrs.as<nn::MaxPoolArgmaxAttrs>();
  PoolPlan p = plan_pool(s.op->name,
                         {.ksize = a.ksize, .strides = a.strides, .padding = a.padding},
                         s.in(0).shape);
  p.wide_index = a.argmax_type == DType::kInt64;
  p.batch_in_index = a.include_batch_in_index;
  p.out_elements = p.images * p.out_image;
  if (!p.wide_index && s.op->name == "MaxPoolWithArgmax") {
    p.workspace_bytes = static_cast<size_t>(p.out_elements) * sizeof(int64_t);
  }
  return p;
}

template <class T>
const PoolLoops<T>& loops() {
  const AllPoolLoops& all = best::pool_loops();
  if constexpr (std::is_same_v<T, float>) return all.f32;
  if constexpr (std::is_same_v<T, double>) return all.f64;
  if constexpr (std::is_same_v<T, int8_t>) return all.i8;
  if constexpr (std::is_same_v<T, int16_t>) return all.i16;
  if constexpr (std::is_same_v<T, int32_t>) return all.i32;
  if constexpr (std::is_same_v<T, int64_t>) return all.i64;
  if constexpr (std::is_same_v<T, uint8_t>) return all.u8;
  if constexpr (std::is_same_v<T, uint16_t>) return all.u16;
}

// body(image, first row, last row) over rows of outputs.
template <class Body>
void over_rows(const PoolPlan& p, Body body) {
  if (p.in_image == 0) return;
  const int64_t rows = p.g.out_rows();
  parallel_for(p.images * rows, p.row_grain, [&](int64_t b, int64_t e) {
    while (b < e) {
      const int64_t image = b / rows, from = b % rows;
      const int64_t to = std::min(rows, from + e - b);
      body(image, from, to);
      b += to - from;
    }
  });
}

// body(image, first channel, last channel): every range writes inputs of its own.
template <class Body>
void over_pool_channels(const PoolPlan& p, Body body) {
  if (p.in_image == 0) return;
  constexpr int64_t kBlock = 32;
  const int64_t blocks = (p.g.channels + kBlock - 1) / kBlock;
  const int64_t grain =
      std::max<int64_t>(1, p.row_grain / std::max<int64_t>(1, p.g.out_rows()));
  parallel_for(p.images * blocks, grain, [&](int64_t b, int64_t e) {
    while (b < e) {
      const int64_t image = b / blocks, from = b % blocks;
      const int64_t to = std::min(blocks, from + e - b);
      body(image, from * kBlock, std::min(to * kBlock, p.g.channels));
      b += to - from;
    }
  });
}

template <class T>
void launch_max(const PoolPlan& p, const LaunchArgs& a) {
  over_rows(p, [&](int64_t image, int64_t b, int64_t e) {
    loops<T>().max_rows(p.g, a.in<T>(0) + image * p.in_image,
                        a.out<T>() + image * p.out_image, b, e);
  });
}
template <class T>
void launch_max_grad(const PoolPlan& p, const LaunchArgs& a) {
  over_pool_channels(p, [&](int64_t image, int64_t b, int64_t e) {
    loops<T>().max_grad(p.g, a.in<T>(0) + image * p.in_image,
                        a.in<T>(2) + image * p.out_image, a.out<T>() + image * p.in_image,
                        b, e);
  });
}
template <class T>
void launch_max_grad_grad(const PoolPlan& p, const LaunchArgs& a) {
  over_rows(p, [&](int64_t image, int64_t b, int64_t e) {
    loops<T>().max_pick(p.g, a.in<T>(0) + image * p.in_image,
                        a.in<T>(2) + image * p.in_image, a.out<T>() + image * p.out_image,
                        b, e);
  });
}
template <class T>
void launch_avg(const PoolPlan& p, const LaunchArgs& a) {
  over_rows(p, [&](int64_t image, int64_t b, int64_t e) {
    loops<T>().avg_rows(p.g, a.in<T>(0) + image * p.in_image,
                        a.out<T>() + image * p.out_image, b, e);
  });
}
template <class T>
void launch_avg_grad(const PoolPlan& p, const LaunchArgs& a) {
  over_pool_channels(p, [&](int64_t image, int64_t b, int64_t e) {
    loops<T>().avg_grad(p.g, a.in<T>(1) + image * p.out_image,
                        a.out<T>() + image * p.in_image, b, e);
  });
}

template <class T>
void launch_argmax(const PoolPlan& p, const LaunchArgs& a) {
  int64_t* index = p.wide_index ? a.out<int64_t>(1) : static_cast<int64_t*>(a.workspace);
  over_rows(p, [&](int64_t image, int64_t b, int64_t e) {
    loops<T>().max_index(p.g, a.in<T>(0) + image * p.in_image,
                         a.out<T>() + image * p.out_image, index + image * p.out_image, b,
                         e);
  });
  if (p.wide_index && !p.batch_in_index) return;
  parallel_for(p.images, std::max<int64_t>(1, 16384 / std::max<int64_t>(p.out_image, 1)),
               [&](int64_t b, int64_t e) {
                 for (int64_t i = b * p.out_image; i < e * p.out_image; ++i) {
                   const int64_t base =
                       p.batch_in_index ? i / p.out_image * p.in_image : 0;
                   if (p.wide_index) {
                     index[i] += base;
                   } else {
                     a.out<int32_t>(1)[i] = static_cast<int32_t>(index[i] + base);
                   }
                 }
               });
}

template <class T>
void launch_argmax_grad(const PoolPlan& p, const LaunchArgs& a) {
  const int64_t size = p.batch_in_index ? p.images * p.in_image : p.in_image;
  const auto at = [&](int64_t i) {
    return p.wide_index ? a.in<int64_t>(2)[i] : static_cast<int64_t>(a.in<int32_t>(2)[i]);
  };
  for (int64_t i = 0; i < p.out_elements; ++i) {
    if (at(i) < 0 || at(i) >= size) {
      throw InvalidArgumentError(fmt::format(
          "MaxPoolGradWithArgmax: argmax {} is outside the valid range of [0, {})", at(i),
          size));
    }
  }
  T* out = a.out<T>();
  std::fill_n(out, p.images * p.in_image, T(0));
  // Indices may point into another image when the batch is part of them.
  const int64_t grain =
      p.batch_in_index ? p.images
                       : std::max<int64_t>(1, 16384 / std::max<int64_t>(p.out_image, 1));
  parallel_for(p.images, grain, [&](int64_t b, int64_t e) {
    for (int64_t i = b * p.out_image; i < e * p.out_image; ++i) {
      const int64_t base = p.batch_in_index ? 0 : i / p.out_image * p.in_image;
      T& to = out[base + at(i)];
      to = static_cast<T>(to + a.in<T>(1)[i]);
    }
  });
}

template <class T>
void add_max(KernelRegistry& registry) {
  const DType dtype = dtype_of<T>;
  const std::string suffix = "." + std::string(dtype_name(dtype));
  const auto add = [&](Kernel k) { registry.add(std::move(k)); };
  for (const std::string rank : {"", "3D"}) {
    const std::string op = "MaxPool" + rank, id = "cpu." + op;
    add(make_kernel<prepare_pool, launch_max<T>>(op, id + suffix, mask(dtype)));
    add(make_kernel<prepare_pool, launch_max_grad<T>>(op + "Grad", id + "Grad" + suffix,
                                                      mask(dtype)));
    add(make_kernel<prepare_pool, launch_max_grad_grad<T>>(
        op + "GradGrad", id + "GradGrad" + suffix, mask(dtype)));
  }
  add(make_kernel<prepare_argmax, launch_argmax<T>>(
      "MaxPoolWithArgmax", "cpu.MaxPoolWithArgmax" + suffix, mask(dtype)));
  add(make_kernel<prepare_argmax, launch_argmax_grad<T>>(
      "MaxPoolGradWithArgmax", "cpu.MaxPoolGradWithArgmax" + suffix, mask(dtype)));
}

}  // namespace

void register_nn_pool_kernels(KernelRegistry& registry) {
  add_max<float>(registry);
  add_max<double>(registry);
  add_max<int8_t>(registry);
  add_max<int16_t>(registry);
  add_max<int32_t>(registry);
  add_max<int64_t>(registry);
  add_max<uint8_t>(registry);
  add_max<uint16_t>(registry);
  const auto add = [&](Kernel k) { registry.add(std::move(k)); };
  for (const std::string rank : {"", "3D"}) {
    const std::string max = "MaxPool" + rank, avg = "AvgPool" + rank, id = "cpu.";
    add(make_half_kernel<prepare_pool, launch_max<float>>(max, id + max + ".half"));
    add(make_half_kernel<prepare_pool, launch_max_grad<float>>(max + "Grad",
                                                               id + max + "Grad.half"));
    add(make_half_kernel<prepare_pool, launch_max_grad_grad<float>>(
        max + "GradGrad", id + max + "GradGrad.half"));
    add(make_kernel<prepare_pool, launch_avg<float>>(avg, id + avg + ".f32",
                                                     mask(DType::kFloat32)));
    add(make_kernel<prepare_pool, launch_avg<double>>(avg, id + avg + ".f64",
                                                      mask(DType::kFloat64)));
    add(make_half_kernel<prepare_pool, launch_avg<float>>(avg, id + avg + ".half"));
    add(make_kernel<prepare_avg_grad, launch_avg_grad<float>>(
        avg + "Grad", id + avg + "Grad.f32", mask(DType::kFloat32)));
    add(make_kernel<prepare_avg_grad, launch_avg_grad<double>>(
        avg + "Grad", id + avg + "Grad.f64", mask(DType::kFloat64)));
    add(make_half_kernel<prepare_avg_grad, launch_avg_grad<float>>(
        avg + "Grad", id + avg + "Grad.half"));
  }
  add(make_half_kernel<prepare_argmax, launch_argmax<float>>(
      "MaxPoolWithArgmax", "cpu.MaxPoolWithArgmax.half"));
  add(make_half_kernel<prepare_argmax, launch_argmax_grad<float>>(
      "MaxPoolGradWithArgmax", "cpu.MaxPoolGradWithArgmax.half"));
}

}  // namespace tandem::cpu
