// Attention with its gradient, a warp per query (or key), without the matrix of scores in
// memory: scores of 32 keys at a time, softmax as it goes along. Before this text: T
// (storage), and as constants kSize, kValueSize, kHeadsFirst. A row with nothing allowed
// gives zeros, and infinity as the logarithm of its sum.
typedef typename compute_of<T>::type C;

struct Attention {
  i64 batch, queries, keys, heads, key_heads;
  i64 mask_steps[4], bias_steps[4];  // along batch, head, query, key
  double scale;
  int causal, together;
};
constexpr int kOwnSizes = (kSize + 31) / 32, kOwnValues = (kValueSize + 31) / 32;

inline int lane() { return threadIdx.x % 32; }
inline C warp_sum(C x) {
  for (int by = 16; by > 0; by /= 2) x += __shfl_xor_sync(0xffffffffu, x, by);
  return x;
}
inline C warp_max(C x) {
  for (int by = 16; by > 0; by /= 2) {
    const C other = __shfl_xor_sync(0xffffffffu, x, by);
    x = (other > x || other != other) ? other : x;
  }
  return x;
}
inline i64 row_at(i64 b, i64 t, i64 h, i64 times, i64 heads) {
  return kHeadsFirst ? (b * heads + h) * times + t : (b * times + t) * heads + h;
}
template <int n>
inline C dot(const T* a, const T* b) {
  C sum = 0;
#pragma unroll 8
  for (int i = 0; i < n; ++i) sum += get(a[i]) * get(b[i]);
  return sum;
}

struct Inputs {
  const T *q, *k, *v;
  const bool* mask;
  const T* bias;
};
inline i64 step_to(const i64 (&steps)[4], i64 b, i64 h, i64 t, i64 j) {
  return b * steps[0] + h * steps[1] + t * steps[2] + j * steps[3];
}
/// Keys that query t may look at.
inline i64 visible(const Attention& s, i64 t) {
  if (!s.causal) return s.keys;
  const i64 n = t + s.keys - s.queries + 1;
  return n < 0 ? 0 : n < s.keys ? n : s.keys;
}
/// -infinity where it is hidden.
inline C score(const Inputs& x, const Attention& s, i64 b, i64 h, i64 t, i64 j) {
  if (j >= visible(s, t)) return -(C)kInfinity;
  if (x.mask && !x.mask[step_to(s.mask_steps, b, h, t, j)]) return -(C)kInfinity;
  const i64 kh = h / (s.heads / s.key_heads);
  C sum = dot<kSize>(x.q + row_at(b, t, h, s.queries, s.heads) * kSize,
                     x.k + row_at(b, j, kh, s.keys, s.key_heads) * kSize) *
          (C)s.scale;
  if (x.bias) sum += get(x.bias[step_to(s.bias_steps, b, h, t, j)]);
  return sum;
}

extern "C" __global__ void __launch_bounds__(128)
    attention(const Inputs x, T* out, C* log_sums, const Attention s) {
  const i64 rows = s.batch * s.heads * s.queries, warps = (i64)gridDim.x * 4;
  for (i64 r = (i64)blockIdx.x * 4 + threadIdx.x / 32; r < rows; r += warps) {
    const i64 t = r % s.queries, h = r / s.queries % s.heads, b = r / s.queries / s.heads;
    const i64 kh = h / (s.heads / s.key_heads), end = visible(s, t);
    C top = -(C)kInfinity, sum = 0, value[kOwnValues] = {};
    for (i64 j0 = 0; j0 < end; j0 += 32) {
      const C own = j0 + lane() < end ? score(x, s, b, h, t, j0 + lane()) : -(C)kInfinity;
      const C higher = warp_max(own > top ? own : top);
      if (higher == -(C)kInfinity) continue;
      const C p = own == -(C)kInfinity ? C(0) : f_exp(own - higher);
      const C fade = top == -(C)kInfinity ? C(0) : f_exp(top - higher);
      sum = sum * fade + warp_sum(p);
      top = higher;
#pragma unroll
      for (int d = 0; d < kOwnValues; ++d) value[d] *= fade;
      const int count = end - j0 < 32 ? (int)(end - j0) : 32;
      for (int j = 0; j < count; ++j) {
        const C weight = __shfl_sync(0xffffffffu, p, j);
        const T* v = x.v + row_at(b, j0 + j, kh, s.keys, s.key_heads) * kValueSize;
#pragma unroll
        for (int d = 0; d < kOwnValues; ++d) {
          const int at = d * 32 + lane();
          if (at < kValueSize) value[d] += weight * get(v[at]);
        }
      }
    }
    T* to = out + row_at(b, t, h, s.queries, s.heads) * kValueSize;
    for (int d = 0; d < kOwnValues; ++d) {
      const int at = d * 32 + lane();
      if (at < kValueSize) to[at] = put<T>(sum > 0 ? value[d] / sum : C(0));
    }
    if (lane() == 0) log_sums[r] = sum > 0 ? top + f_log(sum) : (C)kInfinity;
  }
}

