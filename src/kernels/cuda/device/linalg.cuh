// What stands around the libraries' decompositions: matrices laid out as they want them,
// lists of addresses, and what follows from factors. T is the element, R its real part.
// Every kernel is one loop over independent items.

// ---- Numbers
// ---------------------------------------------------------------------------
inline float conjugated(float x) { return x; }
inline double conjugated(double x) { return x; }
template <class S>
inline cplx<S> conjugated(cplx<S> x) {
  return {x.re, -x.im};
}
inline bool is_number(float x) { return isfinite(x); }
inline bool is_number(double x) { return isfinite(x); }
template <class S>
inline bool is_number(cplx<S> x) {
  return isfinite(x.re) && isfinite(x.im);
}
inline float size_of(float x) { return fabsf(x); }
inline double size_of(double x) { return fabs(x); }
inline float size_of(c64 x) { return hypotf(x.re, x.im); }
inline double size_of(c128 x) { return hypot(x.re, x.im); }
inline float real_of(float x) { return x; }
inline double real_of(double x) { return x; }
template <class S>
inline S real_of(cplx<S> x) {
  return x.re;
}
inline float root_of(float x) { return sqrtf(x); }
inline double root_of(double x) { return sqrt(x); }
inline float logarithm(float x) { return logf(x); }
inline double logarithm(double x) { return log(x); }
inline float times(float x, float y) { return x * y; }
inline double times(double x, double y) { return x * y; }
template <class S>
inline cplx<S> times(cplx<S> x, cplx<S> y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}
inline float plus(float x, float y) { return x + y; }
inline double plus(double x, double y) { return x + y; }
template <class S>
inline cplx<S> plus(cplx<S> x, cplx<S> y) {
  return {x.re + y.re, x.im + y.im};
}
inline float scaled(float x, float s) { return x * s; }
inline double scaled(double x, double s) { return x * s; }
template <class S>
inline cplx<S> scaled(cplx<S> x, S s) {
  return {x.re * s, x.im * s};
}
inline float divided(float x, float s) { return x / s; }
inline double divided(double x, double s) { return x / s; }
template <class S>
inline cplx<S> divided(cplx<S> x, S s) {
  return {x.re / s, x.im / s};
}

// ---- Layout
// ----------------------------------------------------------------------------
/// Steps in elements. The columns of the output lie side by side.
struct LayOut {
  i64 batch, rows, cols;
  i64 out_matrix, out_row;
  i64 in_matrix, in_row, in_col;
  i32 keep;  // 0: all; 1: up to the diagonal; 2: from it on; zeros elsewhere
  i32 conjugate;
  i32 marked;  // what a marked matrix becomes: 0: as others; 1: zeros; 2: not numbers
};
inline bool kept(i32 keep, i64 row, i64 col) {
  return keep == 0 || (keep == 1 ? col <= row : col >= row);
}

/// `marks` may be null. In place where input and output have the same steps.
extern "C" __global__ void lay_out(const T* in, T* out, const i32* marks,
                                   const LayOut m) {
  const i64 total = m.batch * m.rows * m.cols;
  for (i64 e = global_thread(); e < total; e += global_threads()) {
    const i64 col = e % m.cols, row = e / m.cols % m.rows, b = e / (m.cols * m.rows);
    T x = T();
    if (kept(m.keep, row, col)) {
      const i32 instead = marks && marks[b] != 0 ? m.marked : 0;
      if (instead == 0) {
        x = in[b * m.in_matrix + row * m.in_row + col * m.in_col];
        if (m.conjugate) x = conjugated(x);
      } else if (instead == 2) {
        x = T((R)kNotANumber);
      }
    }
    out[b * m.out_matrix + row * m.out_row + col] = x;
  }
}

/// The same mark for a whole vector per matrix: not numbers where it is set.
extern "C" __global__ void spoil_values(R* values, const i32* marks, i64 batch, i64 n) {
  for (i64 e = global_thread(); e < batch * n; e += global_threads()) {
    if (marks[e / n] != 0) values[e] = (R)kNotANumber;
  }
}

extern "C" __global__ void write_identity(T* out, i64 batch, i64 n) {
  for (i64 e = global_thread(); e < batch * n * n; e += global_threads()) {
    out[e] = e % n == e / n % n ? T((R)1) : T();
  }
}

