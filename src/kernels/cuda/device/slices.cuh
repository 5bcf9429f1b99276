// Slices of a tensor as keys of a table of places: T comes before this text (an unsigned
// integer for integers and bool). Numbers are equal when == says so: NaN equals nothing,
// -0 equals 0. The table holds, for each key, the number of one slice with it; which one
// is left to chance, what is made of it is not.
constexpr u64 kNobody = ~0ull;

inline u64 mixed(u64 x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ull;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ull;
  return x ^ x >> 32;
}
inline u64 key_of(float x) { return x == 0 ? 0 : (u64)__float_as_uint(x); }
inline u64 key_of(double x) { return x == 0 ? 0 : (u64)__double_as_longlong(x); }
inline u64 key_of(f16 x) { return key_of(get(x)); }
inline u64 key_of(bf16 x) { return key_of(get(x)); }
inline u64 key_of(u8 x) { return x; }
inline u64 key_of(u16 x) { return x; }
inline u64 key_of(u32 x) { return x; }
inline u64 key_of(u64 x) { return x; }
template <class V>
inline u64 key_of(cplx<V> x) {
  return mixed(key_of(x.re)) + key_of(x.im);
}
template <class V>
inline bool same(V a, V b) {
  return get(a) == get(b);
}
template <class V>
inline bool same(cplx<V> a, cplx<V> b) {
  return a.re == b.re && a.im == b.im;
}

/// x [outer, n, inner]: n slices.
struct Slices {
  const T* x;
  i64 outer, n, inner;
};
inline u64 hash_of(const Slices& s, i64 i) {
  u64 h = 0;
  for (i64 o = 0; o < s.outer; ++o) {
    const T* row = s.x + (o * s.n + i) * s.inner;
    for (i64 k = 0; k < s.inner; ++k) h = mixed(h + key_of(row[k]));
  }
  return h;
}
/// False for a slice with a NaN and itself.
inline bool same_slice(const Slices& s, i64 i, const Slices& t, i64 j) {
  for (i64 o = 0; o < s.outer; ++o) {
    const T* a = s.x + (o * s.n + i) * s.inner;
    const T* b = t.x + (o * t.n + j) * t.inner;
    for (i64 k = 0; k < s.inner; ++k) {
      if (!same(a[k], b[k])) return false;
    }
  }
  return true;
}

/// The slot of the slice in a table that has room for all; -1 for a slice that equals
/// nothing. `slots` is a power of two.
inline i64 insert_slice(const Slices& s, u64* table, i64 slots, i64 i) {
  if (!same_slice(s, i, s, i)) return -1;
  for (u64 slot = hash_of(s, i);; ++slot) {
    slot &= (u64)(slots - 1);
    u64 seen = *(volatile u64*)(table + slot);
    if (seen == kNobody) seen = atomicCAS(table + slot, kNobody, (u64)i);
    if (seen == kNobody || same_slice(s, (i64)seen, s, i)) return (i64)slot;
  }
}
/// Whether slice i of `s` is one of those of `t` in the table, which is complete.
inline bool contains_slice(const Slices& t, const u64* table, i64 slots, const Slices& s,
                           i64 i) {
  if (!same_slice(s, i, s, i)) return false;
  for (u64 slot = hash_of(s, i);; ++slot) {
    slot &= (u64)(slots - 1);
    if (table[slot] == kNobody) return false;
    if (same_slice(t, (i64)table[slot], s, i)) return true;
  }
}
