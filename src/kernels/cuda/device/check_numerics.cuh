// Whether numbers are finite. T (storage) comes before this text.

/// Sets bit 0 of *found where there is an infinity, bit 1 where there is no number.
extern "C" __global__ void find_bad(const T* x, i64 n, i32* found) {
  i32 seen = 0;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const auto v = get(x[i]);
    if (f_isinf(v)) seen |= 1;
    if (f_isnan(v)) seen |= 2;
  }
  if (seen && (*(const volatile i32*)found & seen) != seen) atomicOr(found, seen);
}
/// One thread: says so once all have been looked at.
extern "C" __global__ void report_found(const i32* found, ReportFlags* flags, i32 site) {
  if (*found) report_bad(flags, *found, site, 0, 0, 0);
}
