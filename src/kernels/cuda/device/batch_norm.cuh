// Batch normalisation with its gradient where channels come last: x is [rows, channels].
// After vectors.cuh. A thread has the same few channels in every row that it
// visits, so what belongs to a channel is computed once. Sums are cut into parts by sizes
// alone; `finish_…` put them together, 8 channels a block. 256 threads but for those,
// which have 1024.
constexpr int kTogether = 4;  // rows in flight per thread

struct Rows {
  i64 rows, vectors;  // channels / kVector
  i64 parts;          // blockIdx.y
  int width;          // vectors of a block; a power of two, 32 at most
  int aligned;        // all tensors: to 16 bytes
};
struct Place {
  i64 vector, row, step;
  int lane, y, height;
  bool on;
};
inline Place place(const Rows& s) {
  Place p;
  p.lane = threadIdx.x % s.width;
  p.y = threadIdx.x / s.width;
  p.height = 256 / s.width;
  p.vector = (i64)blockIdx.x * s.width + p.lane;
  p.row = (i64)blockIdx.y * p.height + p.y;
  p.step = p.height * s.parts;
  p.on = p.vector < s.vectors;
  return p;
}
inline C inverse_root(C x) { return C(1) / f_sqrt(x); }

/// Rows that the blocks of a part have seen.
inline C part_rows(const Rows& s, i64 part) {
  const i64 height = 256 / s.width, round = height * s.parts;
  i64 rest = s.rows % round - part * height;
  rest = rest < 0 ? 0 : rest > height ? height : rest;
  return (C)(s.rows / round * height + rest);
}

__shared__ C space_a[256 * kVector], space_b[256 * kVector], space_n[256];

/// Means and sums of squared distances from them, per part: of a few rows at a time,
/// which are then merged with those before.
extern "C" __global__ void __launch_bounds__(256)
    moments(const T* x, C* parts, const Rows s) {
  const Place p = place(s);
  C mean[kVector] = {}, squares[kVector] = {}, count = 0;
  i64 row = p.row;
  if (p.on) {
    for (; row + (kTogether - 1) * p.step < s.rows; row += kTogether * p.step) {
      Vector v[kTogether];
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        v[k] = load(x, (row + k * p.step) * s.vectors + p.vector, s.aligned);
      }
      const C weight = kTogether / (count + kTogether), before = count * weight;
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        C own = 0, off = 0;
#pragma unroll
        for (int k = 0; k < kTogether; ++k) own += get(v[k].v[j]);
        own *= C(1) / kTogether;
#pragma unroll
        for (int k = 0; k < kTogether; ++k) {
          const C d = get(v[k].v[j]) - own;
          off += d * d;
        }
        const C d = own - mean[j];
        mean[j] += d * weight;
        squares[j] += off + d * d * before;
      }
      count += kTogether;
    }
    for (; row < s.rows; row += p.step) {
      const Vector v = load(x, row * s.vectors + p.vector, s.aligned);
      count += 1;
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        const C value = get(v.v[j]), d = value - mean[j];
        mean[j] += d / count;
        squares[j] += d * (value - mean[j]);
      }
    }
  }
#pragma unroll
  for (int j = 0; j < kVector; ++j) {
    space_a[threadIdx.x * kVector + j] = mean[j];
    space_b[threadIdx.x * kVector + j] = squares[j];
  }
  space_n[threadIdx.x] = count;
  __syncthreads();
  const i64 channels = s.vectors * kVector;
  for (int c = threadIdx.x; c < s.width * kVector; c += 256) {
    const i64 channel = (i64)blockIdx.x * s.width * kVector + c;
    if (channel >= channels) break;
    const int lane = c / kVector, j = c % kVector;
    C n = 0, sum = 0, off = 0;
    for (int y = 0; y < p.height; ++y) {
      const int t = y * s.width + lane;
      n += space_n[t];
      sum += space_n[t] * space_a[t * kVector + j];
    }
    const C all = n > 0 ? sum / n : C(0);
    for (int y = 0; y < p.height; ++y) {
      const int t = y * s.width + lane;
      const C d = space_a[t * kVector + j] - all;
      off += space_b[t * kVector + j] + space_n[t] * d * d;
    }
    parts[2 * blockIdx.y * channels + channel] = all;
    parts[(2 * blockIdx.y + 1) * channels + channel] = off;
  }
}

constexpr int kSide = 8, kLanes = 1024 / kSide;  // channels and threads for each

