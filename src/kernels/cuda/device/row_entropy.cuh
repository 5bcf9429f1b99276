// The cross entropies of softmax over contiguous rows that are kept while they are
// computed with; the gradient is written on the way. After row_team.cuh or
// row_shared.cuh. Sums are made in an order that depends on sizes alone.

/// The largest element of the rows' first tensor, and the sum of powers relative to it.
template <int k>
inline C top_of(Kept<k>& row, Meeting& meet) {
  C top = lowest();
  row.look([&](C(&v)[k][kVec], int) {
#pragma unroll
    for (int i = 0; i < kVec; ++i) top = larger(top, v[0][i]);
  });
  return meet.top(top);
}

/// loss = sum(labels * (log(sum(exp(x))) - x)), backprop = softmax(x) - labels; a single
/// row of x or of labels serves all where its step is 0.
extern "C" __global__ void __launch_bounds__(kThreads)
    cross_entropy(const T* x, const T* labels, T* loss, T* backprop, i64 rows, i64 n,
                  i64 x_row, i64 label_row, int together) {
  Meeting meet;
  Kept<2> row(rows, n, together);
  row.add(0, x, x_row, lowest());
  row.add(1, labels, label_row, C(0));
  for (row.begin(); row.more(); row.next()) {
    row.take();
    const C top = top_of(row, meet);
    C sum = 0, total = 0;
    row.look([&](C(&v)[2][kVec], int) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) sum += power(v[0][i] - top);
    });
    sum = meet.sum(sum);
    const C log_sum = f_log(sum), scale = C(1) / sum;
    row.write(backprop, [&](C(&v)[2][kVec], int c) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        const C d = v[0][i] - top, label = v[1][i];
        // As in TensorFlow: a class of no probability that is infinitely unlikely costs
        // 0 * infinity, which is no number.
        if (row.part.has(c, i)) total += label * (log_sum - d);
        v[0][i] = power(d) * scale - label;
      }
    });
    total = meet.sum(total);
    if (row.is_first() && row.there()) loss[row.row] = put<T>(total);
  }
}

/// The same with class numbers, of 64 bits where they are `wide`, else 32. `scale`, where
/// there is one: what the gradient is multiplied with, `scale_step` apart for each row;
/// no `backprop`: it is not wanted.
template <class L>
inline void sparse_rows(const T* x, const void* labels, const float* scale, L* loss,
                        T* backprop, i64 rows, i64 n, i64 scale_step, ReportFlags* flags,
                        i32 site, int wide, int together) {
  Meeting meet;
  Kept<1> row(rows, n, together);
  row.add(0, x, n, lowest());
  for (row.begin(); row.more(); row.next()) {
    i64 label = 0;
    C wanted = 0, by = 1;
    if (row.there()) {
      label = wide ? ((const i64*)labels)[row.row] : ((const i32*)labels)[row.row];
      if (scale) by = (C)scale[row.row * scale_step];
    }
    const bool good = label >= 0 && label < n;
    if (row.is_first() && row.there()) {
      if (good) {
        wanted = get(x[row.row * n + label]);
      } else {
        report_bad(flags, 1, site, label, row.row, n);
      }
    }
    row.take();
    row.silent |= !good;
    const bool has_loss = row.is_first() && !row.silent;
    const C top = top_of(row, meet);
    C sum = 0;
    row.change([&](C(&v)[1][kVec], int) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        const C p = power(v[0][i] - top);
        sum += p;
        v[0][i] = p;
      }
    });
    sum = meet.sum(sum);
    const C share = C(1) / sum;
    const int own = good ? row.part.own((int)label) : -1;
    row.silent |= !backprop;
    row.write(backprop, [&](C(&v)[1][kVec], int c) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        v[0][i] = (kKeepsPowers ? v[0][i] : power(v[0][i] - top)) * share;
        if (c * kVec + i == own) v[0][i] -= C(1);
        v[0][i] *= by;
      }
    });
    if (has_loss) loss[row.row] = put<L>(f_log(sum) - (wanted - top));
  }
}
extern "C" __global__ void __launch_bounds__(kThreads)
    sparse(const T* x, const void* labels, T* loss, T* backprop, i64 rows, i64 n,
           ReportFlags* flags, i32 site, int wide, int together) {
  sparse_rows(x, labels, nullptr, loss, backprop, rows, n, 0, flags, site, wide,
              together);
}
/// The loss in float32, whatever T is.
extern "C" __global__ void __launch_bounds__(kThreads)
    fused_sparse(const T* x, const void* labels, const float* scale, float* loss,
                 T* backprop, i64 rows, i64 n, i64 scale_step, ReportFlags* flags,
                 i32 site, int wide, int together) {
  sparse_rows(x, labels, scale, loss, backprop, rows, n, scale_step, flags, site, wide,
              together);
}