/// Where the matrices of a batch lie: steps by its dimensions, 0 where one serves all.
struct BatchSteps {
  i32 rank;
  i64 size[12], step[12];
};
inline i64 offset_of(const BatchSteps& m, i64 b) {
  i64 at = 0;
  for (i32 d = m.rank - 1; d >= 0; --d) {
    at += b % m.size[d] * m.step[d];
    b /= m.size[d];
  }
  return at;
}
extern "C" __global__ void point_at(T** list, T* base, i64 batch, const BatchSteps m) {
  for (i64 b = global_thread(); b < batch; b += global_threads()) {
    list[b] = base + offset_of(m, b);
  }
}
/// Matrices of `size` elements each, one after the other.
extern "C" __global__ void gather_matrices(const T* in, T* out, i64 batch, i64 size,
                                           const BatchSteps m) {
  for (i64 e = global_thread(); e < batch * size; e += global_threads()) {
    out[e] = in[offset_of(m, e / size) + e % size];
  }
}

// ---- What the host is told
// ---------------------------------------------------------------------------
/// Marks matrices in which some kept element is no number; marks were zeros.
extern "C" __global__ void mark_not_finite(const T* in, i32* marks, i64 batch, i64 rows,
                                           i64 cols, i32 keep) {
  for (i64 e = global_thread(); e < batch * rows * cols; e += global_threads()) {
    if (kept(keep, e / cols % rows, e % cols) && !is_number(in[e])) {
      marks[e / (rows * cols)] = 1;
    }
  }
}

/// What a library says of every matrix: not 0 is a failure.
extern "C" __global__ void check_marks(const i32* marks, i64 batch, ReportFlags* flags,
                                       i32 site) {
  for (i64 b = global_thread(); b < batch; b += global_threads()) {
    if (marks[b] != 0) report_bad(flags, 1, site, marks[b], b, 0);
  }
}

/// A pivot that is zero, or no number.
extern "C" __global__ void check_pivots(const T* lu, i64 batch, i64 n, ReportFlags* flags,
                                        i32 site) {
  for (i64 b = global_thread(); b < batch; b += global_threads()) {
    for (i64 k = 0; k < n; ++k) {
      if (size_of(lu[(b * n + k) * n + k]) > 0) continue;
      report_bad(flags, 1, site, k, b, 0);
      break;
    }
  }
}

// ---- What follows from factors
// --------------------------------------------------------
template <class I>
inline void write_permutation(const i32* pivots, I* out, i64 batch, i64 n) {
  for (i64 b = global_thread(); b < batch; b += global_threads()) {
    I* p = out + b * n;
    for (i64 i = 0; i < n; ++i) p[i] = (I)i;
    for (i64 i = 0; i < n; ++i) {
      const i64 with = pivots[b * n + i] - 1;
      const I kept_one = p[i];
      p[i] = p[with];
      p[with] = kept_one;
    }
  }
}
extern "C" __global__ void permutation32(const i32* pivots, i32* out, i64 batch, i64 n) {
  write_permutation(pivots, out, batch, n);
}
extern "C" __global__ void permutation64(const i32* pivots, i64* out, i64 batch, i64 n) {
  write_permutation(pivots, out, batch, n);
}

/// `logs` null: the determinant; else its sign, and the logarithm of its size. `info` not
/// 0: a pivot is zero, and what comes after it may be anything.
extern "C" __global__ void determinant(const T* lu, const i32* pivots, const i32* info,
                                       T* out, T* logs, i64 batch, i64 n) {
  for (i64 b = global_thread(); b < batch; b += global_threads()) {
    T product = T((R)1);
    R sum = 0;
    i64 exchanges = 0;
    for (i64 k = 0; k < n; ++k) {
      const T u = lu[(b * n + k) * n + k];
      exchanges += pivots[b * n + k] != k + 1;
      if (logs) {
        const R size = size_of(u);
        sum += logarithm(size);
        product = times(product, size == 0 ? T() : divided(u, size));
      } else {
        product = times(product, u);
      }
    }
    if (exchanges % 2) product = scaled(product, (R)-1);
    const bool singular = n > 0 && info[b] > 0;
    out[b] = singular ? T() : product;
    if (logs) logs[b] = T(singular ? (R)-kInfinity : sum);
  }
}

extern "C" __global__ void widen_values(const R* from, T* out, i64 n) {
  for (i64 e = global_thread(); e < n; e += global_threads()) out[e] = T(from[e]);
}

/// The part up to the diagonal, of which half is taken.
extern "C" __global__ void halve_lower(T* m, i64 batch, i64 n) {
  for (i64 e = global_thread(); e < batch * n * n; e += global_threads()) {
    const i64 row = e / n % n, col = e % n;
    if (col > row) m[e] = T();
    if (col == row) m[e] = scaled(m[e], (R)0.5);
  }
}

/// Half of matrices and their adjoints together.
extern "C" __global__ void self_adjoint(const T* m, T* out, i64 batch, i64 n) {
  for (i64 e = global_thread(); e < batch * n * n; e += global_threads()) {
    const i64 row = e / n % n, col = e % n, turned = e - row * n - col + col * n + row;
    out[e] = scaled(plus(m[e], conjugated(m[turned])), (R)0.5);
  }
}