/// Over the threads that share a channel; the same in all of them.
inline C over_parts(C x) {
  __shared__ C space[1024];
  __syncthreads();
  space[threadIdx.x] = x;
  for (int by = kLanes / 2; by > 0; by /= 2) {
    __syncthreads();
    if ((int)threadIdx.x < by * kSide)
      space[threadIdx.x] += space[threadIdx.x + by * kSide];
  }
  __syncthreads();
  return space[threadIdx.x % kSide];
}

/// The batch's moments, those that are handed on (blended with the given ones), and the
/// factors that `normalise` takes.
extern "C" __global__ void __launch_bounds__(1024)
    finish_moments(const C* parts, C* mean, C* variance, const C* given_mean,
                   const C* given_variance, C* out_mean, C* out_variance, const C* scale,
                   C* factors, double epsilon, double factor, int blend, const Rows s) {
  const i64 channels = s.vectors * kVector;
  const i64 c = (i64)blockIdx.x * kSide + threadIdx.x % kSide;
  const i64 first = threadIdx.x / kSide;
  const C n = s.rows > 0 ? (C)s.rows : C(1), f = (C)factor;
  C sum = 0, off = 0;
  for (i64 p = first; p < s.parts && c < channels; p += kLanes) {
    sum += part_rows(s, p) * parts[2 * p * channels + c];
  }
  const C all = over_parts(sum) / n;
  for (i64 p = first; p < s.parts && c < channels; p += kLanes) {
    const C d = parts[2 * p * channels + c] - all;
    off += parts[(2 * p + 1) * channels + c] + part_rows(s, p) * d * d;
  }
  const C v = over_parts(off) / n;
  if (threadIdx.x >= kSide || c >= channels) return;
  const C unbias = s.rows > 1 ? (C)s.rows / (C)(s.rows - 1) : C(1);
  mean[c] = all;
  variance[c] = v;
  out_mean[c] = blend ? (C(1) - f) * given_mean[c] + f * all : all;
  out_variance[c] = blend ? (C(1) - f) * given_variance[c] + f * v * unbias : v * unbias;
  factors[c] = scale[c] * inverse_root(v + (C)epsilon);
}

extern "C" __global__ void __launch_bounds__(1024)
    given_moments(const C* given_mean, const C* given_variance, C* mean, C* variance,
                  C* out_mean, C* out_variance, const C* scale, C* factors,
                  double epsilon, const Rows s) {
  const i64 c = (i64)blockIdx.x * kSide + threadIdx.x;
  if (threadIdx.x >= kSide || c >= s.vectors * kVector) return;
  mean[c] = out_mean[c] = given_mean[c];
  variance[c] = out_variance[c] = given_variance[c];
  factors[c] = scale[c] * inverse_root(given_variance[c] + (C)epsilon);
}

/// Perhaps with a tensor that is added (or none), and relu.
extern "C" __global__ void __launch_bounds__(256)
    normalise(const T* x, const T* side, const C* mean, const C* factors, const C* offset,
              T* y, int relu, const Rows s) {
  const Place p = place(s);
  if (!p.on) return;
  C middle[kVector], factor[kVector], to[kVector];
#pragma unroll
  for (int j = 0; j < kVector; ++j) {
    const i64 c = p.vector * kVector + j;
    middle[j] = mean[c];
    factor[j] = factors[c];
    to[j] = offset[c];
  }
  for (i64 row = p.row; row < s.rows; row += kTogether * p.step) {
    Vector v[kTogether], more[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const i64 r = row + k * p.step;
      if (r < s.rows) {
        v[k] = load(x, r * s.vectors + p.vector, s.aligned);
        if (side) more[k] = load(side, r * s.vectors + p.vector, s.aligned);
      }
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const i64 r = row + k * p.step;
      if (r >= s.rows) break;
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        C value = (get(v[k].v[j]) - middle[j]) * factor[j] + to[j];
        if (side) value += get(more[k].v[j]);
        if (relu && !(value > C(0) || value != value)) value = C(0);
        v[k].v[j] = put<T>(value);
      }
      store(y, r * s.vectors + p.vector, v[k], s.aligned);
    }
  }
}

