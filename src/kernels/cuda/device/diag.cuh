// Bands of diagonals, by element size: E comes before this text. The packed form has a
// row per diagonal, from the upper one down; see ops/array_diag.h.
struct BandArgs {
  i64 batches, rows, cols, lower, upper, length;
  i32 upper_left, lower_left;  // where short diagonals stand in their row
};
inline i64 diagonal_length(const BandArgs& b, i64 d) {
  const i64 down = b.rows + (d < 0 ? d : 0), across = b.cols - (d > 0 ? d : 0);
  return down < across ? down : across;
}
inline i64 padding_before(const BandArgs& b, i64 d) {
  const bool left = (d >= 0 && b.upper_left) || (d <= 0 && b.lower_left);
  return left ? 0 : b.length - diagonal_length(b, d);
}
inline i64 packed_at(const BandArgs& b, i64 batch, i64 row, i64 d) {
  return (batch * (b.upper - b.lower + 1) + b.upper - d) * b.length +
         padding_before(b, d) + row + (d < 0 ? d : 0);
}

/// Matrices with these diagonals; elsewhere `padding` (null: zero), or what `matrices`
/// has.
extern "C" __global__ void write_band(const E* diagonals, const E* matrices,
                                      const E* padding, E* out, const BandArgs b) {
  const i64 total = b.batches * b.rows * b.cols;
  const E fill = padding ? *padding : E();
  for (i64 e = global_thread(); e < total; e += global_threads()) {
    const i64 col = e % b.cols, row = e / b.cols % b.rows, batch = e / (b.cols * b.rows);
    const i64 d = col - row;
    out[e] = d >= b.lower && d <= b.upper ? diagonals[packed_at(b, batch, row, d)]
             : matrices                   ? matrices[e]
                                          : fill;
  }
}

/// The packed diagonals of matrices.
extern "C" __global__ void read_band(const E* matrices, const E* padding, E* out,
                                     const BandArgs b) {
  const i64 diagonals = b.upper - b.lower + 1, total = b.batches * diagonals * b.length;
  const E fill = padding ? *padding : E();
  for (i64 e = global_thread(); e < total; e += global_threads()) {
    const i64 d = b.upper - e / b.length % diagonals, batch = e / (b.length * diagonals);
    const i64 n = diagonal_length(b, d);
    const i64 k = e % b.length - (n > 0 ? padding_before(b, d) : 0);
    const i64 row = k + (d < 0 ? -d : 0), col = k + (d > 0 ? d : 0);
    out[e] = k >= 0 && k < n ? matrices[(batch * b.rows + row) * b.cols + col] : fill;
  }
}

/// Zeros outside the diagonals from `lower` to `upper`.
extern "C" __global__ void band_part(const E* in, E* out, const BandArgs b) {
  const i64 total = b.batches * b.rows * b.cols;
  for (i64 e = global_thread(); e < total; e += global_threads()) {
    const i64 d = e % b.cols - e / b.cols % b.rows;
    out[e] = d >= b.lower && d <= b.upper ? in[e] : E();
  }
}

/// in [outer, first, middle, second, inner]: the first lengths[i] elements along the
/// sequence are reversed, for each i of the batch; one of `first` and `second` is which.
extern "C" __global__ void reverse_sequence(const E* in, const X* lengths, E* out,
                                            i64 total, i64 first, i64 middle, i64 second,
                                            i64 inner, i32 sequence_first,
                                            ReportFlags* flags, i32 site) {
  const i64 steps = sequence_first ? first : second;
  for (i64 e = global_thread(); e < total; e += global_threads()) {
    const i64 c = e % inner, b = e / inner % second, m = e / (inner * second) % middle,
              a = e / (inner * second * middle) % first,
              o = e / (inner * second * middle * first);
    const i64 place = sequence_first ? b : a, at = sequence_first ? a : b;
    i64 n = (i64)lengths[place];
    if (n < 0 || n > steps) {
      if (at == 0 && c == 0 && m == 0 && o == 0) {
        report_bad(flags, 1, site, n, place, steps);
      }
      n = 0;
    }
    const i64 from = at < n ? n - 1 - at : at;
    const i64 fa = sequence_first ? from : a, fb = sequence_first ? b : from;
    out[e] = in[(((o * first + fa) * middle + m) * second + fb) * inner + c];
  }
}
