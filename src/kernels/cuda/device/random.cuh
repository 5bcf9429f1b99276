// Random numbers: Philox 4x32-10 as base/philox.h has it, the same bits as on the CPU. T
// (storage) comes before this text. A thread makes the numbers of one block of four
// words.
typedef typename compute_of<T>::type C;

struct Philox {
  u32 c[4], k[2];
  Philox(const u64* key, const u64* counter) {
    k[0] = (u32)key[0];
    k[1] = (u32)(key[0] >> 32);
    c[0] = (u32)counter[0];
    c[1] = (u32)(counter[0] >> 32);
    c[2] = (u32)counter[1];
    c[3] = (u32)(counter[1] >> 32);
  }
  void skip(u64 n) {
    const u64 low = ((u64)c[1] << 32 | c[0]) + n;
    const bool carry = low < n;
    c[0] = (u32)low;
    c[1] = (u32)(low >> 32);
    if (carry && ++c[2] == 0) ++c[3];
  }
  void block(u32* out) const {
    u32 a = c[0], b = c[1], d = c[2], e = c[3], k0 = k[0], k1 = k[1];
    for (int round = 0; round < 10; ++round) {
      const u64 p0 = (u64)0xD2511F53u * a, p1 = (u64)0xCD9E8D57u * d;
      a = (u32)(p1 >> 32) ^ b ^ k0;
      b = (u32)p1;
      d = (u32)(p0 >> 32) ^ e ^ k1;
      e = (u32)p0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    out[0] = a;
    out[1] = b;
    out[2] = d;
    out[3] = e;
  }
};

inline float unit32(u32 x) {
  return __uint_as_float((x & 0x7fffffu) | 0x3f800000u) - 1.0f;
}
inline double unit64(u32 x0, u32 x1) {
  return __longlong_as_double((i64)((u64)1023 << 52 | (u64)(x0 & 0xfffffu) << 32 | x1)) -
         1.0;
}

template <class V>
inline void box_muller(V u, V v, V* pair) {
  const V radius = f_sqrt(V(-2) * f_log(u < V(1.0e-7) ? V(1.0e-7) : u));
  const V angle = V(2 * 3.14159265358979323846) * v;
  pair[0] = f_sin(angle) * radius;
  pair[1] = f_cos(angle) * radius;
}

// Four numbers of a block, or two of 8 bytes.
constexpr int kPer = sizeof(T) == 8 ? 2 : 4;

// Templates, so that what has no meaning for T is not looked at.
template <class T>
inline void make_uniform(const u32* w, T* out) {
  if constexpr (same_type<T, double>::value) {
    out[0] = unit64(w[0], w[1]);
    out[1] = unit64(w[2], w[3]);
  } else if constexpr (same_type<T, float>::value) {
    for (int i = 0; i < 4; ++i) out[i] = unit32(w[i]);
  } else if constexpr (same_type<T, f16>::value) {
    for (int i = 0; i < 4; ++i) {
      f16 h;
      h.bits = (u16)((w[i] & 0x3ffu) | 15u << 10);
      out[i] = put<f16>(get(h) - 1.0f);
    }
  } else if constexpr (same_type<T, bf16>::value) {
    for (int i = 0; i < 4; ++i) {
      bf16 h;
      h.bits = (u16)((w[i] & 0x7fu) | 127u << 7);
      out[i] = put<bf16>(get(h) - 1.0f);
    }
  }
}
template <class T>
inline void make_normal(const u32* w, T* out) {
  typedef typename compute_of<T>::type C;
  if constexpr (same_type<T, double>::value) {
    box_muller(unit64(w[0], w[1]), unit64(w[2], w[3]), out);
  } else if constexpr (is_float<C>::value) {
    float pair[4];
    box_muller(unit32(w[0]), unit32(w[1]), pair);
    box_muller(unit32(w[2]), unit32(w[3]), pair + 2);
    for (int i = 0; i < 4; ++i) out[i] = put<T>(pair[i]);
  }
}
inline u64 bits_of(const u32* w, int i) {
  return sizeof(T) == 8 ? (w[2 * i] | (u64)w[2 * i + 1] << 32) : (u64)w[i];
}

template <class Make>
inline void each_block(const u64* key, const u64* counter, T* out, i64 n, Make make) {
  const i64 blocks = (n + kPer - 1) / kPer;
  for (i64 b = global_thread(); b < blocks; b += global_threads()) {
    Philox g(key, counter);
    g.skip((u64)b);
    u32 w[4];
    g.block(w);
    T values[4];
    make(w, values);
    for (int i = 0; i < kPer && b * kPer + i < n; ++i) out[b * kPer + i] = values[i];
  }
}
extern "C" __global__ void uniform(const u64* key, const u64* counter, T* out, i64 n) {
  each_block(key, counter, out, n, [](const u32* w, T* o) { make_uniform(w, o); });
}
extern "C" __global__ void normal(const u64* key, const u64* counter, T* out, i64 n) {
  each_block(key, counter, out, n, [](const u32* w, T* o) { make_normal(w, o); });
}
template <class T>
inline void make_bits(const u32* w, T* out) {
  if constexpr (is_int<T>::value) {
    for (int i = 0; i < kPer; ++i) out[i] = (T)bits_of(w, i);
  }
}
extern "C" __global__ void full_int(const u64* key, const u64* counter, T* out, i64 n) {
  each_block(key, counter, out, n, [](const u32* w, T* o) { make_bits(w, o); });
}
template <class T>
inline void bounded(const u64* key, const u64* counter, const T* low, const T* high,
                    T* out, i64 n, ReportFlags* flags, i32 site) {
  if constexpr (is_int<T>::value) {
    typedef typename uint_of<sizeof(T)>::type U;
    if (!(*low < *high)) {
      if (global_thread() == 0) report_bad(flags, 1, site, (i64)*low, (i64)*high, 0);
      return;
    }
    const U base = (U)*low, range = (U)((U)*high - base);
    each_block(key, counter, out, n, [=](const u32* w, T* o) {
      for (int i = 0; i < kPer; ++i) o[i] = (T)(U)(base + (U)bits_of(w, i) % range);
    });
  }
}

extern "C" __global__ void uniform_int(const u64* key, const u64* counter, const T* low,
                                       const T* high, T* out, i64 n, ReportFlags* flags,
                                       i32 site) {
  bounded(key, counter, low, high, out, n, flags, site);
}

/// Within two standard deviations: groups of numbers with 256 blocks reserved for each,
/// from which pairs are drawn until there are enough.
template <class T>
inline void make_truncated(const u64* key, const u64* counter, T* out, i64 n) {
  typedef typename compute_of<T>::type C;
  if constexpr (is_float<C>::value) {
    const i64 groups = (n + kPer - 1) / kPer;
    for (i64 group = global_thread(); group < groups; group += global_threads()) {
      Philox g(key, counter);
      g.skip((u64)group * kPer * 256 / 4);
      int have = 0;
      while (have < kPer) {
        u32 w[4];
        g.block(w);
        g.skip(1);
        C pairs[4];
        int made;
        if constexpr (same_type<T, double>::value) {
          box_muller(unit64(w[0], w[1]), unit64(w[2], w[3]), pairs);
          made = 2;
        } else {
          box_muller((C)unit32(w[0]), (C)unit32(w[1]), pairs);
          box_muller((C)unit32(w[2]), (C)unit32(w[3]), pairs + 2);
          made = 4;
        }
        for (int i = 0; i < made && have < kPer; ++i) {
          if (f_abs(pairs[i]) < C(2)) {
            if (group * kPer + have < n) out[group * kPer + have] = put<T>(pairs[i]);
            ++have;
          }
        }
      }
    }
  }
}
extern "C" __global__ void truncated(const u64* key, const u64* counter, T* out, i64 n) {
  make_truncated(key, counter, out, n);
}

/// The variable holds key, counter low, counter high.
extern "C" __global__ void next_state(u64* state, const i64* blocks, u64* key,
                                      u64* counter, const ReportFlags* flags) {
  const u64 by = (u64)*blocks, low = state[1];
  key[0] = state[0];
  counter[0] = low;
  counter[1] = state[2];
  if (failed(flags)) return;
  state[1] = low + by;
  if (low + by < by) ++state[2];
}

/// A key and a counter from two seeds, scrambled as on the CPU.
template <class X>
inline void scramble(const X* seed, u64* key, u64* counter) {
  const u64 scrambler = 0x02461e293ec8f720ull;
  const u64 given[2] = {(u64)(i64)seed[0], (u64)(i64)seed[1]};
  u32 w[4];
  Philox(&scrambler, given).block(w);
  key[0] = (u64)w[1] << 32 | w[0];
  counter[0] = 0;
  counter[1] = (u64)w[3] << 32 | w[2];
}
extern "C" __global__ void key_counter32(const i32* seed, u64* key, u64* counter) {
  scramble(seed, key, counter);
}
extern "C" __global__ void key_counter64(const i64* seed, u64* key, u64* counter) {
  scramble(seed, key, counter);
}