/// Sums of dy and of dy (x - mean), per part.
extern "C" __global__ void __launch_bounds__(256)
    gradient_sums(const T* x, const T* dy, const C* mean, C* parts, const Rows s) {
  const Place p = place(s);
  C a[kVector] = {}, b[kVector] = {}, middle[kVector] = {};
  if (p.on) {
#pragma unroll
    for (int j = 0; j < kVector; ++j) middle[j] = mean[p.vector * kVector + j];
    for (i64 row = p.row; row < s.rows; row += kTogether * p.step) {
      Vector v[kTogether], g[kTogether];
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        const i64 r = row + k * p.step;
        if (r < s.rows) {
          v[k] = load(x, r * s.vectors + p.vector, s.aligned);
          g[k] = load(dy, r * s.vectors + p.vector, s.aligned);
        }
      }
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        if (row + k * p.step >= s.rows) break;
#pragma unroll
        for (int j = 0; j < kVector; ++j) {
          const C d = get(g[k].v[j]);
          a[j] += d;
          b[j] += d * (get(v[k].v[j]) - middle[j]);
        }
      }
    }
  }
#pragma unroll
  for (int j = 0; j < kVector; ++j) {
    space_a[threadIdx.x * kVector + j] = a[j];
    space_b[threadIdx.x * kVector + j] = b[j];
  }
  __syncthreads();
  const i64 channels = s.vectors * kVector;
  for (int c = threadIdx.x; c < s.width * kVector; c += 256) {
    const i64 channel = (i64)blockIdx.x * s.width * kVector + c;
    if (channel >= channels) break;
    C sum_a = 0, sum_b = 0;
    for (int y = 0; y < p.height; ++y) {
      sum_a += space_a[y * s.width * kVector + c];
      sum_b += space_b[y * s.width * kVector + c];
    }
    parts[2 * blockIdx.y * channels + channel] = sum_a;
    parts[(2 * blockIdx.y + 1) * channels + channel] = sum_b;
  }
}

/// The gradients by scale and offset, and per channel the three numbers that
/// `normalise_by_x` takes.
extern "C" __global__ void __launch_bounds__(1024)
    finish_gradient(const C* parts, const C* variance, const C* scale, C* by_scale,
                    C* by_offset, C* numbers, double epsilon, int training,
                    const Rows s) {
  const i64 channels = s.vectors * kVector;
  const i64 c = (i64)blockIdx.x * kSide + threadIdx.x % kSide;
  C a = 0, b = 0;
  for (i64 p = threadIdx.x / kSide; p < s.parts && c < channels; p += kLanes) {
    a += parts[2 * p * channels + c];
    b += parts[(2 * p + 1) * channels + c];
  }
  a = over_parts(a);
  b = over_parts(b);
  if (threadIdx.x >= kSide || c >= channels) return;
  const C r = inverse_root(variance[c] + (C)epsilon), n = s.rows > 0 ? (C)s.rows : C(1);
  by_offset[c] = a;
  by_scale[c] = b * r;
  numbers[c] = scale[c] * r;
  numbers[channels + c] = training ? a / n : C(0);
  numbers[2 * channels + c] = training ? r * (b * r) / n : C(0);
}

constexpr int kFewer = 2;  // rows in flight of two tensors

extern "C" __global__ void __launch_bounds__(256)
    normalise_by_x(const T* dy, const T* x, const C* mean, const C* numbers, T* dx,
                   const Rows s) {
  const Place p = place(s);
  if (!p.on) return;
  const i64 channels = s.vectors * kVector;
  C middle[kVector], factor[kVector], still[kVector], slope[kVector];
#pragma unroll
  for (int j = 0; j < kVector; ++j) {
    const i64 c = p.vector * kVector + j;
    middle[j] = mean[c];
    factor[j] = numbers[c];
    still[j] = numbers[channels + c];
    slope[j] = numbers[2 * channels + c];
  }
  for (i64 row = p.row; row < s.rows; row += kFewer * p.step) {
    Vector v[kFewer], g[kFewer];
#pragma unroll
    for (int k = 0; k < kFewer; ++k) {
      const i64 r = row + k * p.step;
      if (r < s.rows) {
        v[k] = load(x, r * s.vectors + p.vector, s.aligned);
        g[k] = load(dy, r * s.vectors + p.vector, s.aligned);
      }
    }
#pragma unroll
    for (int k = 0; k < kFewer; ++k) {
      const i64 r = row + k * p.step;
      if (r >= s.rows) break;
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        const C away = still[j] + (get(v[k].v[j]) - middle[j]) * slope[j];
        g[k].v[j] = put<T>((get(g[k].v[j]) - away) * factor[j]);
      }
      store(dx, r * s.vectors + p.vector, g[k], s.aligned);
    }
  }
}
