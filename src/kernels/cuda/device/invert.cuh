// InvertPermutation: X (int32 or int64) comes before this text. `out` is -1 everywhere;
// who comes second to a place reports it.
inline i32 claimed(i32* at, i32 x) { return atomicCAS(at, -1, x); }
inline i64 claimed(i64* at, i64 x) { return (i64)atomicCAS((u64*)at, ~0ull, (u64)x); }

extern "C" __global__ void __launch_bounds__(256)
    invert(const X* in, X* out, i64 n, ReportFlags* flags, i32 site) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const i64 to = (i64)in[i];
    if (to < 0 || to >= n) {
      report_bad(flags, 1, site, to, i, n);
    } else if (claimed(out + to, (X)i) != (X)-1) {
      report_bad(flags, 2, site, to, i, n);
    }
  }
}
