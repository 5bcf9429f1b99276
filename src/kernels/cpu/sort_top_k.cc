// TopKV2, InTopKV2, NthElement. dtypes: all real numbers; InTopKV2 float32.
#include <cmath>

#include "kernels/cpu/indexing_common.h"
#include "kernels/cpu/indexing_families.h"
#include "kernels/cpu/sort_items.h"
#include "op/kernel.h"
#include "tandem/ops/sort.h"

namespace tandem::cpu {

namespace {

// ---- TopKV2
// -----------------------------------------------------------------------------------
struct TopKPlan {
  DType dtype = DType::kInvalid;
  DType index = DType::kInt32;
  int64_t rows = 0, n = 0, k = 0;
  int parts = 1;       // of the rows, or of one row
  bool split = false;  // few long rows: every part takes a piece of the row
  int64_t room = 0;    // candidates that a part keeps
  size_t workspace_bytes = 0;
};

TopKPlan prepare_top_k(const Signature& s) {
  const Shape& x = s.in(0).shape;
  TopKPlan p;
  p.dtype = s.in(0).dtype;
  p.index = s.out(1).dtype;
  p.rows = dim_product(x, 0, x.rank() - 1);
  p.n = x[x.rank() - 1];
  p.k = s.out(0).shape[x.rank() - 1];
  constexpr int64_t kLong = 128 * 1024;
  p.split = p.rows < s.threads && p.n >= kLong && p.k <= p.n / 64;
  p.parts = static_cast<int>(
      std::clamp<int64_t>(p.split ? 16 : p.rows, 1, p.split ? 16 : s.threads));
  p.room = std::min(p.n, std::max<int64_t>(2 * p.k, 256));
  const size_t item = dtype_size(p.dtype) <= 4 ? sizeof(PackedItem) : sizeof(WideItem);
  p.workspace_bytes = static_cast<size_t>(p.parts * p.room) * item;
  return p;
}

// Items order the largest element first, and of equals the one with the lower index.
template <class T>
ItemOf<T> item_of(const T* row, int64_t i) {
  using Key = typename Order<T>::Key;
  return ItemOf<T>(static_cast<Key>(~Order<T>::equal_zeros(row[i])), i);
}

// The first k of elements [begin, end), unordered, in `kept`, which has room for more;
// returns how many there are. What is not better than the k-th so far is dropped at once.
template <class T>
int64_t select_top(const TopKPlan& p, const T* row, int64_t begin, int64_t end,
                   ItemOf<T>* kept) {
  using Item = ItemOf<T>;
  int64_t count = 0;
  bool full = false;
  Item worst{};
  for (int64_t i = begin; i < end; ++i) {
    const Item item = item_of(row, i);
    if (full && !(item < worst)) continue;
    if (count == p.room) {
      std::nth_element(kept, kept + p.k - 1, kept + count);
      worst = kept[p.k - 1];
      full = true;
      count = p.k;
      if (!(item < worst)) continue;
    }
    kept[count++] = item;
  }
  if (count > p.k) {
    std::nth_element(kept, kept + p.k - 1, kept + count);
    count = p.k;
  }
  return count;
}

template <class T>
void write_top(const TopKPlan& p, const T* row, const ItemOf<T>* kept, int64_t at,
               const LaunchArgs& a) {
  T* values = a.out<T>(0) + at * p.k;
  const auto indices = [&](auto* out) {
    for (int64_t i = 0; i < p.k; ++i) {
      const int64_t j = kept[i].index();
      values[i] = row[j];
      out[i] = static_cast<std::remove_pointer_t<decltype(out)>>(j);
    }
  };
  switch (p.index) {
    case DType::kInt16:
      return indices(a.out<int16_t>(1) + at * p.k);
    case DType::kInt32:
      return indices(a.out<int32_t>(1) + at * p.k);
    default:
      return indices(a.out<int64_t>(1) + at * p.k);
  }
}

template <class T>
void top_k_rows(const TopKPlan& p, const LaunchArgs& a) {
  using Item = ItemOf<T>;
  auto* space = static_cast<Item*>(a.workspace);
  const T* x = a.in<T>(0);
  if (p.split) {
    for (int64_t r = 0; r < p.rows; ++r) {
      const T* row = x + r * p.n;
      std::array<int64_t, 16> counts{};
      const int parts = parallel_parts(
          p.n, 16 * 1024, p.parts, [&](int part, int64_t begin, int64_t end) {
            counts[static_cast<size_t>(part)] =
                select_top(p, row, begin, end, space + part * p.room);
          });
      int64_t total = counts[0];
      for (int part = 1; part < parts; ++part) {
        const Item* from = space + part * p.room;
        std::copy(from, from + counts[static_cast<size_t>(part)], space + total);
        total += counts[static_cast<size_t>(part)];
      }
      std::partial_sort(space, space + p.k, space + total);
      write_top(p, row, space, r, a);
    }
    return;
  }
  const int64_t grain = std::max<int64_t>(1, 16 * 1024 / std::max<int64_t>(1, p.n));
  parallel_parts(p.rows, grain, p.parts, [&](int part, int64_t begin, int64_t end) {
    Item* kept = space + part * p.room;
    for (int64_t r = begin; r < end; ++r) {
      const T* row = x + r * p.n;
      select_top(p, row, 0, p.n, kept);
      std::sort(kept, kept + p.k);
      write_top(p, row, kept, r, a);
    }
  });
}

void launch_top_k(const TopKPlan& p, const LaunchArgs& a) {
  if (p.rows * p.k == 0) return;
  by_ordered(p.dtype, [&]<class T>(std::type_identity<T>) { top_k_rows<T>(p, a); });
}

// ---- InTopKV2
// ---------------------------------------------------------------------------------
struct InTopKPlan {
  DType target = DType::kInt32;
  int64_t rows = 0, classes = 0, k = 0;
};

InTopKPlan prepare_in_top_k(const Signature& s) {
  return {s.in(1).dtype, s.in(0).shape[0], s.in(0).shape[1], s.in(2).value[0]};
}

void launch_in_top_k(const InTopKPlan& p, const LaunchArgs& a) {
  by_index(p.target, [&]<class I>(std::type_identity<I>) {
    const int64_t grain =
        std::max<int64_t>(1, 32 * 1024 / std::max<int64_t>(1, p.classes));
    parallel_for(p.rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const float* row = a.in<float>(0) + r * p.classes;
        const auto target = static_cast<int64_t>(a.in<I>(1)[r]);
        bool in = false;
        if (target >= 0 && target < p.classes) {
          int64_t larger = 0;
          int infinite = 0;
          const float wanted = row[target];
          for (int64_t i = 0; i < p.classes; ++i) {
            larger += row[i] > wanted;
            infinite |= !(std::fabs(row[i]) <= std::numeric_limits<float>::max());
          }
          in = !infinite && larger < p.k;
        }
        a.out<bool>()[r] = in;
      }
    });
  });
}