/// The gradient by the queries, and by the scores where somebody wants it; keeps the sum
/// of grad * output of every row.
extern "C" __global__ void __launch_bounds__(128)
    by_query(const Inputs x, const T* out, const C* log_sums, const T* grad, T* dq,
             T* dscores, C* sums, const Attention s) {
  const i64 rows = s.batch * s.heads * s.queries, warps = (i64)gridDim.x * 4;
  for (i64 r = (i64)blockIdx.x * 4 + threadIdx.x / 32; r < rows; r += warps) {
    const i64 t = r % s.queries, h = r / s.queries % s.heads, b = r / s.queries / s.heads;
    const i64 kh = h / (s.heads / s.key_heads);
    const i64 row = row_at(b, t, h, s.queries, s.heads);
    const T* g = grad + row * kValueSize;
    C sum = 0;
    for (int d = lane(); d < kValueSize; d += 32) {
      sum += get(g[d]) * get(out[row * kValueSize + d]);
    }
    sum = warp_sum(sum);
    if (lane() == 0) sums[r] = sum;
    const i64 end = dscores ? s.keys : visible(s, t);
    C by[kOwnSizes] = {};
    for (i64 j0 = 0; j0 < end; j0 += 32) {
      const i64 own = j0 + lane();
      C ds = 0;
      if (own < end) {
        const C at = score(x, s, b, h, t, own);
        if (at != -(C)kInfinity) {
          const C dp = dot<kValueSize>(
              g, x.v + row_at(b, own, kh, s.keys, s.key_heads) * kValueSize);
          ds = f_exp(at - log_sums[r]) * (dp - sum);
        }
        if (dscores) dscores[r * s.keys + own] = put<T>(ds);
      }
      const int count = end - j0 < 32 ? (int)(end - j0) : 32;
      for (int j = 0; j < count; ++j) {
        const C weight = __shfl_sync(0xffffffffu, ds, j) * (C)s.scale;
        const T* k = x.k + row_at(b, j0 + j, kh, s.keys, s.key_heads) * kSize;
#pragma unroll
        for (int i = 0; i < kOwnSizes; ++i) {
          const int at = i * 32 + lane();
          if (at < kSize) by[i] += weight * get(k[at]);
        }
      }
    }
    for (int i = 0; i < kOwnSizes; ++i) {
      const int at = i * 32 + lane();
      if (at < kSize) dq[row * kSize + at] = put<T>(by[i]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(128)
    by_key(const Inputs x, const C* log_sums, const T* grad, const C* sums, T* dk, T* dv,
           const Attention s) {
  const i64 rows = s.batch * s.key_heads * s.keys, warps = (i64)gridDim.x * 4;
  const i64 group = s.heads / s.key_heads;
  for (i64 r = (i64)blockIdx.x * 4 + threadIdx.x / 32; r < rows; r += warps) {
    const i64 j = r % s.keys, kh = r / s.keys % s.key_heads, b = r / s.keys / s.key_heads;
    const i64 row = row_at(b, j, kh, s.keys, s.key_heads);
    C by_k[kOwnSizes] = {}, by_v[kOwnValues] = {};
    for (i64 h = kh * group; h < (kh + 1) * group; ++h) {
      for (i64 t0 = 0; t0 < s.queries; t0 += 32) {
        const i64 own = t0 + lane();
        C p = 0, ds = 0;
        if (own < s.queries) {
          const C at = score(x, s, b, h, own, j);
          if (at != -(C)kInfinity) {
            const i64 line = (b * s.heads + h) * s.queries + own;
            const C dp =
                dot<kValueSize>(grad + row_at(b, own, h, s.queries, s.heads) * kValueSize,
                                x.v + row * kValueSize);
            p = f_exp(at - log_sums[line]);
            ds = p * (dp - sums[line]) * (C)s.scale;
          }
        }
        const int count = s.queries - t0 < 32 ? (int)(s.queries - t0) : 32;
        for (int t = 0; t < count; ++t) {
          const C weight = __shfl_sync(0xffffffffu, p, t);
          const C slope = __shfl_sync(0xffffffffu, ds, t);
          const i64 from = row_at(b, t0 + t, h, s.queries, s.heads);
#pragma unroll
          for (int i = 0; i < kOwnSizes; ++i) {
            const int at = i * 32 + lane();
            if (at < kSize) by_k[i] += slope * get(x.q[from * kSize + at]);
          }
#pragma unroll
          for (int d = 0; d < kOwnValues; ++d) {
            const int at = d * 32 + lane();
            if (at < kValueSize) by_v[d] += weight * get(grad[from * kValueSize + at]);
          }
        }
      }
    }
    for (int i = 0; i < kOwnSizes; ++i) {
      const int at = i * 32 + lane();
      if (at < kSize) dk[row * kSize + at] = put<T>(by_k[i]);
    }
    for (int d = 0; d < kOwnValues; ++d) {
      const int at = d * 32 + lane();
      if (at < kValueSize) dv[row * kValueSize + at] = put<T>(by_v[d]);
    }
  }
}
