// Sort and ArgSort. dtypes: all real numbers.
#include "tandem/ops/sort.h"

#include "kernels/cpu/indexing_common.h"
#include "kernels/cpu/indexing_families.h"
#include "kernels/cpu/sort_items.h"
#include "kernels/register.h"
#include "op/kernel.h"
#include "tandem/error.h"

namespace tandem::cpu {

template void sort_items<uint8_t>(uint8_t*, uint8_t*, int64_t, int, bool);
template void sort_items<uint16_t>(uint16_t*, uint16_t*, int64_t, int, bool);
template void sort_items<uint32_t>(uint32_t*, uint32_t*, int64_t, int, bool);
template void sort_items<uint64_t>(uint64_t*, uint64_t*, int64_t, int, bool);
template void sort_items<PackedItem>(PackedItem*, PackedItem*, int64_t, int, bool);
template void sort_items<WideItem>(WideItem*, WideItem*, int64_t, int, bool);

namespace {

// x [outer, n, inner]: outer * inner rows with stride `inner`.
struct SortPlan {
  DType dtype = DType::kInvalid;
  bool descending = false;
  int64_t n = 0, inner = 0, rows = 0;
  int parts = 1;       // rows sorted at a time
  bool whole = false;  // few long rows: each is sorted by all threads
  size_t item_bytes = 0;
  size_t workspace_bytes = 0;  // two runs of items per part
};

template <bool kIndices>
SortPlan prepare_sort(const Signature& s) {
  const auto& attrs = s.attrs.as<SortAttrs>();
  const Shape& x = s.in(0).shape;
  const auto axis = static_cast<int>(attrs.axis < 0 ? attrs.axis + x.rank() : attrs.axis);
  SortPlan p;
  p.dtype = s.in(0).dtype;
  p.descending = attrs.direction == Direction::kDescending;
  p.n = x[axis];
  p.inner = dim_product(x, axis + 1, x.rank());
  p.rows = dim_product(x, 0, axis) * p.inner;
  if (kIndices && p.n > INT32_MAX) {
    throw InvalidArgumentError(
        "ArgSort: more elements along the axis than int32 can count");
  }
  constexpr int64_t kLong = 64 * 1024;
  p.whole = p.rows < s.threads && p.n >= kLong;
  p.parts = p.whole ? 1 : static_cast<int>(std::clamp<int64_t>(p.rows, 1, s.threads));
  const size_t size = dtype_size(p.dtype);
  p.item_bytes = !kIndices ? size : size <= 4 ? sizeof(PackedItem) : sizeof(WideItem);
  p.workspace_bytes =
      2 * static_cast<size_t>(p.parts) * static_cast<size_t>(p.n) * p.item_bytes;
  return p;
}

// Runs body(row, items, scratch, parallel) for every row, some at a time.
template <class Item, class Body>
void for_sorted_rows(const SortPlan& p, void* workspace, Body&& body) {
  auto* space = static_cast<Item*>(workspace);
  if (p.whole) {
    for (int64_t row = 0; row < p.rows; ++row) body(row, space, space + p.n, true);
    return;
  }
  const int64_t grain = std::max<int64_t>(1, 2000 / std::max<int64_t>(1, p.n));
  parallel_parts(p.rows, grain, p.parts, [&](int part, int64_t begin, int64_t end) {
    Item* items = space + 2 * part * p.n;
    for (int64_t row = begin; row < end; ++row) body(row, items, items + p.n, false);
  });
}

template <class Body>
void for_elements(const SortPlan& p, bool parallel, Body&& body) {
  if (parallel) {
    parallel_for(p.n, 16 * 1024, body);
  } else {
    body(0, p.n);
  }
}

int64_t row_start(const SortPlan& p, int64_t row) {
  return row / p.inner * p.n * p.inner + row % p.inner;
}

template <class T>
void sort_rows(const SortPlan& p, const LaunchArgs& a) {
  using Key = typename Order<T>::Key;
  const Key flip = p.descending ? std::numeric_limits<Key>::max() : Key{0};
  for_sorted_rows<Key>(
      p, a.workspace, [&](int64_t row, Key* items, Key* scratch, bool parallel) {
        const T* from = a.in<T>(0) + row_start(p, row);
        T* to = a.out<T>() + row_start(p, row);
        for_elements(p, parallel, [&](int64_t b, int64_t e) {
          for (int64_t i = b; i < e; ++i) {
            items[i] = static_cast<Key>(Order<T>::key(from[i * p.inner]) ^ flip);
          }
        });
        sort_items(items, scratch, p.n, static_cast<int>(sizeof(Key)), parallel);
        for_elements(p, parallel, [&](int64_t b, int64_t e) {
          for (int64_t i = b; i < e; ++i) {
            to[i * p.inner] = Order<T>::value(static_cast<Key>(items[i] ^ flip));
          }
        });
      });
}

template <class T>
void argsort_rows(const SortPlan& p, const LaunchArgs& a) {
  using Key = typename Order<T>::Key;
  using Item = ItemOf<T>;
  const Key flip = p.descending ? std::numeric_limits<Key>::max() : Key{0};
  for_sorted_rows<Item>(
      p, a.workspace, [&](int64_t row, Item* items, Item* scratch, bool parallel) {
        const T* from = a.in<T>(0) + row_start(p, row);
        int32_t* to = a.out<int32_t>() + row_start(p, row);
        for_elements(p, parallel, [&](int64_t b, int64_t e) {
          for (int64_t i = b; i < e; ++i) {
            items[i] = Item(
                static_cast<Key>(Order<T>::equal_zeros(from[i * p.inner]) ^ flip), i);
          }
        });
        sort_items(items, scratch, p.n, static_cast<int>(sizeof(Key)), parallel);
        for_elements(p, parallel, [&](int64_t b, int64_t e) {
          for (int64_t i = b; i < e; ++i) {
            to[i * p.inner] = static_cast<int32_t>(items[i].index());
          }
        });
      });
}

void launch_sort(const SortPlan& p, const LaunchArgs& a) {
  if (p.rows * p.n == 0) return;
  by_ordered(p.dtype, [&]<class T>(std::type_identity<T>) { sort_rows<T>(p, a); });
}
void launch_argsort(const SortPlan& p, const LaunchArgs& a) {
  if (p.rows * p.n == 0) return;
  by_ordered(p.dtype, [&]<class T>(std::type_identity<T>) { argsort_rows<T>(p, a); });
}

}  // namespace

void register_sort_kernels(KernelRegistry& registry) {
  registry.add(make_kernel<prepare_sort<false>, launch_sort>("Sort", "cpu.sort"));
  registry.add(make_kernel<prepare_sort<true>, launch_argsort>("ArgSort", "cpu.argsort"));
  register_top_k_kernels(registry);
  register_search_kernels(registry);
}

}  // namespace tandem::cpu
