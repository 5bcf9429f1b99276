// Recurrent layers in one launch (compute capability 9.0 and newer): a cluster of blocks
// takes kRows sequences through all steps. Each block owns kOwn units: their weights stay
// in its registers as operands of the tensor cores, their states in registers of single
// threads. Forward, blocks write new states into each other's shared memory; backward,
// they send each other the parts of the products that their own units contribute. One
// barrier of the cluster per step; blocks of a cluster run at the same time by the
// hardware's promise, and clusters know nothing of each other.
// Before this text: recurrent.cuh, tile.cuh, kBlocks, kOwn (a multiple of 8), kWarps,
// kBatchTiles.
constexpr int up_to(int n, int by) { return (n + by - 1) / by * by; }
constexpr int kThreads = 32 * kWarps;
constexpr int kRows = 8 * kBatchTiles;
constexpr int kPadded = kBlocks * kOwn;  // units, with those that are not there
constexpr int kElements = kRows * kOwn;
constexpr int kEach = (kElements + kThreads - 1) / kThreads;

// ---- The cluster ----------------------------------------------------------------------
inline int cluster_rank() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return (int)rank;
}
/// What any thread of the cluster wrote before it arrived is seen by all that have
/// waited. What goes to global memory is written between the two: who arrives waits until
/// its writes have got there, and those of a step ago have.
inline void cluster_arrive() {
  __syncwarp();
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
inline void cluster_wait() {
  __syncwarp();
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
/// Writes to the same place of another block's shared memory.
inline void store_to(int rank, float* place, float value) {
  const u32 here = (u32)__cvta_generic_to_shared(place);
  u32 there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(there), "f"(value) : "memory");
}

// ---- Products: [16 outputs] x [8 sequences] += weights · values
// -------------------------
/// Two steps of 8 along the inner dimension. A lane's places of both are neighbours in
/// memory: 4 t to 4 t + 3 of 16, the same for weights and values.
struct Weights {
  u32 of[2][4];
};
template <class F>
inline Weights load_weights(int pair, const F& weight) {
  const int g = lane_row(), t = lane_place();
  Weights w;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int place = pair * 16 + 4 * t + i;
    w.of[i / 2][i % 2 * 2] = as_tf32(weight(g, place));
    w.of[i / 2][i % 2 * 2 + 1] = as_tf32(weight(g + 8, place));
  }
  return w;
}
inline void multiply(float (&sum)[4], const u32 (&a)[4], float b0, float b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, "
      "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(__float_as_uint(b0)),
        "r"(__float_as_uint(b1)));
}
/// `values`: rounded to TF32, `stride` apart from sequence to sequence. Two sums, so that
/// one does not wait for the other.
inline void add_pair(float (&sum)[2][kBatchTiles][4], const Weights& w,
                     const float* values, int stride, int pair) {
  const int g = lane_row(), t = lane_place();
#pragma unroll
  for (int j = 0; j < kBatchTiles; ++j) {
    const vec<float, 4> b =
        *(const vec<float, 4>*)(values + (j * 8 + g) * stride + pair * 16 + 4 * t);
    multiply(sum[0][j], w.of[0], b.v[0], b.v[1]);
    multiply(sum[1][j], w.of[1], b.v[2], b.v[3]);
  }
}
/// A stride that keeps the rows of a load in different banks.
constexpr int stride_for(int inner) { return inner % 32 == 16 ? inner : inner + 16; }
inline float as_operand(T x) { return __uint_as_float(as_tf32(get(x))); }

/// An element that a thread looks after: a unit of a sequence.
struct Element {
  int own, row;  // within the block
  int unit;
  i64 b;
  bool there;
};
inline Element element_of(int i, int rank, i64 batch) {
  const int e = threadIdx.x + i * kThreads;
  Element x;
  x.own = e % kOwn;
  x.row = e / kOwn;
  x.unit = rank * kOwn + x.own;
  x.b = (i64)(blockIdx.x / kBlocks) * kRows + x.row;
  x.there = e < kElements && x.b < batch && x.unit < kUnits;
  return x;
}

// These kernels last for all steps: what comes after them would only wait, on
// multiprocessors that others could use.
#define take_turn wait_for_turn

