// Random kernels (float16, bfloat16, float32, float64, 32- and 64-bit integers). Work is
// cut at Philox blocks, so the numbers do not depend on the thread count.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/parallel.h"
#include "kernels/common/random_outputs.h"
#include "kernels/cpu/random_blocks.h"
#include "kernels/cpu/random_common.h"
#include "kernels/register.h"
#include "op/kernel.h"
#include "tandem/error.h"

namespace tandem::cpu {

#if TANDEM_HAVE_V3
namespace v3 {
extern const RandomBlocks kRandomBlocks;
}
#endif
#if TANDEM_HAVE_V4
namespace v4 {
extern const RandomBlocks kRandomBlocks;
}
#endif
#if TANDEM_HAVE_GENERIC
namespace generic {
extern const RandomBlocks kRandomBlocks;
}
#endif

const RandomBlocks& random_blocks() {
#if TANDEM_HAVE_V4
  if (__builtin_cpu_supports("x86-64-v4")) return v4::kRandomBlocks;
#endif
#if TANDEM_HAVE_V3
  return v3::kRandomBlocks;
#else
  return generic::kRandomBlocks;
#endif
}

namespace {

constexpr int64_t kRandomChunk = 1024;  // numbers made at a time, on the stack
constexpr int64_t kRandomGrain = 8192;  // numbers worth about 20 µs

struct RandomFillPlan {
  int64_t n;
  DType dtype;
};
RandomFillPlan prepare_random_fill(const Signature& s) {
  return {s.out().shape.num_elements(), s.out().dtype};
}

// Calls make(words, n, out) for chunks; `per_block` numbers come from one block of four
// words.
template <class T, class Make>
void fill_chunks(const Philox& base, int64_t n, int per_block, T* out, Make&& make) {
  const int64_t chunks = (n + kRandomChunk - 1) / kRandomChunk;
  parallel_for(chunks, std::max<int64_t>(1, kRandomGrain / kRandomChunk),
               [&](int64_t b, int64_t e) {
                 uint32_t words[kRandomChunk * 2];
                 T whole[kRandomChunk];
                 for (int64_t c = b; c < e; ++c) {
                   const int64_t count = std::min(kRandomChunk, n - c * kRandomChunk);
                   const int64_t blocks = (count + per_block - 1) / per_block;
                   random_blocks().words(
                       base, static_cast<uint64_t>(c * kRandomChunk / per_block), blocks,
                       words);
                   if (count == kRandomChunk) {
                     make(words, kRandomChunk, out + c * kRandomChunk);
                   } else {
                     make(words, blocks * per_block, whole);
                     std::copy(whole, whole + count, out + c * kRandomChunk);
                   }
                 }
               });
}

template <class H>
void from_floats(const float* x, int64_t n, H* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = H(x[i]);
}

void launch_uniform(const RandomFillPlan& p, const LaunchArgs& a) {
  const Philox g = generator(a);
  switch (p.dtype) {
    case DType::kFloat32:
      return fill_chunks(g, p.n, 4, a.out<float>(), random_blocks().uniform_float);
    case DType::kFloat64:
      return fill_chunks(g, p.n, 2, a.out<double>(), random_blocks().uniform_double);
    case DType::kFloat16:
      return fill_chunks(g, p.n, 4, a.out<float16>(),
                         [](const uint32_t* w, int64_t n, float16* out) {
                           for (int64_t i = 0; i < n; ++i) {
                             float16 h;
                             h.bits = static_cast<uint16_t>((w[i] & 0x3ffu) | 15u << 10);
                             out[i] = float16(static_cast<float>(h) - 1.0f);
                           }
                         });
    default:
      return fill_chunks(g, p.n, 4, a.out<bfloat16>(),
                         [](const uint32_t* w, int64_t n, bfloat16* out) {
                           for (int64_t i = 0; i < n; ++i) {
                             bfloat16 h;
                             h.bits = static_cast<uint16_t>((w[i] & 0x7fu) | 127u << 7);
                             out[i] = bfloat16(static_cast<float>(h) - 1.0f);
                           }
                         });
  }
}

void launch_normal(const RandomFillPlan& p, const LaunchArgs& a) {
  const Philox g = generator(a);
  const auto half = [](auto* out) {
    return [](const uint32_t* w, int64_t n, decltype(out) to) {
      float x[kRandomChunk];
      random_blocks().normal_float(w, n, x);
      from_floats(x, n, to);
    };
  };
  switch (p.dtype) {
    case DType::kFloat32:
      return fill_chunks(g, p.n, 4, a.out<float>(), random_blocks().normal_float);
    case DType::kFloat64:
      return fill_chunks(g, p.n, 2, a.out<double>(), random_blocks().normal_double);
    case DType::kFloat16:
      return fill_chunks(g, p.n, 4, a.out<float16>(), half(a.out<float16>()));
    default:
      return fill_chunks(g, p.n, 4, a.out<bfloat16>(), half(a.out<bfloat16>()));
  }
}

template <class T>
void box_muller(PhiloxWords& next, T* pair) {
  T u, v;
  if constexpr (std::is_same_v<T, double>) {
    const uint32_t x0 = next(), x1 = next(), x2 = next(), x3 = next();
    u = unit(x0, x1);
    v = unit(x2, x3);
  } else {
    const uint32_t x0 = next(), x1 = next();
    u = unit(x0);
    v = unit(x1);
  }
  const T radius = std::sqrt(T(-2) * std::log(std::max(u, T(1.0e-7))));
  const T angle = T(2 * 3.14159265358979323846) * v;
  pair[0] = std::sin(angle) * radius;
  pair[1] = std::cos(angle) * radius;
}

template <class T, class Out>
void truncated(const Philox& base, int64_t n, Out* out) {
  constexpr int64_t kGroup = std::is_same_v<T, double> ? 2 : 4;
  const int64_t groups = (n + kGroup - 1) / kGroup;
  parallel_for(groups, 256, [&](int64_t b, int64_t e) {
    for (int64_t g = b; g < e; ++g) {
      Philox local = base;
      local.skip(static_cast<uint64_t>(g) * kGroup * kReservedPerOutput / 4);
      PhiloxWords next(local);
      T values[kGroup];
      for (int64_t have = 0; have < kGroup;) {
        T pair[2];
        box_muller(next, pair);
        for (const T x : pair) {
          if (have < kGroup && std::abs(x) < T(2)) values[have++] = x;
        }
      }
      for (int64_t i = 0; i < kGroup && g * kGroup + i < n; ++i) {
        out[g * kGroup + i] = Out(values[i]);
      }
    }
  });
}

void launch_truncated(const RandomFillPlan& p, const LaunchArgs& a) {
  const Philox g = generator(a);
  switch (p.dtype) {
    case DType::kFloat32:
      return truncated<float>(g, p.n, a.out<float>());
    case DType::kFloat64:
      return truncated<double>(g, p.n, a.out<double>());
    case DType::kFloat16:
      return truncated<float>(g, p.n, a.out<float16>());
    default:
      return truncated<float>(g, p.n, a.out<bfloat16>());
  }
}

void launch_full_int(const RandomFillPlan& p, const LaunchArgs& a) {
  const Philox g = generator(a);
  if (dtype_size(p.dtype) == 4) {
    fill_chunks(
        g, p.n, 4, a.out<uint32_t>(),
        [](const uint32_t* w, int64_t n, uint32_t* out) { std::copy(w, w + n, out); });
  } else {
    fill_chunks(g, p.n, 2, a.out<uint64_t>(),
                [](const uint32_t* w, int64_t n, uint64_t* out) {
                  for (int64_t i = 0; i < n; ++i) {
                    out[i] = w[2 * i] | static_cast<uint64_t>(w[2 * i + 1]) << 32;
                  }
                });
  }
}

template <class U, class S>
void uniform_int(const Philox& g, int64_t n, const S* low, const S* high, S* out) {
  if (!(*low < *high)) {
    throw InvalidArgumentError(empty_range_text(*low, *high));
  }
  const U base = static_cast<U>(*low), range = static_cast<U>(*high) - base;
  constexpr int kPerBlock = sizeof(U) == 4 ? 4 : 2;
  fill_chunks(g, n, kPerBlock, out, [&](const uint32_t* w, int64_t count, S* to) {
    for (int64_t i = 0; i < count; ++i) {
      U bits;
      if constexpr (sizeof(U) == 4) {
        bits = w[i];
      } else {
        bits = w[2 * i] | static_cast<U>(w[2 * i + 1]) << 32;
      }
      to[i] = static_cast<S>(base + bits % range);
    }
  });
}

void launch_uniform_int(const RandomFillPlan& p, const LaunchArgs& a) {
  const Philox g = generator(a);
  switch (p.dtype) {
    case DType::kInt32:
      return uniform_int<uint32_t>(g, p.n, a.in<int32_t>(3), a.in<int32_t>(4),
                                   a.out<int32_t>());
    case DType::kInt64:
      return uniform_int<uint64_t>(g, p.n, a.in<int64_t>(3), a.in<int64_t>(4),
                                   a.out<int64_t>());
    case DType::kUInt32:
      return uniform_int<uint32_t>(g, p.n, a.in<uint32_t>(3), a.in<uint32_t>(4),
                                   a.out<uint32_t>());
    default:
      return uniform_int<uint64_t>(g, p.n, a.in<uint64_t>(3), a.in<uint64_t>(4),
                                   a.out<uint64_t>());
  }
}

}  // namespace

void register_random_kernels(KernelRegistry& r) {
  r.add(make_kernel<prepare_random_fill, launch_uniform>(
      "StatelessRandomUniformV2", "cpu.random.uniform", 0, floating_output));
  r.add(make_kernel<prepare_random_fill, launch_uniform>(
      "RandomUniformLike", "cpu.random.uniform_like", 0, floating_output));
  r.add(make_kernel<prepare_random_fill, launch_normal>(
      "StatelessRandomNormalV2", "cpu.random.normal", 0, floating_output));
  r.add(make_kernel<prepare_random_fill, launch_truncated>(
      "StatelessTruncatedNormalV2", "cpu.random.truncated_normal", 0, floating_output));
  r.add(make_kernel<prepare_random_fill, launch_full_int>(
      "StatelessRandomUniformFullIntV2", "cpu.random.full_int", 0, wide_integer_output));
  r.add(make_kernel<prepare_random_fill, launch_uniform_int>(
      "StatelessRandomUniformIntV2", "cpu.random.uniform_int"));
  register_random_samplers(r);
}

}  // namespace tandem::cpu
