// Lower Cholesky factors of matrices that fit into a block's shared memory, a block to a
// matrix at a time; comes after linalg.cuh. A matrix that is not positive definite gets
// a factor without numbers. The triangle above the diagonal is not read.

/// Shared memory: n rows of n | 1 elements, so that a column lies in different banks.
extern "C" __global__ void small_cholesky(const T* in, T* out, i64 batch, i32 n) {
  extern __shared__ __align__(16) unsigned char block_space[];
  T* const s = (T*)block_space;
  const i32 row = n | 1, me = threadIdx.x, threads = blockDim.x;
  for (i64 b = blockIdx.x; b < batch; b += gridDim.x) {
    const T* a = in + b * n * n;
    for (i32 e = me; e < n * n; e += threads) s[e / n * row + e % n] = a[e];
    __syncthreads();
    bool good = true;
    for (i32 k = 0; k < n; ++k) {
      // Every thread reads the same number, so that all of them stop or none.
      const R pivot = real_of(s[k * row + k]);
      if (!(pivot > 0)) {
        good = false;
        break;
      }
      __syncthreads();
      const R root = root_of(pivot);
      if (me == 0) s[k * row + k] = T(root);
      for (i32 r = k + 1 + me; r < n; r += threads) {
        s[r * row + k] = divided(s[r * row + k], root);
      }
      __syncthreads();
      const i32 rest = n - k - 1;
      for (i32 e = me; e < rest * rest; e += threads) {
        const i32 r = k + 1 + e / rest, c = k + 1 + e % rest;
        if (c > r) continue;
        const T product = times(s[r * row + k], conjugated(s[c * row + k]));
        s[r * row + c] = plus(s[r * row + c], scaled(product, (R)-1));
      }
      __syncthreads();
    }
    for (i32 e = me; e < n * n; e += threads) {
      const i32 r = e / n, c = e % n;
      out[b * n * n + e] = c > r ? T() : good ? s[r * row + c] : T((R)kNotANumber);
    }
    __syncthreads();
  }
}
