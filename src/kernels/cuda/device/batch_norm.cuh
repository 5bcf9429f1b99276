// Batch normalisation where channels come last. After channel_rows.cuh.

/// Rows that the blocks of a part have seen.
inline C part_rows(const Rows& s, i64 part) {
  const i64 height = 256 / s.width, rest = s.rest - part * height;
  return (C)(s.whole + (rest < 0 ? 0 : rest > height ? height : rest));
}

__shared__ C space_n[256];

/// Means and sums of squared distances from them, per part: of a few rows at a time,
/// which are then merged with those before.
extern "C" __global__ void __launch_bounds__(256, kResident)
    moments(const T* x, C* parts, const Rows s) {
  const Place p = place(s);
  C mean[kVector] = {}, squares[kVector] = {}, count = 0;
  for (i64 row = p.row; p.on && row < s.rows; row += kTogether * p.step) {
    Packed v[kTogether];
    int here = 0;
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const i64 r = row + k * p.step;
      if (r < s.rows) {
        v[k] = load_packed(x, from_end(s, p, r), s.aligned);
        here = k + 1;
      }
    }
    const C share = here == kTogether ? C(1) / kTogether : C(1) / (C)here;
    const C weight = (C)here / (count + (C)here), before = count * weight;
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      C own = 0, off = 0;
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        if (k < here) own += element(v[k], j);
      }
      own *= share;
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        if (k >= here) break;
        const C d = element(v[k], j) - own;
        off += d * d;
      }
      const C d = own - mean[j];
      mean[j] += d * weight;
      squares[j] += off + d * d * before;
    }
    count += (C)here;
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

/// The batch's moments, those that are handed on (blended with the given ones), and the
/// factors that `normalise` takes.
extern "C" __global__ void __launch_bounds__(256)
    finish_moments(const C* parts, C* mean, C* variance, const C* given_mean,
                   const C* given_variance, C* out_mean, C* out_variance, const C* scale,
                   C* factors, double epsilon, double factor, int blend, const Rows s) {
  __shared__ C space[2][8 * kSide];
  const i64 channels = s.vectors * kVector;
  const i64 c = (i64)blockIdx.x * kSide + threadIdx.x % kSide;
  const i64 first = threadIdx.x / kSide, end = c < channels ? s.parts : 0;
  const C n = s.rows > 0 ? (C)s.rows : C(1), f = (C)factor;
  C sum = 0, off = 0;
  for (i64 p = first; p < end; p += kAhead * kLanes) {
    C middle[kAhead], squares[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const i64 part = p + k * kLanes;
      middle[k] = part < end ? parts[2 * part * channels + c] : C(0);
      squares[k] = part < end ? parts[(2 * part + 1) * channels + c] : C(0);
    }
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      sum += part_rows(s, p + k * kLanes) * middle[k];
      off += squares[k];
    }
  }
  const C all = over_parts(sum, space[0]) / n;
  for (i64 p = first; p < end; p += kAhead * kLanes) {
    C middle[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const i64 part = p + k * kLanes;
      middle[k] = part < end ? parts[2 * part * channels + c] : all;
    }
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const C d = middle[k] - all;
      off += part_rows(s, p + k * kLanes) * d * d;
    }
  }
  const C v = over_parts(off, space[1]) / n;
  if (threadIdx.x >= kSide || c >= channels) return;
  const C unbias = s.rows > 1 ? (C)s.rows / (C)(s.rows - 1) : C(1);
  mean[c] = all;
  variance[c] = v;
  out_mean[c] = blend ? (C(1) - f) * given_mean[c] + f * all : all;
  out_variance[c] = blend ? (C(1) - f) * given_variance[c] + f * v * unbias : v * unbias;
  factors[c] = scale[c] * inverse_root(v + (C)epsilon);
}

extern "C" __global__ void __launch_bounds__(256)
    given_moments(const C* given_mean, const C* given_variance, C* mean, C* variance,
                  C* out_mean, C* out_variance, const C* scale, C* factors,
                  double epsilon, const Rows s) {
  const i64 c = global_thread();
  if (c >= s.vectors * kVector) return;
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
    Packed v[kTogether], more[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const i64 r = row + k * p.step;
      if (r < s.rows) {
        v[k] = load_packed(x, r * s.vectors + p.vector, s.aligned);
        if (side) more[k] = load_packed(side, r * s.vectors + p.vector, s.aligned);
      }
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const i64 r = row + k * p.step;
      if (r >= s.rows) break;
      Vector result;
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        C value = (element(v[k], j) - middle[j]) * factor[j] + to[j];
        if (side) value += element(more[k], j);
        if (relu && !(value > C(0) || value != value)) value = C(0);
        result.v[j] = put<T>(value);
      }
      store(y, r * s.vectors + p.vector, result, s.aligned);
    }
  }
}