// ---- NthElement
// -------------------------------------------------------------------------------
struct NthPlan {
  DType dtype = DType::kInvalid;
  int64_t rows = 0, n = 0, at = 0;
  int parts = 1;
  size_t workspace_bytes = 0;
};

NthPlan prepare_nth(const Signature& s) {
  const Shape& x = s.in(0).shape;
  NthPlan p;
  p.dtype = s.in(0).dtype;
  p.rows = dim_product(x, 0, x.rank() - 1);
  p.n = x[x.rank() - 1];
  const int64_t n = s.in(1).value[0];
  p.at = s.attrs.as<NthElementAttrs>().reverse ? p.n - 1 - n : n;
  p.parts = static_cast<int>(std::clamp<int64_t>(p.rows, 1, s.threads));
  p.workspace_bytes = static_cast<size_t>(p.parts * p.n) * dtype_size(p.dtype);
  return p;
}

void launch_nth(const NthPlan& p, const LaunchArgs& a) {
  by_ordered(p.dtype, [&]<class T>(std::type_identity<T>) {
    using Key = typename Order<T>::Key;
    const int64_t grain = std::max<int64_t>(1, 4096 / p.n);
    parallel_parts(p.rows, grain, p.parts, [&](int part, int64_t begin, int64_t end) {
      Key* keys = static_cast<Key*>(a.workspace) + part * p.n;
      for (int64_t r = begin; r < end; ++r) {
        const T* row = a.in<T>(0) + r * p.n;
        std::transform(row, row + p.n, keys, Order<T>::key);
        std::nth_element(keys, keys + p.at, keys + p.n);
        a.out<T>()[r] = Order<T>::value(keys[p.at]);
      }
    });
  });
}

}  // namespace

void register_top_k_kernels(KernelRegistry& r) {
  r.add(make_kernel<prepare_top_k, launch_top_k>("TopKV2", "cpu.top_k"));
  r.add(make_kernel<prepare_in_top_k, launch_in_top_k>("InTopKV2", "cpu.in_top_k"));
  r.add(make_kernel<prepare_nth, launch_nth>("NthElement", "cpu.nth_element"));
}

}  // namespace tandem::cpu
