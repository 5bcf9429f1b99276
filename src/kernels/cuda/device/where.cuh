// Where: E (element by size), RANK and BITS (which bits make an element true) come before
// this text, compact.cuh behind it.
struct Args {
  const E* x;
  i64* out;
  i64 dims[RANK + 1];
};
inline bool any_bit(bytes16 x) { return ((x.low | x.high) & BITS) != 0; }
template <class V>
inline bool any_bit(V x) {
  return ((u64)x & BITS) != 0;
}
inline bool kept(const Args& a, i64 i) { return any_bit(a.x[i]); }
inline void place(const Args& a, i64 i, i64 to) {
#pragma unroll
  for (int d = RANK - 1; d >= 0; --d) {
    a.out[to * RANK + d] = d > 0 ? i % a.dims[d] : i;
    i /= a.dims[d];
  }
}
