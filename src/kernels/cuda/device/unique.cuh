// Unique and its kind: slices.cuh and X (the type of numbers that are written) come
// before this text, compact.cuh behind it. Of equal slices the first one is kept.
struct Args {
  Slices s;
  u64* table;
  i64* first;    // by slot: the first slice with this key
  i64* slot_of;  // by slice; -1: it equals nothing
  i64* number;   // by first slice: its number among the distinct ones
  i64* places;   // by number: the first slice
  i64 slots;
};
inline bool kept(const Args& a, i64 i) {
  const i64 slot = a.slot_of[i];
  return slot < 0 || a.first[slot] == i;
}
inline void place(const Args& a, i64 i, i64 to) {
  a.number[i] = to;
  a.places[to] = i;
}

extern "C" __global__ void __launch_bounds__(256) find_slots(const Args a) {
  for (i64 i = global_thread(); i < a.s.n; i += global_threads()) {
    const i64 slot = insert_slice(a.s, a.table, a.slots, i);
    a.slot_of[i] = slot;
    if (slot >= 0 && *(volatile i64*)(a.first + slot) > i) atomicMin(a.first + slot, i);
  }
}

template <class V>
inline void count_one(V* at) {
  if constexpr (sizeof(V) == 8) {
    atomicAdd((u64*)at, 1ull);
  } else {
    atomicAdd((u32*)at, 1u);
  }
}
/// `counts` are zeros, or null.
extern "C" __global__ void __launch_bounds__(256)
    write_numbers(const Args a, X* ids, X* counts) {
  for (i64 i = global_thread(); i < a.s.n; i += global_threads()) {
    const i64 slot = a.slot_of[i];
    const i64 id = a.number[slot < 0 ? i : a.first[slot]];
    ids[i] = (X)id;
    if (counts) count_one(counts + id);
  }
}
/// y [outer, distinct, inner].
extern "C" __global__ void __launch_bounds__(256)
    write_slices(const Args a, T* y, i64 distinct) {
  const i64 total = a.s.outer * distinct * a.s.inner;
  for (i64 e = global_thread(); e < total; e += global_threads()) {
    const i64 k = e % a.s.inner, line = e / a.s.inner;
    const i64 from = line / distinct * a.s.n + a.places[line % distinct];
    y[e] = a.s.x[from * a.s.inner + k];
  }
}
