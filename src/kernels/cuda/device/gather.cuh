// Gathers by element size: E (element) and X (index type) come before this text. An index
// out of range is reported and gives zero bits.

/// params [batch, outer, axis, row], indices [batch, n] to [batch, outer, n, row].
extern "C" __global__ void gather(const E* params, const X* indices, E* out, i64 total,
                                  i64 n, i64 row, i64 axis, i64 outer, ReportFlags* flags,
                                  i32 site) {
  for (i64 i = global_thread(); i < total; i += global_threads()) {
    const i64 c = i % row, line = i / row, j = line % n, group = line / n;
    const i64 place = group / outer * n + j;
    const i64 k = (i64)indices[place];
    if (k < 0 || k >= axis) {
      if (c == 0) report_bad(flags, 1, site, k, place, axis);
      out[i] = E();
    } else {
      out[i] = params[(group * axis + k) * row + c];
    }
  }
}

/// x [outer, axis, inner], indices [outer, n, inner]; negative indices count from the
/// end.
extern "C" __global__ void take_along(const E* x, const X* indices, E* out, i64 total,
                                      i64 n, i64 axis, i64 inner, ReportFlags* flags,
                                      i32 site) {
  for (i64 i = global_thread(); i < total; i += global_threads()) {
    const i64 c = i % inner, o = i / (n * inner);
    const i64 given = (i64)indices[i], k = given < 0 ? given + axis : given;
    if (k < 0 || k >= axis) {
      report_bad(flags, 1, site, given, i, axis);
      out[i] = E();
    } else {
      out[i] = x[(o * axis + k) * inner + c];
    }
  }
}

/// out[i] = params[rows[i]]; rows below 0 were reported when they were made.
extern "C" __global__ void gather_rows(const E* params, const i64* rows, E* out,
                                       i64 total, i64 row) {
  for (i64 i = global_thread(); i < total; i += global_threads()) {
    const i64 from = rows[i / row];
    out[i] = from < 0 ? E() : params[from * row + i % row];
  }
}

/// indices [prefix, suffix] to [prefix, depth, suffix].
extern "C" __global__ void one_hot(const X* indices, const E* on, const E* off, E* out,
                                   i64 total, i64 depth, i64 suffix) {
  const E yes = *on, no = *off;
  for (i64 i = global_thread(); i < total; i += global_threads()) {
    const i64 s = i % suffix, d = i / suffix % depth, p = i / (suffix * depth);
    out[i] = (i64)indices[p * suffix + s] == d ? yes : no;
  }
}
