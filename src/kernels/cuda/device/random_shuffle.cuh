// The CPU's shuffle (Fisher and Yates, from the front) without its one-after-the-other.
// Step i swaps places i and h(i) >= i, and what is then at place i stays there. It came
// from place h(i), where it was put by the last step before i that swapped with h(i);
// that one took it from its own place, where it was put by the last step before, and so
// on back to a step that found a place as it was at the start. Chains are short: log n.
// T (by its size) comes before this text, random.cuh too.

inline i64 swap_place(const u64* key, const u64* counter, i64 i, i64 n) {
  Philox g(key, counter);
  g.skip((u64)i / 4);
  u32 w[4];
  g.block(w);
  return i + (i64)((u64)w[i % 4] % (u64)(n - i));
}

/// heads[p]: steps that swap with place p, as a list through `next`, in any order.
extern "C" __global__ void clear_steps(i64* heads, i64 n) {
  for (i64 i = global_thread(); i < n; i += global_threads()) heads[i] = -1;
}
extern "C" __global__ void link_steps(const u64* key, const u64* counter, i64* heads,
                                      i64* next, i64 n) {
  for (i64 i = global_thread(); i + 1 < n; i += global_threads()) {
    u64* head = (u64*)heads + swap_place(key, counter, i, n);
    next[i] = (i64)atomicExch(head, (u64)i);
  }
}
extern "C" __global__ void follow_steps(const u64* key, const u64* counter,
                                        const i64* heads, const i64* next, i64* order,
                                        i64 n) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    i64 place = i + 1 < n ? swap_place(key, counter, i, n) : i;
    for (i64 step = i;;) {
      i64 before = -1;
      for (i64 j = heads[place]; j >= 0; j = next[j]) {
        if (j < step && j > before) before = j;
      }
      if (before < 0) break;
      place = step = before;
    }
    order[i] = place;
  }
}
extern "C" __global__ void take_rows(const T* x, T* y, const i64* order, i64 n, i64 row) {
  for (i64 i = global_thread(); i < n * row; i += global_threads()) {
    const i64 r = i / row;
    y[i] = x[order[r] * row + (i - r * row)];
  }
}
