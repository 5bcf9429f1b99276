// LowerBound and UpperBound. dtypes: all real numbers.
#include <algorithm>
#include <bit>

#include "base/parallel.h"
#include "kernels/cpu/indexing_common.h"
#include "kernels/cpu/indexing_families.h"
#include "kernels/cpu/sort_items.h"
#include "op/kernel.h"

namespace tandem::cpu {

namespace {

struct SearchPlan {
  DType dtype = DType::kInvalid;
  DType out = DType::kInt32;
  bool upper = false;
  int64_t n = 0;       // sorted elements of a row
  int64_t values = 0;  // values of a row
  int64_t total = 0;
};

template <bool kUpper>
SearchPlan prepare_search(const Signature& s) {
  return {s.in(0).dtype,    s.out().dtype,    kUpper,
          s.in(0).shape[1], s.in(1).shape[1], s.in(1).shape.num_elements()};
}

// How many elements come before the value: those below it, or (upper) those not above it.
template <class T>
int64_t search(const T* sorted, int64_t n, T value, bool upper) {
  const T* base = sorted;
  while (n > 0) {
    const int64_t half = n / 2;
    const bool before = upper ? !(value < base[half]) : base[half] < value;
    base = before ? base + half + 1 : base;
    n = before ? n - half - 1 : half;
  }
  return base - sorted;
}

void launch_search(const SearchPlan& p, const LaunchArgs& a) {
  const int64_t steps = std::bit_width(static_cast<uint64_t>(p.n)) + 1;
  by_ordered(p.dtype, [&]<class T>(std::type_identity<T>) {
    parallel_for(p.total, std::max<int64_t>(64, 8192 / steps),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const T* row = a.in<T>(0) + i / p.values * p.n;
                     const int64_t found = search(row, p.n, a.in<T>(1)[i], p.upper);
                     if (p.out == DType::kInt32) {
                       a.out<int32_t>()[i] = static_cast<int32_t>(found);
                     } else {
                       a.out<int64_t>()[i] = found;
                     }
                   }
                 });
  });
}

}  // namespace

void register_search_kernels(KernelRegistry& r) {
  r.add(
      make_kernel<prepare_search<false>, launch_search>("LowerBound", "cpu.lower_bound"));
  r.add(
      make_kernel<prepare_search<true>, launch_search>("UpperBound", "cpu.upper_bound"));
}

}  // namespace tandem::cpu
