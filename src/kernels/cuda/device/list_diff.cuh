// ListDiff: slices.cuh and X (the type of places) come before this text, compact.cuh
// behind it. Kept are the values of x that are not in y.
struct Args {
  Slices x, y;
  u64* table;
  i64 slots;
  T* values;
  X* places;
};
inline bool kept(const Args& a, i64 i) {
  return !contains_slice(a.y, a.table, a.slots, a.x, i);
}
inline void place(const Args& a, i64 i, i64 to) {
  a.values[to] = a.x.x[i];
  a.places[to] = (X)i;
}
extern "C" __global__ void __launch_bounds__(256) fill_table(const Args a) {
  for (i64 i = global_thread(); i < a.y.n; i += global_threads()) {
    insert_slice(a.y, a.table, a.slots, i);
  }
}
