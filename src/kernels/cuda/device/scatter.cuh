// Scatters: T (storage), X (index type) and OP_ come before this text. First the numbers
// of the rows are made and checked, then updates are combined into them. Where several
// updates meet one element, atomics put them in any order; the ordered kernel applies
// them one after the other.
typedef typename compute_of<T>::type C;

template <class V>
inline V divided(V old, V x) {
  if constexpr (is_int<V>::value) {
    return x == 0 ? V(0) : int_quotient(old, x);
  } else {
    return old / x;
  }
}
inline C combined(C old, C x) {
#if defined(OP_ADD)
  return f_add(old, x);
#elif defined(OP_SUB)
  return f_sub(old, x);
#elif defined(OP_MUL)
  return f_mul(old, x);
#elif defined(OP_DIV)
  return divided(old, x);
#elif defined(OP_MIN)
  return x < old ? x : old;
#elif defined(OP_MAX)
  return x > old ? x : old;
#else
  return x;
#endif
}

template <int bytes>
struct swap_word {
  typedef u64 type;
};
template <>
struct swap_word<4> {
  typedef u32 type;
};

// Elements smaller than a word are swapped with their neighbours left as they are.
template <class T>
inline void combine_at(T* at, C x) {
#if defined(OP_UPDATE)
  *at = put<T>(x);
#else
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
    typedef typename swap_word<sizeof(T)>::type W;
    W* word = (W*)at;
    W seen = *word, expected;
    do {
      expected = seen;
      T old;
      *(W*)&old = expected;
      const T fresh = put<T>(combined(get(old), x));
      seen = atomicCAS(word, expected, *(const W*)&fresh);
    } while (seen != expected);
  } else if constexpr (sizeof(T) < 4) {
    const u64 address = (u64)at;
    u32* word = (u32*)(address & ~3ull);
    const int shift = (int)(address & 3) * 8;
    const u32 mask = (sizeof(T) == 1 ? 0xffu : 0xffffu) << shift;
    u32 seen = *word, expected;
    do {
      expected = seen;
      typename uint_of<sizeof(T)>::type bits =
          (typename uint_of<sizeof(T)>::type)((expected & mask) >> shift);
      const T fresh = put<T>(combined(get(*(T*)&bits), x));
      const u32 moved = (u32)(*(const typename uint_of<sizeof(T)>::type*)&fresh) << shift;
      seen = atomicCAS(word, expected, (expected & ~mask) | moved);
    } while (seen != expected);
  } else {
    *at = put<T>(combined(get(*at), x));  // 16 bytes: the ordered kernel alone
  }
#endif
}

/// rows[i] = indices[i], -1 where it is not in [0, limit).
extern "C" __global__ void check_rows(const X* indices, i64* rows, i64 n, i64 limit,
                                      ReportFlags* flags, i32 site) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const i64 k = (i64)indices[i];
    const bool bad = k < 0 || k >= limit;
    if (bad) report_bad(flags, 1, site, k, i, limit);
    rows[i] = bad ? -1 : k;
  }
}

/// The same for segments: ids below 0 are left out.
extern "C" __global__ void segment_rows(const X* ids, i64* rows, i64 n, i64 limit,
                                        ReportFlags* flags, i32 site) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const i64 k = (i64)ids[i];
    if (k >= limit) report_bad(flags, 1, site, k, i, limit);
    rows[i] = k < 0 || k >= limit ? -1 : k;
  }
}

/// What segments without a row hold.
extern "C" __global__ void fill_segments(T* out, i64 n) {
#if defined(EMPTY)
  const T empty = put<T>((C)(EMPTY));
  for (i64 i = global_thread(); i < n; i += global_threads()) out[i] = empty;
#endif
}

/// Along an axis of [outer, n, inner]: rows of [axis * inner], negative indices from the
/// end.
extern "C" __global__ void take_rows(const X* indices, i64* rows, i64 n, i64 axis,
                                     i64 inner, ReportFlags* flags, i32 site) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const i64 given = (i64)indices[i], k = given < 0 ? given + axis : given;
    const bool bad = k < 0 || k >= axis;
    if (bad) report_bad(flags, 1, site, given, i, axis);
    rows[i] = bad ? -1 : k * inner + i % inner;
  }
}

struct NdArgs {
  i64 depth, per_batch, batch_rows;
  i64 limits[12];
};
/// Row numbers of coordinates [n, depth]; batch_rows 0: without batches.
extern "C" __global__ void nd_rows(const X* indices, i64* rows, i64 n, const NdArgs a,
                                   ReportFlags* flags, i32 site) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    i64 at = 0;
    bool bad = false;
    for (int d = 0; d < (int)a.depth; ++d) {
      const i64 k = (i64)indices[i * a.depth + d];
      if (k < 0 || k >= a.limits[d]) {
        if (!bad) report_bad(flags, 1, site, k, i, d);
        bad = true;
      }
      at = at * a.limits[d] + k;
    }
    if (a.batch_rows) at += i / a.per_batch * a.batch_rows;
    rows[i] = bad ? -1 : at;
  }
}

/// Divisors of integers, checked before anything is written.
template <class V>
inline bool is_zero_divisor(V x) {
  if constexpr (is_int<V>::value) return x == V(0);
  return false;
}
extern "C" __global__ void check_divisors(const T* updates, i64 n, ReportFlags* flags,
                                          i32 site) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    if (is_zero_divisor(updates[i])) report_bad(flags, 2, site, 0, i, 0);
  }
}

struct ScatterArgs {
  T* out;
  const T* updates;
  const i64* rows;
  i64 groups, per_index, count, num_rows, row, stride;  // as kernels/cpu/scatter_rows.h
  ReportFlags* flags;
  i64 writes_state;
};
/// `stride` 0: one number for all updated elements.
inline C update_at(const ScatterArgs& a, i64 group, i64 i, i64 c) {
  return get(a.stride ? a.updates[(group * a.count + i) * a.stride + c] : a.updates[0]);
}
extern "C" __global__ void scatter(const ScatterArgs a) {
  if (a.writes_state && failed(a.flags)) return;
  const i64 total = a.groups * a.count * a.row;
  for (i64 e = global_thread(); e < total; e += global_threads()) {
    const i64 c = e % a.row, line = e / a.row, i = line % a.count, group = line / a.count;
    const i64 to = a.rows[group / a.per_index * a.count + i];
    if (to < 0) continue;
    combine_at(a.out + (group * a.num_rows + to) * a.row + c, update_at(a, group, i, c));
  }
}
/// One thread per column of a group: updates in the order of their indices.
extern "C" __global__ void scatter_ordered(const ScatterArgs a) {
  if (a.writes_state && failed(a.flags)) return;
  const i64 total = a.groups * a.row;
  for (i64 e = global_thread(); e < total; e += global_threads()) {
    const i64 c = e % a.row, group = e / a.row;
    for (i64 i = 0; i < a.count; ++i) {
      const i64 to = a.rows[group / a.per_index * a.count + i];
      if (to < 0) continue;
      T* at = a.out + (group * a.num_rows + to) * a.row + c;
      *at = put<T>(combined(get(*at), update_at(a, group, i, c)));
    }
  }
}