#if defined(FORWARD)
constexpr int kInner = up_to(kPadded, 16), kPairs = kInner / 16;
constexpr int kStride = stride_for(kInner);
constexpr int kColumnTiles = up_to(kGates * kOwn, 16) / 16;
constexpr int kSplit = kWarps / kColumnTiles;  // warps that share the inner dimension
constexpr int kShare = (kPairs + kSplit - 1) / kSplit;
constexpr int kPartStride = kRows + 1;
static_assert(kSplit >= 1, "a warp makes one tile");

extern "C" __global__ void __cluster_dims__(kBlocks, 1, 1) __launch_bounds__(kThreads)
    forward_cluster(const Forward f) {
  __shared__ __align__(16) float states[2][kRows * kStride];
  __shared__ float parts[kSplit][kColumnTiles * 16 * kPartStride];
  const int rank = cluster_rank(), warp = threadIdx.x / 32;
  const int tile = warp % kColumnTiles, split = warp / kColumnTiles;
  Weights weights[kShare];
#pragma unroll
  for (int p = 0; p < kShare; ++p) {
    weights[p] = load_weights(split * kShare + p, [&](int r, int place) {
      const int column = tile * 16 + r, unit = rank * kOwn + column % kOwn;
      if (split >= kSplit || column >= kGates * kOwn || unit >= kUnits || place >= kUnits)
        return 0.0f;
      return (float)get(f.weights[place * kWidth + (i64)(column / kOwn) * kUnits + unit]);
    });
  }
  const i64 first = (i64)(blockIdx.x / kBlocks) * kRows;
  for (int i = threadIdx.x; i < kRows * kStride; i += kThreads) {
    const i64 b = first + i / kStride;
    const int unit = i % kStride;
    const bool there = b < f.order.batch && unit < kUnits && f.h0;
    states[0][i] = there ? as_operand(f.h0[b * kUnits + unit]) : 0.0f;
    states[1][i] = 0.0f;
  }
  State state[kEach] = {};
  Incoming in[kEach] = {};
  Biases bias[kEach] = {};
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const Element x = element_of(i, rank, f.order.batch);
    if (!x.there) continue;
    state[i] = load_state(f, x.b, x.unit);
    bias[i] = load_biases(f, x.unit);
    if (f.order.time > 0) {
      in[i] = load_incoming(f, x.b, x.unit, 0);
    } else {
      store_state(f, x.b, x.unit, state[i]);
    }
  }
  cluster_arrive();
  cluster_wait();
  for (i64 s = 0; s < f.order.time; ++s) {
    const float* const now = states[s % 2];
    float* const next = states[(s + 1) % 2];
    // Asked for a whole step before it is used.
    Incoming ahead[kEach] = {};
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const Element x = element_of(i, rank, f.order.batch);
      if (x.there && s + 1 < f.order.time) {
        ahead[i] = load_incoming(f, x.b, x.unit, s + 1);
      }
    }
    if (split < kSplit) {
      float sum[2][kBatchTiles][4] = {};
#pragma unroll
      for (int p = 0; p < kShare; ++p) {
        const int pair = split * kShare + p;
        if (pair < kPairs) add_pair(sum, weights[p], now, kStride, pair);
      }
#pragma unroll
      for (int j = 0; j < kBatchTiles; ++j) {
#pragma unroll
        for (int v = 0; v < 4; ++v) {
          const int column = tile * 16 + lane_row() + v / 2 * 8;
          parts[split][column * kPartStride + j * 8 + 2 * lane_place() + v % 2] =
              sum[0][j][v] + sum[1][j][v];
        }
      }
    }
    __syncthreads();
    Computed computed[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const Element x = element_of(i, rank, f.order.batch);
      if (!x.there) continue;
      C inner[kGates];
#pragma unroll
      for (int k = 0; k < kGates; ++k) {
        const int at = (k * kOwn + x.own) * kPartStride + x.row;
        inner[k] = parts[0][at];
#pragma unroll
        for (int w = 1; w < kSplit; ++w) inner[k] += parts[w][at];
      }
      computed[i] = forward_unit(in[i], bias[i], inner, state[i]);
      const float value = as_operand(put<T>(state[i].h));
#pragma unroll
      for (int to = 0; to < kBlocks; ++to) {
        store_to(to, next + x.row * kStride + x.unit, value);
      }
    }
    cluster_arrive();
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const Element x = element_of(i, rank, f.order.batch);
      if (x.there) store_step(f, x.b, x.unit, s, in[i].on, computed[i], state[i]);
    }
    cluster_wait();
