// SpaceToBatchND and BatchToSpaceND: E (element), I (index type) and M (spatial
// dimensions) come before this text. A thread computes where its element of the output
// comes from; positions in the padding are zero.
struct Args {
  // in, out, elements, inner, entries of the batch; then sizes of the space, of what is
  // left of it, of blocks, and what is before the space.
  u64 w[5 + 4 * M];
};

extern "C" __global__ void __launch_bounds__(256) space_to_batch(const Args a) {
  const E* in = (const E*)a.w[0];
  E* out = (E*)a.w[1];
  const i64 n = (i64)a.w[2];
  const I inner = (I)a.w[3], entries = (I)a.w[4];
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    I rest = (I)i;
    const I k = rest % inner;
    rest /= inner;
    i64 at[M + 1];
#pragma unroll
    for (int d = M - 1; d >= 0; --d) {
      const I size = (I)a.w[5 + M + d];
      at[d] = (i64)(rest % size);
      rest /= size;
    }
    i64 from = (i64)(rest % entries);
    I offset = rest / entries;
    bool inside = true;
#pragma unroll
    for (int d = M - 1; d >= 0; --d) {
      const I block = (I)a.w[5 + 2 * M + d];
      at[d] = at[d] * (i64)block + (i64)(offset % block) - (i64)a.w[5 + 3 * M + d];
      offset /= block;
      inside = inside && at[d] >= 0 && at[d] < (i64)a.w[5 + d];
    }
#pragma unroll
    for (int d = 0; d < M; ++d) from = from * (i64)a.w[5 + d] + at[d];
    out[i] = inside ? in[from * (i64)inner + (i64)k] : E();
  }
}

extern "C" __global__ void __launch_bounds__(256) batch_to_space(const Args a) {
  const E* in = (const E*)a.w[0];
  E* out = (E*)a.w[1];
  const i64 n = (i64)a.w[2];
  const I inner = (I)a.w[3];
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    I rest = (I)i;
    const I k = rest % inner;
    rest /= inner;
    i64 at[M + 1];
#pragma unroll
    for (int d = M - 1; d >= 0; --d) {
      const I size = (I)a.w[5 + d];
      at[d] = (i64)(rest % size) + (i64)a.w[5 + 3 * M + d];
      rest /= size;
    }
    i64 from = 0;  // the block's offset, then the entry, then the place in it
#pragma unroll
    for (int d = 0; d < M; ++d) {
      const i64 block = (i64)a.w[5 + 2 * M + d];
      from = from * block + at[d] % block;
      at[d] /= block;
    }
    from = from * (i64)a.w[4] + (i64)rest;
#pragma unroll
    for (int d = 0; d < M; ++d) from = from * (i64)a.w[5 + M + d] + at[d];
    out[i] = in[from * (i64)inner + (i64)k];
  }
}
