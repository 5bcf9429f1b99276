// Unique, UniqueV2 and their forms with counts: one pass over an open-addressing table
// that holds positions of first occurrences. dtypes: all. Numbers are equal when == says
// so: NaN is never equal to anything, and -0 equals 0.
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <functional>
#include <string>
#include <string_view>

#include "base/parallel.h"
#include "kernels/cpu/indexing_common.h"
#include "kernels/cpu/indexing_families.h"
#include "tandem/ops/indexing.h"

namespace tandem::cpu {

namespace {

// x [outer, n, inner]: n slices are compared. A vector is the case outer = inner = 1.
struct UniquePlan {
  DType dtype = DType::kInvalid;
  DType index = DType::kInt32;
  bool counts = false;
  Shape shape;
  int axis = 0;
  int64_t outer = 1, n = 0, inner = 1;
  size_t slots = 0;
  size_t workspace_bytes = 0;  // table, ids, first positions, counts
};

template <bool kCounts>
UniquePlan prepare_unique(const Signature& s) {
  UniquePlan p;
  p.dtype = s.in(0).dtype;
  p.index = s.attrs.as<UniqueAttrs>().out_idx;
  p.counts = kCounts;
  p.shape = s.in(0).shape;
  if (s.inputs.size() > 1 && !s.in(1).value.empty()) {
    const int64_t axis = s.in(1).value[0];
    p.axis = static_cast<int>(axis < 0 ? axis + p.shape.rank() : axis);
  }
  p.outer = dim_product(p.shape, 0, p.axis);
  p.n = p.shape[p.axis];
  p.inner = dim_product(p.shape, p.axis + 1, p.shape.rank());
  if (p.inner == 0) p.outer = 0;  // nothing to compare, however often
  p.slots = std::bit_ceil(static_cast<size_t>(p.n) * 2 + 2);
  p.workspace_bytes = (p.slots + 3 * static_cast<size_t>(p.n)) * sizeof(int64_t);
  return p;
}

uint64_t mix(uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ull;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ull;
  return x ^ x >> 32;
}

// Bits that are equal for equal values.
uint64_t equal_bits(uint8_t x) { return x; }
uint64_t equal_bits(uint16_t x) { return x; }
uint64_t equal_bits(uint32_t x) { return x; }
uint64_t equal_bits(uint64_t x) { return x; }
uint64_t equal_bits(float x) { return std::bit_cast<uint32_t>(x == 0 ? 0.f : x); }
uint64_t equal_bits(double x) { return std::bit_cast<uint64_t>(x == 0 ? 0. : x); }
uint64_t equal_bits(float16 x) { return equal_bits(static_cast<float>(x)); }
uint64_t equal_bits(bfloat16 x) { return equal_bits(static_cast<float>(x)); }
template <class T>
uint64_t equal_bits(const std::complex<T>& x) {
  return mix(equal_bits(x.real())) + equal_bits(x.imag());
}
uint64_t equal_bits(const std::string& x) { return std::hash<std::string_view>{}(x); }

template <class T>
class Slices {
 public:
  Slices(const UniquePlan& p, const T* x) : p_(p), x_(x) {}
  uint64_t hash(int64_t i) const {
    if (p_.outer == 1 && p_.inner == 1) return mix(equal_bits(x_[i]));
    uint64_t h = 0;
    for (int64_t o = 0; o < p_.outer; ++o) {
      const T* row = x_ + (o * p_.n + i) * p_.inner;
      for (int64_t k = 0; k < p_.inner; ++k) h = mix(h + equal_bits(row[k]));
    }
    return h;
  }
  bool equal(int64_t i, int64_t j) const {
    for (int64_t o = 0; o < p_.outer; ++o) {
      const T* a = x_ + (o * p_.n + i) * p_.inner;
      const T* b = x_ + (o * p_.n + j) * p_.inner;
      for (int64_t k = 0; k < p_.inner; ++k) {
        if (!(a[k] == b[k])) return false;
      }
    }
    return true;
  }

