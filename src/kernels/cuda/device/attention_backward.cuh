// Attention on tensor cores, backward: the probabilities are made again tile by tile from
// the logarithms of their sums. After attention_tiles.cuh. `row_dots` first, then
// `tiles_backward`, whose blocks are of two kinds: those that own keys (the gradients by
// key and value; queries pass by) and those that own queries (the gradient by query; keys
// pass by). Nothing is added up in memory: the same bits every time.

/// The sum of grad * output of every query: eight lanes to a row of out.
extern "C" __global__ void __launch_bounds__(256)
    row_dots(const T* out, const T* grad, float* dots, const Attention s) {
  const i64 rows = s.batch * s.heads * s.queries;
  const int at = threadIdx.x % 8;
  for (i64 r0 = (i64)blockIdx.x * 32; r0 < rows; r0 += (i64)gridDim.x * 32) {
    const i64 r = r0 + threadIdx.x / 8;
    float sum = 0;
    if (r < rows) {
      const T *a = out + r * kValueSize, *b = grad + r * kValueSize;
      if (s.together) {
#pragma unroll
        for (int e = at * kChunk; e < kValueSize; e += 8 * kChunk) {
          const vec<T, kChunk> x = *(const vec<T, kChunk>*)(a + e);
          const vec<T, kChunk> y = *(const vec<T, kChunk>*)(b + e);
#pragma unroll
          for (int i = 0; i < kChunk; ++i) sum += get(x.v[i]) * get(y.v[i]);
        }
      } else {
        for (int e = at; e < kValueSize; e += 8) sum += get(a[e]) * get(b[e]);
      }
    }
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    sum += __shfl_xor_sync(0xffffffffu, sum, 4);
    if (r < rows && at == 0) {
      // Rows of out are in its order, dots by batch, head and query.
      const i64 h = kHeadsFirst ? r / s.queries % s.heads : r % s.heads;
      const i64 t = kHeadsFirst ? r % s.queries : r / s.heads % s.queries;
      const i64 b = r / (s.heads * s.queries);
      dots[(b * s.heads + h) * s.queries + t] = sum;
    }
  }
}

struct Gradients {
  const float *log_sums, *dots;
  const T* grad;
  T *q, *k, *v, *scores;
};

/// A block's own rows and the tiles that pass by, in shared memory: keys and values, or
/// queries and gradients of the output.
struct Space {
  T *own, *own_values, *tiles, *value_tiles;
  float *log_sums, *dots;  // of the queries that pass by
};
inline Space space_of() {
  Space p;
  p.own = (T*)shared_space();
  p.own_values = p.own + kOwn * kRow;
  p.tiles = p.own_values + kOwn * kValueRow;
  p.value_tiles = p.tiles + 2 * kTile * kRow;
  p.log_sums = (float*)(p.value_tiles + 2 * kTile * kValueRow);
  p.dots = p.log_sums + 2 * kTile;
  return p;
}

