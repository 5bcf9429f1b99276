// Classes drawn by their logits. T (logits) comes before this text, random.cuh too.

/// Sums of probabilities up to each class, not divided by their total: a block of 128
/// threads per row, each with neighbouring classes. A thread's first sum is the one
/// before it plus its own, so that sums never fall and impossible classes add nothing.
extern "C" __global__ void class_sums(const T* logits, double* sums, i64 rows,
                                      i64 classes) {
  __shared__ double parts[128];
  const i64 per = (classes + 127) / 128, begin = per * threadIdx.x;
  const i64 end = begin + per < classes ? begin + per : classes;
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* x = logits + row * classes;
    double* y = sums + row * classes;
    double top = -kInfinity;
    for (i64 i = threadIdx.x; i < classes; i += 128) {
      const double v = (double)get(x[i]);
      if (isfinite(v) && v > top) top = v;
    }
    parts[threadIdx.x] = top;
    __syncthreads();
    for (int width = 64; width > 0; width /= 2) {
      if ((int)threadIdx.x < width && parts[threadIdx.x + width] > parts[threadIdx.x]) {
        parts[threadIdx.x] = parts[threadIdx.x + width];
      }
      __syncthreads();
    }
    top = parts[0];
    __syncthreads();
    double sum = 0;
    for (i64 i = begin; i < end; ++i) {
      const double v = (double)get(x[i]);
      if (isfinite(v)) sum += exp(v - top);
      y[i] = sum;
    }
    parts[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
      double before = 0;
      for (int i = 0; i < 128; ++i) {
        const double own = parts[i];
        parts[i] = before;
        before += own;
      }
    }
    __syncthreads();
    const double before = parts[threadIdx.x];
    for (i64 i = begin; i < end; ++i) y[i] = before + y[i];
    __syncthreads();
  }
}

template <class X>
inline void draw_classes(const double* sums, const u64* key, const u64* counter, X* out,
                         i64 rows, i64 classes, i64 samples) {
  for (i64 k = global_thread(); k < rows * samples; k += global_threads()) {
    const double* row = sums + k / samples * classes;
    Philox g(key, counter);
    g.skip((u64)k / 2);
    u32 w[4];
    g.block(w);
    const double part = k % 2 ? unit64(w[2], w[3]) : unit64(w[0], w[1]);
    const double wanted = part * (classes ? row[classes - 1] : 0);
    i64 low = 0, high = classes;  // the first class whose sum is above
    while (low < high) {
      const i64 middle = (low + high) / 2;
      if (wanted < row[middle]) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    out[k] = (X)low;
  }
}
extern "C" __global__ void draw_classes32(const double* sums, const u64* key,
                                          const u64* counter, i32* out, i64 rows,
                                          i64 classes, i64 samples) {
  draw_classes(sums, key, counter, out, rows, classes, samples);
}
extern "C" __global__ void draw_classes64(const double* sums, const u64* key,
                                          const u64* counter, i64* out, i64 rows,
                                          i64 classes, i64 samples) {
  draw_classes(sums, key, counter, out, rows, classes, samples);
}
