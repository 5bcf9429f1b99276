// Softmax, its logarithm and their gradients over contiguous rows that are kept while
// they are computed with. After row_team.cuh or row_shared.cuh. Sums are made in an order
// that depends on sizes alone.

/// y = softmax(x), or its logarithm.
extern "C" __global__ void __launch_bounds__(kThreads)
    softmax(const T* x, T* y, i64 rows, i64 n, int log, int together) {
  Meeting meet;
  Kept<1> row(rows, n, together);
  row.add(0, x, n, lowest());
  for (row.begin(); row.more(); row.next()) {
    row.take();
    C top = lowest(), sum = 0;
    row.look([&](C(&v)[1][kVec], int) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) top = larger(top, v[0][i]);
    });
    top = meet.top(top);
    row.change([&](C(&v)[1][kVec], int) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        const C p = power(v[0][i] - top);
        sum += p;
        if (!log) v[0][i] = p;
      }
    });
    sum = meet.sum(sum);
    const C scale = log ? f_log(sum) : C(1) / sum;
    row.write(y, [&](C(&v)[1][kVec], int) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        if (log) {
          v[0][i] = v[0][i] - top - scale;
        } else {
          v[0][i] = (kKeepsPowers ? v[0][i] : power(v[0][i] - top)) * scale;
        }
      }
    });
  }
}

/// From the result y: (g - sum(g y)) y; of the logarithm: g - exp(y) sum(g).
extern "C" __global__ void __launch_bounds__(kThreads)
    softmax_grad(const T* y, const T* g, T* out, i64 rows, i64 n, int log, int together) {
  Meeting meet;
  Kept<2> row(rows, n, together);
  row.add(0, g, n, C(0));
  row.add(1, y, n, C(0));
  for (row.begin(); row.more(); row.next()) {
    row.take();
    C sum = 0;
    row.look([&](C(&v)[2][kVec], int) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) sum += log ? v[0][i] : v[0][i] * v[1][i];
    });
    sum = meet.sum(sum);
    row.write(out, [&](C(&v)[2][kVec], int) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        v[0][i] = log ? v[0][i] - power(v[1][i]) * sum : (v[0][i] - sum) * v[1][i];
      }
    });
  }
}
