// BiasAdd and BiasAddGrad: all numbers; float16 and bfloat16 through float32. Integers of
// one size share their code, since they wrap.
#include <algorithm>
#include <complex>

#include "base/parallel.h"
#include "kernels/cpu/nn_register.h"
#include "kernels/cpu/nn_through_float.h"
#include "ops/nn_geometry.h"
#include "tandem/ops/nn_conv.h"

namespace tandem::cpu {

namespace {

constexpr int kBiasParts = 16;
constexpr int64_t kRowBlock = 128;

struct BiasPlan {
  int64_t outer = 1, channels = 0, inner = 1;
  int64_t grain = 1;
  size_t workspace_bytes = 0;
};

BiasPlan prepare_bias(const Signature& s) {
  const Shape& x = s.in(0).shape;
  const int axis = nn::channel_axis(
      x.rank(), channels_first(s.attrs.as<nn::BiasAddAttrs>().data_format));
  BiasPlan p;
  p.outer = x.slice(0, axis).num_elements();
  p.channels = x[axis];
  p.inner = x.slice(axis + 1, x.rank()).num_elements();
  p.grain = std::max<int64_t>(
      1, 32768 / std::max<int64_t>(1, p.inner == 1 ? p.channels : p.inner));
  return p;
}
BiasPlan prepare_bias_grad(const Signature& s) {
  BiasPlan p = prepare_bias(s);
  p.workspace_bytes =
      static_cast<size_t>(2 * kBiasParts * p.channels) * dtype_size(s.in(0).dtype);
  return p;
}

template <class T>
void launch_bias(const BiasPlan& p, const LaunchArgs& a) {
  const T *x = a.in<T>(0), *bias = a.in<T>(1);
  T* y = a.out<T>();
  if (p.inner == 1) {
    parallel_for(p.outer, p.grain, [&](int64_t b, int64_t e) {
      for (int64_t r = b; r < e; ++r) {
        const T* from = x + r * p.channels;
        T* to = y + r * p.channels;
#pragma omp simd
        for (int64_t i = 0; i < p.channels; ++i)
          to[i] = static_cast<T>(from[i] + bias[i]);
      }
    });
    return;
  }
  parallel_for(p.outer * p.channels, p.grain, [&](int64_t b, int64_t e) {
    for (int64_t r = b; r < e; ++r) {
      const T* from = x + r * p.inner;
      T* to = y + r * p.inner;
      const T value = bias[r % p.channels];
#pragma omp simd
      for (int64_t i = 0; i < p.inner; ++i) to[i] = static_cast<T>(from[i] + value);
    }
  });
}

// Rows [b, e) added up in blocks: `block` takes a few rows, `sum` the blocks.
template <class T>
void sum_rows(const T* x, int64_t b, int64_t e, int64_t c, T* block, T* sum) {
  std::fill_n(sum, c, T(0));
  for (int64_t r0 = b; r0 < e; r0 += kRowBlock) {
    std::fill_n(block, c, T(0));
    for (int64_t r = r0; r < std::min(e, r0 + kRowBlock); ++r) {
      const T* row = x + r * c;
#pragma omp simd
      for (int64_t i = 0; i < c; ++i) block[i] = static_cast<T>(block[i] + row[i]);
    }
    for (int64_t i = 0; i < c; ++i) sum[i] = static_cast<T>(sum[i] + block[i]);
  }
}

// Sixteen running sums, so that rounding errors stay small and lanes are independent.
template <class T>
T sum_run(const T* x, int64_t n) {
  T lanes[16] = {};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    for (int64_t k = 0; k < 16; ++k) lanes[k] = static_cast<T>(lanes[k] + x[i + k]);
  }
  for (; i < n; ++i) lanes[i % 16] = static_cast<T>(lanes[i % 16] + x[i]);
  for (int64_t width = 8; width > 0; width /= 2) {
    for (int64_t k = 0; k < width; ++k)
      lanes[k] = static_cast<T>(lanes[k] + lanes[k + width]);
  }
  return lanes[0];
}

template <class T>
void launch_bias_grad(const BiasPlan& p, const LaunchArgs& a) {
  const T* g = a.in<T>(0);
  T* out = a.out<T>();
  const int64_t c = p.channels;
  if (p.inner == 1) {
    T* workspace = static_cast<T*>(a.workspace);
    const int parts =
        parallel_parts(p.outer, p.grain, kBiasParts, [&](int part, int64_t b, int64_t e) {
          T* mine = workspace + 2 * part * c;
          sum_rows(g, b, e, c, mine, mine + c);
        });
    std::fill_n(out, c, T(0));
    for (int part = 0; part < parts; ++part) {
      const T* sum = workspace + (2 * part + 1) * c;
      for (int64_t i = 0; i < c; ++i) out[i] = static_cast<T>(out[i] + sum[i]);
    }
    return;
  }
  parallel_for(
      c, std::max<int64_t>(1, p.grain / std::max<int64_t>(p.outer, 1)),
      [&](int64_t b, int64_t e) {
        for (int64_t k = b; k < e; ++k) {
          T total = T(0);
          for (int64_t o = 0; o < p.outer; ++o) {
            total = static_cast<T>(total + sum_run(g + (o * c + k) * p.inner, p.inner));
          }
          out[k] = total;
        }
      });
}

template <class T>
void add_type(KernelRegistry& registry, const char* suffix, DTypeMask dtypes) {
  registry.add(make_kernel<prepare_bias, launch_bias<T>>(
      "BiasAdd", std::string("cpu.BiasAdd.") + suffix, dtypes));
  registry.add(make_kernel<prepare_bias_grad, launch_bias_grad<T>>(
      "BiasAddGrad", std::string("cpu.BiasAddGrad.") + suffix, dtypes));
}

}  // namespace

void register_nn_bias_kernels(KernelRegistry& registry) {
  add_type<float>(registry, "f32", mask(DType::kFloat32));
  add_type<double>(registry, "f64", mask(DType::kFloat64));
  add_type<uint8_t>(registry, "i8", mask(DType::kInt8, DType::kUInt8));
  add_type<uint16_t>(registry, "i16", mask(DType::kInt16, DType::kUInt16));
  add_type<uint32_t>(registry, "i32", mask(DType::kInt32, DType::kUInt32));
  add_type<uint64_t>(registry, "i64", mask(DType::kInt64, DType::kUInt64));
  add_type<std::complex<float>>(registry, "c64", mask(DType::kComplex64));
  add_type<std::complex<double>>(registry, "c128", mask(DType::kComplex128));
  registry.add(
      make_half_kernel<prepare_bias, launch_bias<float>>("BiasAdd", "cpu.BiasAdd.half"));
  registry.add(make_half_kernel<prepare_bias_grad, launch_bias_grad<float>>(
      "BiasAddGrad", "cpu.BiasAddGrad.half"));
}

}  // namespace tandem::cpu