/// `head` and `first` say which rows are owned.
template <bool kByKey>
inline void backward(const Inputs& x, const Gradients& g, const Attention& s, i64 head,
                     i64 first) {
  const Space space = space_of();
  const bool together = s.together;
  const i64 heads = kByKey ? s.key_heads : s.heads, group = s.heads / s.key_heads;
  const i64 b = head / heads, h = head % heads;
  const i64 count = kByKey ? s.keys : s.queries, others = kByKey ? s.queries : s.keys;
  // Which of the others are seen at all; each head of a group passes by in turn.
  const i64 last = first + kOwn < count ? first + kOwn - 1 : count - 1;
  i64 begin = 0, end = others;
  if (kByKey && kCausal) {
    const i64 query = first - (s.keys - s.queries);
    begin = query < 0 ? 0 : query / kTile * kTile;
  }
  if (!kByKey && !kScores) end = visible(s, last);
  const int tiles = begin < end ? (int)((end - begin + kTile - 1) / kTile) : 0;
  const int passes = tiles * (kByKey ? (int)group : 1);
  const auto query_head = [&](int pass) { return kByKey ? h * group + pass / tiles : h; };
  const auto tile_begin = [&](int pass) { return begin + (i64)(pass % tiles) * kTile; };
  const auto line_of = [&](i64 query_h) { return (b * s.heads + query_h) * s.queries; };

  const i64 kh = kByKey ? h : h / group;
  const Head<const T> k = head_of(x.k, b, kh, s.keys, s.key_heads, kSize);
  const Head<const T> v = head_of(x.v, b, kh, s.keys, s.key_heads, kValueSize);
  const auto queries = [&](i64 qh) {
    return head_of(x.q, b, qh, s.queries, s.heads, kSize);
  };
  const auto grads = [&](i64 qh) {
    return head_of(g.grad, b, qh, s.queries, s.heads, kValueSize);
  };
  const auto load = [&](int pass) {
    const int stage = pass % 2;
    const i64 qh = query_head(pass), at = tile_begin(pass);
    load_tile<kTile, kSize, kWide>(space.tiles + stage * kTile * kRow,
                                   kByKey ? queries(qh) : k, at, others, together);
    load_tile<kTile, kValueSize, kValueWide>(
        space.value_tiles + stage * kTile * kValueRow, kByKey ? grads(qh) : v, at, others,
        together);
    if (kByKey) {
      for (int i = threadIdx.x; i < kTile; i += 32 * kWarps) {
        const bool there = at + i < s.queries;
        const i64 line = line_of(qh) + at + i;
        // Infinity makes the probability zero.
        space.log_sums[stage * kTile + i] = there ? g.log_sums[line] * kLog2E : kInf;
        space.dots[stage * kTile + i] = there ? g.dots[line] : 0.0f;
      }
    }
  };
  load_tile<kOwn, kSize, kWide>(space.own, kByKey ? k : queries(h), first, count,
                                together);
  load_tile<kOwn, kValueSize, kValueWide>(space.own_values, kByKey ? v : grads(h), first,
                                          count, together);
  if (passes > 0) load(0);
  end_group();

  const i64 warp_first = first + warp() * 16;
  float own_log_sum[2] = {kInf, kInf}, own_dot[2] = {0, 0};
  if (!kByKey) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const i64 r = warp_first + lane_row() + 8 * half;
      if (r >= s.queries) continue;
      own_log_sum[half] = g.log_sums[line_of(h) + r] * kLog2E;
      own_dot[half] = g.dots[line_of(h) + r];
    }
  }
  const float factor = (float)(s.scale * 1.4426950408889634);
  float sums[kWide / 8][4] = {}, value_sums[kByKey ? kValueWide / 8 : 1][4] = {};
  for (int pass = 0; pass < passes; ++pass) {
    if (pass + 1 < passes) load(pass + 1);
    end_group();
    wait_groups<1>();
    __syncthreads();
    const int stage = pass % 2;
    const i64 qh = query_head(pass), at = tile_begin(pass);
    // Queries see more keys the later they are: the corners say whether any pair of this
    // tile is hidden, and whether all are.
    const i64 early = kByKey ? at : warp_first, late = early + (kByKey ? kTile : 16) - 1;
    const i64 low = kByKey ? warp_first : at, high = low + (kByKey ? 16 : kTile) - 1;
    if (kScores || low < visible(s, late)) {
      float p[kTile / 8][4] = {}, d[kTile / 8][4] = {};
      const T* const tile = space.tiles + stage * kTile * kRow;
      const T* const value_tile = space.value_tiles + stage * kTile * kValueRow;
      multiply_rows<kWide>(p, space.own, tile);
      multiply_rows<kValueWide>(d, space.own_values, value_tile);
#pragma unroll
      for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) p[n][e] *= factor;
      }
      if constexpr (kMask || kBias) {
        add_extras<kByKey>(p, x, s, b, qh, warp_first, at);
      }
      if (high >= visible(s, early)) {
        int bound[2];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const i64 row = warp_first + lane_row() + 8 * half;
          bound[half] =
              place_of(kByKey ? row - (s.keys - s.queries) - at : visible(s, row) - at);
        }
        // Of keys, what is hidden comes first; without an order nothing is.
        if (!kByKey || kCausal) hide<kByKey>(p, bound);
      }
#pragma unroll
      for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int half = e / 2, column = n * 8 + lane_column() + e % 2;
          const float log_sum =
              kByKey ? space.log_sums[stage * kTile + column] : own_log_sum[half];
          const float dot = kByKey ? space.dots[stage * kTile + column] : own_dot[half];
          p[n][e] = power_of_two(p[n][e] - log_sum);
          d[n][e] = p[n][e] * (d[n][e] - dot);
          if (kScores && !kByKey) {
            const i64 t = warp_first + lane_row() + 8 * half, j = at + column;
            if (t < s.queries && j < s.keys) {
              g.scores[(line_of(qh) + t) * s.keys + j] = put<T>(d[n][e]);
            }
          }
        }
      }
      if constexpr (kByKey) multiply_columns<kValueWide>(value_sums, p, value_tile);
      multiply_columns<kWide>(sums, d, tile);
    }
    __syncthreads();
  }
  wait_groups<0>();
  const float scale[2] = {(float)s.scale, (float)s.scale}, one[2] = {1, 1};
  put_rows<kSize, kWide>(head_of(kByKey ? g.k : g.q, b, h, count, heads, kSize),
                         warp_first, count, sums, scale, together);
  if constexpr (kByKey) {
    put_rows<kValueSize, kValueWide>(head_of(g.v, b, h, count, heads, kValueSize),
                                     warp_first, count, value_sums, one, together);
  }
}

/// Long ones first: keys are seen by more queries the earlier they are, queries see more
/// keys the later they are.
extern "C" __global__ void __launch_bounds__(32 * kWarps)
    tiles_backward(const Inputs x, const Gradients g, const Attention s) {
  const i64 key_tiles = (s.keys + kOwn - 1) / kOwn, key_all = s.batch * s.key_heads;
  i64 job = blockIdx.x;
  if (job < key_tiles * key_all) {
    backward<true>(x, g, s, job % key_all, job / key_all * kOwn);
    return;
  }
  job -= key_tiles * key_all;
  const i64 tiles = (s.queries + kOwn - 1) / kOwn, all = s.batch * s.heads;
  backward<false>(x, g, s, job % all, (tiles - 1 - job / all) * kOwn);
}
