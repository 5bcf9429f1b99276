// Tiles of matrix products straight from memory to registers: no stop in shared memory,
// so the longest chain of loads and sums is short, which is what small products need. A
// warp makes 16 rows by 8 * kTiles columns; warps of a block may share the inner
// dimension. Before this text: C (float, or double without tensor cores), kTensorCores,
// kTiles. Sums are always taken in the same order.
inline u32 as_tf32(float x) {
  u32 r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}
inline float multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }
inline double multiply_add(double a, double b, double c) { return __fma_rn(a, b, c); }

/// Lane 4 g + t holds rows g and g + 8 of A, inner places t and t + 4, and those of B
/// with column g; it adds up rows g and g + 8, columns 2 t and 2 t + 1.
inline int lane_row() { return threadIdx.x % 32 / 4; }
inline int lane_place() { return threadIdx.x % 4; }

/// 8 places along the inner dimension.
struct Step {
  C a[4];
  C b[kTiles][2];
};

inline void add_step(C (&sum)[kTiles][4], const Step& x) {
  if constexpr (kTensorCores) {
    const u32 a0 = as_tf32(x.a[0]), a1 = as_tf32(x.a[1]), a2 = as_tf32(x.a[2]),
              a3 = as_tf32(x.a[3]);
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
      asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, "
          "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
          : "+f"(*(float*)&sum[j][0]), "+f"(*(float*)&sum[j][1]),
            "+f"(*(float*)&sum[j][2]), "+f"(*(float*)&sum[j][3])
          : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(as_tf32(x.b[j][0])),
            "r"(as_tf32(x.b[j][1])));
    }
  } else {
    const int g = lane_row(), t = lane_place();
#pragma unroll
    for (int q = 0; q < 8; ++q) {
      // Element q of a row of A is with the lane of its group that holds place q.
      const C low = __shfl_sync(0xffffffffu, x.a[q < 4 ? 0 : 2], g * 4 + q % 4);
      const C high = __shfl_sync(0xffffffffu, x.a[q < 4 ? 1 : 3], g * 4 + q % 4);
#pragma unroll
      for (int j = 0; j < kTiles; ++j) {
        const C own = x.b[j][q < 4 ? 0 : 1];
        const C left = __shfl_sync(0xffffffffu, own, 8 * t + q % 4);
        const C right = __shfl_sync(0xffffffffu, own, 8 * t + 4 + q % 4);
        sum[j][0] = multiply_add(low, left, sum[j][0]);
        sum[j][1] = multiply_add(low, right, sum[j][1]);
        sum[j][2] = multiply_add(high, left, sum[j][2]);
        sum[j][3] = multiply_add(high, right, sum[j][3]);
      }
    }
  }
}

/// Adds up places [first, end) of the inner dimension, 8 at a time, `stride` apart. An
/// Index of 32 bits must hold end + kUnroll * stride too.
/// a(high, place) is the lane's row g or g + 8, b(column, place) a column of the tile;
/// both give 0 outside.
template <int kUnroll, class Index, class A, class B>
inline void add_tile(C (&sum)[kTiles][4], Index first, Index end, Index stride,
                     const A& a, const B& b) {
  const int g = lane_row(), t = lane_place();
  // Loads of kUnroll steps are under way before the first is used.
  for (Index at = first; at < end; at += stride * kUnroll) {
    Step steps[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const Index near = at + u * stride + t, far = near + 4;
      Step& x = steps[u];
      x.a[0] = near < end ? a(0, near) : C(0);
      x.a[1] = near < end ? a(1, near) : C(0);
      x.a[2] = far < end ? a(0, far) : C(0);
      x.a[3] = far < end ? a(1, far) : C(0);
#pragma unroll
      for (int j = 0; j < kTiles; ++j) {
        x.b[j][0] = near < end ? b(j * 8 + g, near) : C(0);
        x.b[j][1] = far < end ? b(j * 8 + g, far) : C(0);
      }
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) add_step(sum, steps[u]);
  }
}

/// Writes a warp's sums where its tile of 16 rows begins.
inline void put_tile(C* to, const C (&sum)[kTiles][4]) {
  const int g = lane_row(), t = lane_place();
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
    C* const at = to + g * 8 * kTiles + j * 8 + 2 * t;
    at[0] = sum[j][0];
    at[1] = sum[j][1];
    at[64 * kTiles] = sum[j][2];
    at[64 * kTiles + 1] = sum[j][3];
  }
}
