#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/cpu/nn_pool_loops.h"

namespace tandem::cpu::TANDEM_ISA {

namespace {

constexpr int64_t kArgmaxBlock = 64;

// Taps [from, to) of output o that lie inside the input.
struct Taps {
  int64_t from, to, start;
};
Taps taps_of(const nn::WindowDim& d, int64_t o) {
  const int64_t start = o * d.stride - d.before;
  return {std::max<int64_t>(0, -start), std::min(d.size, d.in - start), start};
}

// Outputs [from, to) along x whose tap `tap` lies inside the input.
struct Outputs {
  int64_t from, to;
};
Outputs outputs_of(const nn::WindowDim& d, int64_t tap) {
  const int64_t shift = tap - d.before;
  const int64_t from = shift >= 0 ? 0 : (-shift + d.stride - 1) / d.stride;
  const int64_t room = d.in - 1 - shift;
  const int64_t to = room < 0 ? 0 : room / d.stride + 1;
  return {std::min(from, d.out), std::min(to, d.out)};
}

// Taps along x that lie inside the input for some output.
Taps useful_taps(const nn::WindowDim& d) {
  return {std::max<int64_t>(0, d.before - (d.out - 1) * d.stride),
          std::min(d.size, d.in + d.before), -d.before};
}

// Calls combine(input pixel, output pixel, elements) for runs of elements, tap by tap.
template <class T, class Combine>
void combine_row(const PoolGeometry& g, const T* in, T* out, int64_t row,
                 Combine combine) {
  const nn::WindowDim &z = g.d[0], &y = g.d[1], &x = g.d[2];
  const Taps tz = taps_of(z, row / y.out), ty = taps_of(y, row % y.out);
  const Taps tx = useful_taps(x);
  const int64_t c = g.channels;
  for (int64_t iz = tz.start + tz.from; iz < tz.start + tz.to; ++iz) {
    for (int64_t iy = ty.start + ty.from; iy < ty.start + ty.to; ++iy) {
      const T* line = in + (iz * y.in + iy) * x.in * c;
      for (int64_t tap = tx.from; tap < tx.to; ++tap) {
        const Outputs o = outputs_of(x, tap);
        if (o.from >= o.to) continue;
        const T* first = line + (o.from * x.stride + tap - x.before) * c;
        combine(first, out + o.from * c, o.to - o.from, c, x.stride * c);
      }
    }
  }
}

template <class T, class Op>
void combine_run(const T* in, T* out, int64_t pixels, int64_t c, int64_t step, Op op) {
  if (step == c) {
    const int64_t n = pixels * c;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] = op(out[i], in[i]);
  } else if (c == 1) {
#pragma omp simd
    for (int64_t i = 0; i < pixels; ++i) out[i] = op(out[i], in[i * step]);
  } else {
    for (int64_t p = 0; p < pixels; ++p) {
      const T* from = in + p * step;
      T* to = out + p * c;
#pragma omp simd
      for (int64_t i = 0; i < c; ++i) to[i] = op(to[i], from[i]);
    }
  }
}

template <class T>
T lowest() {
  if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::lowest();
}

template <class T>
void max_rows(const PoolGeometry& g, const T* in, T* out, int64_t begin, int64_t end) {
  const int64_t n = g.d[2].out * g.channels;
  for (int64_t row = begin; row < end; ++row) {
    T* to = out + row * n;
    std::fill_n(to, n, lowest<T>());
    combine_row(g, in, to, row,
                [](const T* from, T* o, int64_t pixels, int64_t c, int64_t step) {
                  // A NaN in the window stays.
                  combine_run(from, o, pixels, c, step,
                              [](T a, T b) { return a >= b || a != a ? a : b; });
                });
  }
}

template <class T>
void avg_rows(const PoolGeometry& g, const T* in, T* out, int64_t begin, int64_t end) {
  const int64_t c = g.channels, n = g.d[2].out * c;
  for (int64_t row = begin; row < end; ++row) {
    T* to = out + row * n;
    std::fill_n(to, n, T(0));
    combine_row(g, in, to, row,
                [](const T* from, T* o, int64_t pixels, int64_t channels, int64_t step) {
                  combine_run(from, o, pixels, channels, step,
                              [](T a, T b) { return a + b; });
                });
    const Taps tz = taps_of(g.d[0], row / g.d[1].out),
               ty = taps_of(g.d[1], row % g.d[1].out);
    const int64_t lines = (tz.to - tz.from) * (ty.to - ty.from);
    for (int64_t ox = 0; ox < g.d[2].out; ++ox) {
      const Taps tx = taps_of(g.d[2], ox);
      const T scale = T(1) / static_cast<T>(lines * (tx.to - tx.from));
#pragma omp simd
      for (int64_t i = 0; i < c; ++i) to[ox * c + i] *= scale;
    }
  }
}

// Calls body(input position) for the taps of an output, in row-major order.
template <class Body>
void for_each_tap(const PoolGeometry& g, int64_t at, Body body) {
  const nn::WindowDim &z = g.d[0], &y = g.d[1], &x = g.d[2];
  const Taps tz = taps_of(z, at / (x.out * y.out)), ty = taps_of(y, at / x.out % y.out),
             tx = taps_of(x, at % x.out);
  for (int64_t iz = tz.start + tz.from; iz < tz.start + tz.to; ++iz) {
    for (int64_t iy = ty.start + ty.from; iy < ty.start + ty.to; ++iy) {
      for (int64_t ix = tx.start + tx.from; ix < tx.start + tx.to; ++ix) {
        body((iz * y.in + iy) * x.in + ix);
      }
    }
  }
}

// Values and positions of the first maxima of channels [begin, begin + n) in the window
// of output `at`.
template <class T>
void find_max(const PoolGeometry& g, const T* in, int64_t at, int64_t begin, int64_t n,
              T* best, int32_t* where) {
  bool first = true;
  for_each_tap(g, at, [&](int64_t position) {
    const T* pixel = in + position * g.channels + begin;
    const auto here = static_cast<int32_t>(position);
    if (first) {
      first = false;
      for (int64_t i = 0; i < n; ++i) {
        best[i] = pixel[i];
        where[i] = here;
      }
      return;
    }
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const bool better = pixel[i] > best[i];
      where[i] = better ? here : where[i];
      best[i] = better ? pixel[i] : best[i];
    }
  });
}

