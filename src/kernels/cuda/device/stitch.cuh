// DynamicStitch: E (element) comes before this text. Places are numbered through all
// lists; of several with one index the last one wins.

/// The largest index and 1; an index below 0 is reported.
extern "C" __global__ void __launch_bounds__(256)
    count_rows(const i32* indices, i64 n, i64* rows, i32 list, ReportFlags* flags,
               i32 site) {
  i64 most = 0;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const i64 k = indices[i];
    if (k < 0) report_bad(flags, 1, site, k, list, 0);
    if (k + 1 > most) most = k + 1;
  }
  for (int by = 16; by > 0; by /= 2) {
    const i64 other = __shfl_xor_sync(0xffffffffu, most, by);
    if (other > most) most = other;
  }
  if (threadIdx.x % 32 == 0) atomicMax(rows, most);
}

extern "C" __global__ void __launch_bounds__(256)
    claim_rows(const i32* indices, i64 n, i64 base, i64* owner) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    atomicMax(owner + indices[i], base + i);
  }
}

extern "C" __global__ void __launch_bounds__(256)
    write_rows(const i32* indices, const E* data, i64 n, i64 row, i64 base,
               const i64* owner, E* out) {
  for (i64 e = global_thread(); e < n * row; e += global_threads()) {
    const i64 i = e / row, to = indices[i];
    if (owner[to] == base + i) out[to * row + e % row] = data[e];
  }
}
