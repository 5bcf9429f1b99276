// Sorting rows by a bitonic network over items: a key whose unsigned order is that of the
// element, and its index, so that equal elements keep their order. T (storage), X (the
// type of indices that are written) and K (unsigned, the size of T) come before this
// text; FLOATING and INFINITE (bits of infinity) for floats, SIGNED for signed integers.
// NaN is above all numbers. Rows are padded to a power of two with items above all
// others.
constexpr K kSign = (K)((K)1 << (8 * sizeof(K) - 1));

inline K key_bits(T x) { return *(const K*)&x; }
inline K key_of(T x) {
  const K u = key_bits(x);
#if defined(FLOATING)
  if ((K)(u & (K)~kSign) > (K)INFINITE) return (K) ~(K)0;
  return u & kSign ? (K)~u : (K)(u | kSign);
#elif defined(SIGNED)
  return (K)(u ^ kSign);
#else
  return u;
#endif
}
/// The same with -0 equal to 0.
inline K equal_zeros(T x) {
  const K k = key_of(x);
#if defined(FLOATING)
  return k == (K)(kSign - 1) ? kSign : k;
#else
  return k;
#endif
}

// Keys of at most 32 bits are packed with their index.
template <bool packed>
struct item_type {
  u64 bits;
};
template <>
struct item_type<false> {
  u64 key;
  i64 at;
};
typedef item_type<sizeof(K) <= 4> Item;
template <class I>
inline I make_item(u64 key, i64 at) {
  if constexpr (sizeof(I) == 8) {
    return {key << 32 | (u64)at};
  } else {
    return {key, at};
  }
}
template <class I>
inline i64 index_of(I i) {
  if constexpr (sizeof(I) == 8) {
    return (i64)(i.bits & 0xffffffffull);
  } else {
    return i.at;
  }
}
template <class I>
inline I last_item() {
  if constexpr (sizeof(I) == 8) {
    return {~0ull};
  } else {
    return {~0ull, 0x7fffffffffffffffll};
  }
}
template <class I>
inline bool comes_first(I a, I b) {
  if constexpr (sizeof(I) == 8) {
    return a.bits < b.bits;
  } else {
    return a.key != b.key ? a.key < b.key : a.at < b.at;
  }
}

struct SortArgs {
  const T* x;
  Item* items;
  void* values;   // of T
  void* indices;  // of X
  i64 rows, n, inner, padded, kept, first;
  i32 descending, zeros_differ;
};
inline i64 place_of(const SortArgs& a, i64 row, i64 i) {
  return (row / a.inner * a.n + i) * a.inner + row % a.inner;
}

extern "C" __global__ void sort_load(const SortArgs a) {
  for (i64 e = global_thread(); e < a.rows * a.padded; e += global_threads()) {
    const i64 row = e / a.padded, i = e % a.padded;
    if (i >= a.n) {
      a.items[e] = last_item<Item>();
      continue;
    }
    const T x = a.x[place_of(a, row, i)];
    const K k = a.zeros_differ ? key_of(x) : equal_zeros(x);
    a.items[e] = make_item<Item>((u64)(a.descending ? (K)~k : k), i);
  }
}

inline void exchange(Item* items, i64 low, i64 high, i64 in_row, i64 size) {
  const bool up = (in_row & size) == 0;
  const Item x = items[low], y = items[high];
  if (comes_first(y, x) == up) {
    items[low] = y;
    items[high] = x;
  }
}

/// Stages of sizes up to `to` (from `from`) whose steps stay inside `span` items, in
/// shared memory; blocks take one span each.
extern "C" __global__ void sort_shared(Item* items, i64 total, i64 padded, i64 span,
                                       i64 from, i64 to) {
  extern __shared__ bytes16 memory[];
  Item* own = (Item*)memory;
  const i64 base = (i64)blockIdx.x * span;
  for (i64 i = threadIdx.x; i < span; i += blockDim.x) {
    if (base + i < total) own[i] = items[base + i];
  }
  __syncthreads();
  for (i64 size = from; size <= to; size *= 2) {
    for (i64 step = (size < span ? size : span) / 2; step > 0; step /= 2) {
      for (i64 t = threadIdx.x; t < span / 2; t += blockDim.x) {
        const i64 low = t / step * 2 * step + t % step;
        if (base + low + step < total) {
          exchange(own, low, low + step, (base + low) & (padded - 1), size);
        }
      }
      __syncthreads();
    }
  }
  for (i64 i = threadIdx.x; i < span; i += blockDim.x) {
    if (base + i < total) items[base + i] = own[i];
  }
}

/// One step that spans more than shared memory holds.
extern "C" __global__ void sort_step(Item* items, i64 total, i64 padded, i64 size,
                                     i64 step) {
  for (i64 t = global_thread(); t < total / 2; t += global_threads()) {
    const i64 low = t / step * 2 * step + t % step;
    exchange(items, low, low + step, low & (padded - 1), size);
  }
}

/// `kept` elements of each row from place `first` on, and where they were.
extern "C" __global__ void sort_store(const SortArgs a) {
  for (i64 e = global_thread(); e < a.rows * a.kept; e += global_threads()) {
    const i64 row = e / a.kept, i = e % a.kept;
    const i64 from = index_of(a.items[row * a.padded + a.first + i]);
    const i64 to = (row / a.inner * a.kept + i) * a.inner + row % a.inner;
    if (a.values) ((T*)a.values)[to] = a.x[place_of(a, row, from)];
    if (a.indices) ((X*)a.indices)[to] = (X)from;
  }
}