 private:
  const UniquePlan& p_;
  const T* x_;
};

// Gives every slice the number of its first equal one; returns how many distinct ones
// there are.
template <class T>
int64_t number_slices(const UniquePlan& p, const T* x, int64_t* table, int64_t* ids,
                      int64_t* first, int64_t* counts) {
  const Slices<T> slices(p, x);
  const size_t last_slot = p.slots - 1;
  std::fill_n(table, p.slots, -1);
  int64_t distinct = 0;
  for (int64_t i = 0; i < p.n; ++i) {
    size_t slot = slices.hash(i) & last_slot;
    while (table[slot] >= 0 && !slices.equal(first[table[slot]], i)) {
      slot = (slot + 1) & last_slot;
    }
    if (table[slot] < 0) {
      table[slot] = distinct;
      first[distinct] = i;
      counts[distinct++] = 0;
    }
    ids[i] = table[slot];
    ++counts[ids[i]];
  }
  return distinct;
}

void write_numbers(DType dtype, void* out, const int64_t* in, int64_t n) {
  by_index(dtype, [&]<class I>(std::type_identity<I>) {
    parallel_for(n, 32 * 1024, [&](int64_t begin, int64_t end) {
      auto* to = static_cast<I*>(out);
      for (int64_t i = begin; i < end; ++i) to[i] = static_cast<I>(in[i]);
    });
  });
}

template <class T>
void run_unique(const UniquePlan& p, const LaunchArgs& a, OutputAllocator& outputs) {
  auto* table = static_cast<int64_t*>(a.workspace);
  int64_t* ids = table + p.slots;
  int64_t* first = ids + p.n;
  int64_t* counts = first + p.n;
  const auto* x = a.in<T>(0);
  const int64_t distinct = number_slices(p, x, table, ids, first, counts);
  Shape shape = p.shape;
  shape.set(p.axis, distinct);
  auto* y = static_cast<T*>(outputs.allocate(0, shape));
  for (int64_t o = 0; distinct && o < p.outer; ++o) {
    gather_rows(p.dtype, y + o * distinct * p.inner, x + o * p.n * p.inner, first,
                distinct, p.inner);
  }
  write_numbers(p.index, outputs.allocate(1, {p.n}), ids, p.n);
  if (p.counts) write_numbers(p.index, outputs.allocate(2, {distinct}), counts, distinct);
}

void launch_unique(const UniquePlan& p, const LaunchArgs& a, OutputAllocator& outputs) {
  switch (p.dtype) {
    case DType::kFloat16:
      return run_unique<float16>(p, a, outputs);
    case DType::kBFloat16:
      return run_unique<bfloat16>(p, a, outputs);
    case DType::kFloat32:
      return run_unique<float>(p, a, outputs);
    case DType::kFloat64:
      return run_unique<double>(p, a, outputs);
    case DType::kComplex64:
      return run_unique<std::complex<float>>(p, a, outputs);
    case DType::kComplex128:
      return run_unique<std::complex<double>>(p, a, outputs);
    case DType::kString:
      return run_unique<std::string>(p, a, outputs);
    default:
      break;
  }
  switch (dtype_size(p.dtype)) {
    case 1:
      return run_unique<uint8_t>(p, a, outputs);
    case 2:
      return run_unique<uint16_t>(p, a, outputs);
    case 4:
      return run_unique<uint32_t>(p, a, outputs);
    default:
      return run_unique<uint64_t>(p, a, outputs);
  }
}

}  // namespace

void register_unique_kernels(KernelRegistry& r) {
  r.add(make_kernel<prepare_unique<false>, launch_unique>("Unique", "cpu.unique"));
  r.add(make_kernel<prepare_unique<false>, launch_unique>("UniqueV2", "cpu.unique_v2"));
  r.add(make_kernel<prepare_unique<true>, launch_unique>("UniqueWithCounts",
                                                         "cpu.unique_with_counts"));
  r.add(make_kernel<prepare_unique<true>, launch_unique>("UniqueWithCountsV2",
                                                         "cpu.unique_with_counts_v2"));
}

}  // namespace tandem::cpu
