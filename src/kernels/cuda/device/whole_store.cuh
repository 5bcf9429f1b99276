// Sixteen bytes that are written at once. An assignment of a vector of halfs may become
// one instruction for each of them, when the compiler joins it with another branch that
// writes them one by one.
template <class V>
inline void store_whole(V* to, const V& x) {
  if constexpr (sizeof(V) == 16) {
    const auto w = __builtin_bit_cast(vec<u32, 4>, x);
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(w.v[0]),
                 "r"(w.v[1]), "r"(w.v[2]), "r"(w.v[3])
                 : "memory");
  } else {
    *to = x;
  }
}
