// Attention on tensor cores, forward: a block has kOwn queries of a head, and the keys
// and values pass by. After attention_tiles.cuh. A row with nothing allowed gives zeros,
// and infinity as the logarithm of its sum.
inline float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
inline float quad_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

/// What a lane keeps of rows g and g + 8: powers are relative to `top`.
struct Rows {
  float top[2] = {-kInf, -kInf}, sum[2] = {0, 0};
};

/// Scores become powers of two, the output so far fades where a higher one came.
inline void soften(Rows& rows, float (&scores)[kTile / 8][4],
                   float (&out)[kValueWide / 8][4]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float higher = rows.top[half];
#pragma unroll
    for (int n = 0; n < kTile / 8; ++n) {
      higher = fmaxf(higher, fmaxf(scores[n][2 * half], scores[n][2 * half + 1]));
    }
    higher = quad_max(higher);
    const float base = higher == -kInf ? 0.0f : higher;
    const float fade = power_of_two(rows.top[half] - base);
    float sum = 0;
#pragma unroll
    for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
      for (int e = 2 * half; e < 2 * half + 2; ++e) {
        scores[n][e] = power_of_two(scores[n][e] - base);
        sum += scores[n][e];
      }
    }
    rows.sum[half] = rows.sum[half] * fade + sum;
    rows.top[half] = higher;
#pragma unroll
    for (int n = 0; n < kValueWide / 8; ++n) {
      out[n][2 * half] *= fade;
      out[n][2 * half + 1] *= fade;
    }
  }
}

// Two large blocks to a multiprocessor where what a thread keeps allows it.
constexpr int kBlocks = kWarps == 8 && kHalfs && kWide <= 64 && kValueWide <= 64 ? 2 : 1;

extern "C" __global__ void __launch_bounds__(32 * kWarps, kBlocks)
    tiles_forward(const Inputs x, T* out, float* log_sums, const Attention s) {
  T* const own = (T*)shared_space();
  T* const key_tiles = own + kOwn * kRow;
  T* const value_tiles = key_tiles + 2 * kTile * kRow;
  const i64 tiles = (s.queries + kOwn - 1) / kOwn, all = s.batch * s.heads;
  // Those with the most keys first where their number differs.
  const i64 tile = kCausal ? tiles - 1 - blockIdx.x / all : blockIdx.x % tiles;
  const i64 head = kCausal ? blockIdx.x % all : blockIdx.x / tiles;
  const i64 b = head / s.heads, h = head % s.heads, kh = h / (s.heads / s.key_heads);
  const i64 first = tile * kOwn, warp_first = first + warp() * 16;
  const bool together = s.together;
  const Head<const T> q = head_of(x.q, b, h, s.queries, s.heads, kSize);
  const Head<const T> k = head_of(x.k, b, kh, s.keys, s.key_heads, kSize);
  const Head<const T> v = head_of(x.v, b, kh, s.keys, s.key_heads, kValueSize);
  const i64 last_own = first + kOwn < s.queries ? first + kOwn - 1 : s.queries - 1;
  const int passes = (int)((visible(s, last_own) + kTile - 1) / kTile);
  const auto load = [&](int pass) {
    const int stage = pass % 2;
    load_tile<kTile, kSize, kWide>(key_tiles + stage * kTile * kRow, k, (i64)pass * kTile,
                                   s.keys, together);
    load_tile<kTile, kValueSize, kValueWide>(value_tiles + stage * kTile * kValueRow, v,
                                             (i64)pass * kTile, s.keys, together);
  };
  load_tile<kOwn, kSize, kWide>(own, q, first, s.queries, together);
  end_group();
  if (passes > 0) load(0);
  end_group();
  wait_groups<1>();
  __syncthreads();
  u32 left[kWide / kDepth][4];
#pragma unroll
  for (int i = 0; i < kWide / kDepth; ++i) {
    load_rows(left[i], own, kRow, warp() * 16, i * kDepth);
  }
  const float factor = (float)(s.scale * 1.4426950408889634);
  const i64 least = visible(s, warp_first), most = visible(s, warp_first + 15);
  Rows rows;
  float sums[kValueWide / 8][4] = {};
  for (int pass = 0; pass < passes; ++pass) {
    if (pass + 1 < passes) load(pass + 1);
    end_group();
    wait_groups<1>();
    __syncthreads();
    const i64 begin = (i64)pass * kTile;
    if (begin < most) {
      float scores[kTile / 8][4] = {};
      const T* const key_tile = key_tiles + pass % 2 * kTile * kRow;
#pragma unroll
      for (int i = 0; i < kWide / kDepth; ++i) {
        add_rows(scores, left[i], key_tile, kRow, i * kDepth);
      }
#pragma unroll
      for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) scores[n][e] *= factor;
      }
      if constexpr (kMask || kBias) {
        add_extras<false>(scores, x, s, b, h, warp_first, begin);
      }
      if (begin + kTile > least) {
        const int bound[2] = {place_of(visible(s, warp_first + lane_row()) - begin),
                              place_of(visible(s, warp_first + lane_row() + 8) - begin)};
        hide<false>(scores, bound);
      }
      soften(rows, scores, sums);
      multiply_columns<kValueWide>(sums, scores,
                                   value_tiles + pass % 2 * kTile * kValueRow);
    }
    __syncthreads();
  }
  wait_groups<0>();
  float inverse[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float sum = quad_sum(rows.sum[half]);
    const i64 r = warp_first + lane_row() + 8 * half;
    inverse[half] = sum == 0 ? 0.0f : 1.0f / sum;
    if (lane() % 4 == 0 && r < s.queries) {
      log_sums[(b * s.heads + h) * s.queries + r] =
          sum == 0 ? kInf : (rows.top[half] + log_of_two(sum)) * kLn2;
    }
  }
  put_rows<kValueSize, kValueWide>(head_of(out, b, h, s.queries, s.heads, kValueSize),
                                   warp_first, s.queries, sums, inverse, together);
}