template <class T>
void clear_channels(const PoolGeometry& g, T* image, int64_t begin, int64_t end) {
  for (int64_t p = 0; p < g.in_positions(); ++p) {
    std::fill(image + p * g.channels + begin, image + p * g.channels + end, T(0));
  }
}

template <class T>
void max_grad(const PoolGeometry& g, const T* in, const T* dout, T* din, int64_t begin,
              int64_t end) {
  clear_channels(g, din, begin, end);
  T best[kArgmaxBlock];
  int32_t where[kArgmaxBlock];
  for (int64_t at = 0; at < g.out_positions(); ++at) {
    for (int64_t c = begin; c < end; c += kArgmaxBlock) {
      const int64_t n = std::min(kArgmaxBlock, end - c);
      find_max(g, in, at, c, n, best, where);
      const T* from = dout + at * g.channels + c;
      for (int64_t i = 0; i < n; ++i) {
        T& to = din[where[i] * g.channels + c + i];
        to = static_cast<T>(to + from[i]);
      }
    }
  }
}

// visit(element of the output, element of the input that is its maximum, the maximum)
template <class T, class Visit>
void visit_max(const PoolGeometry& g, const T* in, int64_t begin, int64_t end,
               Visit visit) {
  T best[kArgmaxBlock];
  int32_t where[kArgmaxBlock];
  for (int64_t at = begin * g.d[2].out; at < end * g.d[2].out; ++at) {
    for (int64_t c = 0; c < g.channels; c += kArgmaxBlock) {
      const int64_t n = std::min(kArgmaxBlock, g.channels - c);
      find_max(g, in, at, c, n, best, where);
      for (int64_t i = 0; i < n; ++i) {
        visit(at * g.channels + c + i, where[i] * g.channels + c + i, best[i]);
      }
    }
  }
}

template <class T>
void max_pick(const PoolGeometry& g, const T* in, const T* from, T* out, int64_t begin,
              int64_t end) {
  visit_max(g, in, begin, end, [&](int64_t to, int64_t at, T) { out[to] = from[at]; });
}

template <class T>
void max_index(const PoolGeometry& g, const T* in, T* out, int64_t* index, int64_t begin,
               int64_t end) {
  visit_max(g, in, begin, end, [&](int64_t to, int64_t at, T max) {
    out[to] = max;
    index[to] = at;
  });
}

template <class T>
void avg_grad(const PoolGeometry& g, const T* dout, T* din, int64_t begin, int64_t end) {
  clear_channels(g, din, begin, end);
  const int64_t n = end - begin;
  for (int64_t at = 0; at < g.out_positions(); ++at) {
    int64_t taps = 0;
    for_each_tap(g, at, [&](int64_t) { ++taps; });
    const T scale = T(1) / static_cast<T>(taps);
    const T* from = dout + at * g.channels + begin;
    for_each_tap(g, at, [&](int64_t position) {
      T* to = din + position * g.channels + begin;
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) to[i] += from[i] * scale;
    });
  }
}

template <class T>
constexpr PoolLoops<T> make_pool_loops() {
  if constexpr (std::is_floating_point_v<T>) {
    return {max_rows<T>,  max_grad<T>, max_pick<T>,
            max_index<T>, avg_rows<T>, avg_grad<T>};
  } else {
    return {max_rows<T>, max_grad<T>, max_pick<T>, max_index<T>, nullptr, nullptr};
  }
}

constexpr AllPoolLoops kAllPoolLoops = {
    make_pool_loops<float>(),   make_pool_loops<double>(),  make_pool_loops<int8_t>(),
    make_pool_loops<int16_t>(), make_pool_loops<int32_t>(), make_pool_loops<int64_t>(),
    make_pool_loops<uint8_t>(), make_pool_loops<uint16_t>()};

}  // namespace

const AllPoolLoops& pool_loops() { return kAllPoolLoops; }

}  // namespace tandem::cpu::TANDEM_ISA
