// out[o(i)] = in[i(i)] over a box: E (element type), I (index type), RANK and moved()
// (what happens to an element on its way) come before this text. Words: in, out, n, in
// offset, out offset, dims, in steps, out steps. Neighbouring threads write neighbouring
// elements.
struct Args {
  u64 w[5 + 3 * RANK];
};
extern "C" __global__ void __launch_bounds__(256) move(const Args a) {
  const E* in = (const E*)a.w[0] + (i64)a.w[3];
  E* out = (E*)a.w[1] + (i64)a.w[4];
  const i64 n = (i64)a.w[2];
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    I rest = (I)i;
    i64 from = 0, to = 0;
#pragma unroll
    for (int d = RANK - 1; d >= 0; --d) {
      I c = rest;
      if (d > 0) {
        const I size = (I)a.w[5 + d];
        c = rest % size;
        rest /= size;
      }
      from += (i64)c * (i64)a.w[5 + RANK + d];
      to += (i64)c * (i64)a.w[5 + 2 * RANK + d];
    }
    out[to] = moved(in[from]);
  }
}
