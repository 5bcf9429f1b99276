// The gradient of batch normalisation where channels come last. After channel_rows.cuh
// and these constants: kMask (relu came after the normalisation: what arrives where its
// result is not positive counts as 0; kByX finds the result again by the arithmetic of
// batch_norm.cuh, kByY reads it), kTwo (the gradient is the sum of two) and kKept (what
// is left of it is written, for others; it always is where there are two).

/// What is not above this is 0 when it is stored as T: half of the smallest number.
template <class S>
struct vanishing {
  static constexpr C value = 0;
};
template <>
struct vanishing<f16> {
  static constexpr C value = 0x1p-25f;
};
template <>
struct vanishing<bf16> {
  static constexpr C value = 0x1p-134f;
};

/// Of one channel: the result of the normalisation, from the distance to the mean.
inline bool stays_positive(C away, C factor, C offset) {
  return away * factor + offset > vanishing<T>::value;
}

constexpr int kFewer = 2;  // rows in flight of several tensors

/// Sums of dy and of dy (x - mean), per part.
extern "C" __global__ void __launch_bounds__(256, kResident)
    gradient_sums(const T* x, const T* dy, const T* more, const T* y, T* kept,
                  const C* mean, const C* variance, const C* scale, const C* offset,
                  C* parts, double epsilon, const Rows s) {
  const Place p = place(s);
  C a[kVector] = {}, b[kVector] = {}, middle[kVector] = {}, factor[kVector] = {},
    to[kVector] = {};
  if (p.on) {
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      const i64 c = p.vector * kVector + j;
      middle[j] = mean[c];
      if (kMask == kByX) {
        factor[j] = scale[c] * inverse_root(variance[c] + (C)epsilon);
        to[j] = offset[c];
      }
    }
  }
  for (i64 row = p.row; p.on && row < s.rows; row += kFewer * p.step) {
    Packed v[kFewer], g[kFewer], h[kFewer], result[kFewer];
#pragma unroll
    for (int k = 0; k < kFewer; ++k) {
      const i64 r = row + k * p.step, at = from_end(s, p, r);
      if (r < s.rows) {
        v[k] = load_packed(x, at, s.aligned);
        g[k] = load_packed(dy, at, s.aligned);
        if (kMask == kByY) result[k] = load_packed(y, at, s.aligned);
        if (kTwo) h[k] = load_packed(more, at, s.aligned);
      }
    }
#pragma unroll
    for (int k = 0; k < kFewer; ++k) {
      const i64 r = row + k * p.step;
      if (r >= s.rows) break;
      Vector made;
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        const C away = element(v[k], j) - middle[j];
        C d = element(g[k], j);
        if (kTwo) d = rounded<T>(d + element(h[k], j));
        if (kMask == kByX && !stays_positive(away, factor[j], to[j])) d = 0;
        if (kMask == kByY && !(element(result[k], j) > C(0))) d = 0;
        if (kKept) made.v[j] = put<T>(d);
        a[j] += d;
        b[j] += d * away;
      }
      if (kKept) store(kept, from_end(s, p, r), made, s.aligned);
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
    for (int i = 0; i < p.height; ++i) {
      sum_a += space_a[i * s.width * kVector + c];
      sum_b += space_b[i * s.width * kVector + c];
    }
    parts[2 * blockIdx.y * channels + channel] = sum_a;
    parts[(2 * blockIdx.y + 1) * channels + channel] = sum_b;
  }
}

/// The gradients by scale and offset, and per channel the three numbers that
/// `normalise_by_x` takes.
extern "C" __global__ void __launch_bounds__(256)
    finish_gradient(const C* parts, const C* variance, const C* scale, C* by_scale,
                    C* by_offset, C* numbers, double epsilon, int training,
                    const Rows s) {
  __shared__ C space[2][8 * kSide];
  const i64 channels = s.vectors * kVector;
  const i64 c = (i64)blockIdx.x * kSide + threadIdx.x % kSide;
  const i64 end = c < channels ? s.parts : 0;
  C a = 0, b = 0;
  for (i64 p = threadIdx.x / kSide; p < end; p += kAhead * kLanes) {
    C own_a[kAhead], own_b[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const i64 part = p + k * kLanes;
      own_a[k] = part < end ? parts[2 * part * channels + c] : C(0);
      own_b[k] = part < end ? parts[(2 * part + 1) * channels + c] : C(0);
    }
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      a += own_a[k];
      b += own_b[k];
    }
  }
  a = over_parts(a, space[0]);
  b = over_parts(b, space[1]);
  if (threadIdx.x >= kSide || c >= channels) return;
  const C r = inverse_root(variance[c] + (C)epsilon), n = s.rows > 0 ? (C)s.rows : C(1);
  by_offset[c] = a;
  by_scale[c] = b * r;
  numbers[c] = scale[c] * r;
  numbers[channels + c] = training ? a / n : C(0);
  numbers[2 * channels + c] = training ? r * (b * r) / n : C(0);
}

/// `dy` is what was kept, where something was: it is masked already.
extern "C" __global__ void __launch_bounds__(256)
    normalise_by_x(const T* dy, const T* y, const T* x, const C* mean, const C* numbers,
                   const C* offset, T* dx, const Rows s) {
  constexpr Mask kLeft = kKept ? kNone : kMask;
  const Place p = place(s);
  if (!p.on) return;
  const i64 channels = s.vectors * kVector;
  C middle[kVector], factor[kVector], still[kVector], slope[kVector], to[kVector];
#pragma unroll
  for (int j = 0; j < kVector; ++j) {
    const i64 c = p.vector * kVector + j;
    middle[j] = mean[c];
    factor[j] = numbers[c];  // the one that the normalisation had
    still[j] = numbers[channels + c];
    slope[j] = numbers[2 * channels + c];
    if (kLeft == kByX) to[j] = offset[c];
  }
  for (i64 row = p.row; row < s.rows; row += kFewer * p.step) {
    Packed v[kFewer], g[kFewer], result[kFewer];
#pragma unroll
    for (int k = 0; k < kFewer; ++k) {
      const i64 r = row + k * p.step, at = r * s.vectors + p.vector;
      if (r < s.rows) {
        v[k] = load_packed(x, at, s.aligned);
        g[k] = load_packed(dy, at, s.aligned);
        if (kLeft == kByY) result[k] = load_packed(y, at, s.aligned);
      }
    }
#pragma unroll
    for (int k = 0; k < kFewer; ++k) {
      const i64 r = row + k * p.step;
      if (r >= s.rows) break;
      Vector made;
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        const C away = element(v[k], j) - middle[j];
        C d = element(g[k], j);
        if (kLeft == kByX && !stays_positive(away, factor[j], to[j])) d = 0;
        if (kLeft == kByY && !(element(result[k], j) > C(0))) d = 0;
        made.v[j] = put<T>((d - (still[j] + away * slope[j])) * factor[j]);
      }
      store(dx, r * s.vectors + p.vector, made, s.aligned);
    }
  }
}
