// [a, b, c] → [c, b, a] through tiles in shared memory, so that both sides are read and
// written in whole lines: filters between TensorFlow's order and a library's. E (an
// element's bits) comes before this text. 256 threads.
extern "C" __global__ void __launch_bounds__(256)
    reverse_axes(const E* in, E* out, i64 a, i64 b, i64 c) {
  __shared__ E tile[32][33];
  const i64 rows = (a + 31) / 32, columns = (c + 31) / 32;
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;
  for (i64 t = blockIdx.x; t < rows * columns * b; t += gridDim.x) {
    const i64 column = t % columns * 32, row = t / columns % rows * 32,
              between = t / columns / rows;
    for (int k = y; k < 32; k += 8) {
      if (row + k < a && column + x < c) {
        tile[k][x] = in[((row + k) * b + between) * c + column + x];
      }
    }
    __syncthreads();
    for (int k = y; k < 32; k += 8) {
      if (column + k < c && row + x < a) {
        out[((column + k) * b + between) * a + row + x] = tile[x][k];
      }
    }
    __syncthreads();
  }
}