#pragma unroll
    for (int i = 0; i < kEach; ++i) in[i] = ahead[i];
  }
}
#else
constexpr int kInner = up_to(kGates * kOwn, 16), kPairs = kInner / 16;
constexpr int kStride = stride_for(kInner);
constexpr int kUnitTiles = up_to(kPadded, 16) / 16;
constexpr int kTilesEach = (kUnitTiles + kWarps - 1) / kWarps;

extern "C" __global__ void __cluster_dims__(kBlocks, 1, 1) __launch_bounds__(kThreads)
    backward_cluster(const Backward f) {
  __shared__ __align__(16) float own[kRows * kStride];
  __shared__ float parts[2][kBlocks][kElements];  // by the block that sent them
  const int rank = cluster_rank(), warp = threadIdx.x / 32;
  Weights weights[kTilesEach][kPairs];
#pragma unroll
  for (int n = 0; n < kTilesEach; ++n) {
#pragma unroll
    for (int p = 0; p < kPairs; ++p) {
      weights[n][p] = load_weights(p, [&](int r, int place) {
        const int to = (n * kWarps + warp) * 16 + r, unit = rank * kOwn + place % kOwn;
        if (to >= kUnits || place >= kGates * kOwn || unit >= kUnits) return 0.0f;
        return (float)get(f.weights[to * kWidth + (i64)(place / kOwn) * kUnits + unit]);
      });
    }
  }
  for (int i = threadIdx.x; i < kRows * kStride; i += kThreads) own[i] = 0.0f;
  for (int i = threadIdx.x; i < kBlocks * kElements; i += kThreads) {
    parts[0][i / kElements][i % kElements] = 0.0f;
    parts[1][i / kElements][i % kElements] = 0.0f;
  }
  Running running[kEach] = {};
  Passed passed[kEach] = {};
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const Element x = element_of(i, rank, f.order.batch);
    if (!x.there) continue;
    running[i] = load_running(f, x.b, x.unit);
    if (f.order.time > 0) passed[i] = load_passed(f, x.b, x.unit, f.order.time - 1);
  }
  cluster_arrive();
  cluster_wait();
  int now = 0;
  for (i64 s = f.order.time - 1; s >= 0; --s) {
    Passed ahead[kEach] = {};
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const Element x = element_of(i, rank, f.order.batch);
      if (x.there && s > 0) ahead[i] = load_passed(f, x.b, x.unit, s - 1);
    }
    GateGrads grads[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const Element x = element_of(i, rank, f.order.batch);
      if (!x.there) continue;
#pragma unroll
      for (int from = 0; from < kBlocks; ++from) {
        running[i].dh += parts[now][from][x.row * kOwn + x.own];
      }
      grads[i] = backward_unit(passed[i], running[i]);
#pragma unroll
      for (int k = 0; k < kGates; ++k) {
        own[x.row * kStride + k * kOwn + x.own] = as_operand(grads[i].inner[k]);
      }
    }
    __syncthreads();
#pragma unroll
    for (int n = 0; n < kTilesEach; ++n) {
      const int tile = n * kWarps + warp;
      if (tile >= kUnitTiles) continue;
      float sum[2][kBatchTiles][4] = {};
#pragma unroll
      for (int p = 0; p < kPairs; ++p) add_pair(sum, weights[n][p], own, kStride, p);
#pragma unroll
      for (int j = 0; j < kBatchTiles; ++j) {
#pragma unroll
        for (int v = 0; v < 4; ++v) {
          const int to = tile * 16 + lane_row() + v / 2 * 8;
          const int row = j * 8 + 2 * lane_place() + v % 2;
          if (to >= kPadded) continue;
          store_to(to / kOwn, &parts[1 - now][rank][row * kOwn + to % kOwn],
                   sum[0][j][v] + sum[1][j][v]);
        }
      }
    }
    cluster_arrive();
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const Element x = element_of(i, rank, f.order.batch);
      if (x.there) store_grads(f, x.b, x.unit, s, grads[i]);
    }
    cluster_wait();
#pragma unroll
    for (int i = 0; i < kEach; ++i) passed[i] = ahead[i];
    now = 1 - now;
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const Element x = element_of(i, rank, f.order.batch);
    if (!x.there) continue;
#pragma unroll
    for (int from = 0; from < kBlocks; ++from) {
      running[i].dh += parts[now][from][x.row * kOwn + x.own];
    }
    store_running(f, x.b, x.unit, running[i]);
  }
}
#endif
