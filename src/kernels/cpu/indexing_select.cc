// OneHot and Where. dtypes: OneHot all, by element size; Where all numbers and bool.
#include <algorithm>
#include <array>
#include <bit>

#include "base/parallel.h"
#include "kernels/cpu/indexing_common.h"
#include "kernels/cpu/indexing_families.h"
#include "tandem/ops/indexing.h"

namespace tandem::cpu {

namespace {

// ---- OneHot
// -----------------------------------------------------------------------------------
// indices [prefix, suffix] → [prefix, depth, suffix].
struct OneHotPlan {
  DType dtype = DType::kInvalid;
  DType index = DType::kInt32;
  int64_t prefix = 0, depth = 0, suffix = 0;
};

OneHotPlan prepare_one_hot(const Signature& s) {
  const Shape& indices = s.in(0).shape;
  const Shape& out = s.out().shape;
  const int64_t given = s.attrs.as<AxisAttrs>().axis;
  const int axis = given < 0 ? indices.rank() : static_cast<int>(given);
  return {s.out().dtype, s.in(0).dtype, dim_product(indices, 0, axis), out[axis],
          dim_product(indices, axis, indices.rank())};
}

template <class E, class I>
void write_one_hot(const OneHotPlan& p, const I* indices, const E& on, const E& off,
                   E* out) {
  const int64_t block = p.depth * p.suffix;
  const auto set = [&](E* to, const I* index, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      // A negative index becomes a huge one.
      const auto k = static_cast<uint64_t>(static_cast<int64_t>(index[i]));
      if (k < static_cast<uint64_t>(p.depth))
        to[static_cast<int64_t>(k) * p.suffix + i] = on;
    }
  };
  if (p.prefix == 1 && p.suffix > 1) {
    parallel_for(p.depth, copy_grain(p.suffix * static_cast<int64_t>(sizeof(E))),
                 [&](int64_t begin, int64_t end) {
                   std::fill(out + begin * p.suffix, out + end * p.suffix, off);
                 });
    parallel_for(p.suffix, 8192, [&](int64_t begin, int64_t end) {
      set(out + begin, indices + begin, end - begin);
    });
    return;
  }
  parallel_for(p.prefix, copy_grain(block * static_cast<int64_t>(sizeof(E))),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   E* to = out + i * block;
                   std::fill(to, to + block, off);
                   set(to, indices + i * p.suffix, p.suffix);
                 }
               });
}

void launch_one_hot(const OneHotPlan& p, const LaunchArgs& a) {
  if (p.prefix * p.depth * p.suffix == 0) return;
  by_element(p.dtype, [&]<class E>(std::type_identity<E>) {
    const auto run = [&]<class I>(const I* indices) {
      write_one_hot(p, indices, *a.in<E>(2), *a.in<E>(3), a.out<E>());
    };
    switch (p.index) {
      case DType::kUInt8:
        return run(a.in<uint8_t>(0));
      case DType::kInt8:
        return run(a.in<int8_t>(0));
      case DType::kInt32:
        return run(a.in<int32_t>(0));
      default:
        return run(a.in<int64_t>(0));
    }
  });
}

// ---- Where
// ------------------------------------------------------------------------------------ An
// element is true when any bit but the sign of a floating-point number is set.
struct WherePlan {
  Shape shape;
  size_t size = 1;  // of an element; complex numbers are two words
  uint64_t bits = ~0ull;
};

WherePlan prepare_where(const Signature& s) {
  WherePlan p;
  p.shape = s.in(0).shape;
  p.size = dtype_size(s.in(0).dtype);
  switch (s.in(0).dtype) {
    case DType::kFloat16:
    case DType::kBFloat16:
      p.bits = 0x7fffu;
      break;
    case DType::kFloat32:
      p.bits = 0x7fffffffu;
      break;
    case DType::kComplex64:
      p.bits = 0x7fffffff7fffffffull;
      break;
    case DType::kFloat64:
    case DType::kComplex128:
      p.bits = 0x7fffffffffffffffull;
      break;
    default:
      break;
  }
  return p;
}

template <class W>
struct Truth {
  const W* data;
  W bits;
  bool operator()(int64_t i) const { return (data[i] & bits) != 0; }
};
struct WideTruth {
  const Bytes16* data;
  uint64_t bits;
  bool operator()(int64_t i) const { return ((data[i].low | data[i].high) & bits) != 0; }
};

// Coordinates of the true elements of [begin, end).
template <class T>
void write_coordinates(const Shape& shape, const T& truth, int64_t begin, int64_t end,
                       int64_t* out) {
  const int rank = shape.rank();
  if (rank == 1) {
    for (int64_t i = begin; i < end; ++i) {
      if (truth(i)) *out++ = i;
    }
    return;
  }
  const int64_t last = shape[rank - 1];
  int64_t column = begin % last;
  std::array<int64_t, kMaxRank> at{};
  int64_t rest = begin / last;
  for (int d = rank - 2; d >= 0; --d) {
    at[static_cast<size_t>(d)] = rest % shape[d];
    rest /= shape[d];
  }
  for (int64_t i = begin; i < end;) {
    const int64_t stop = std::min(last, column + end - i);
    for (; column < stop; ++column, ++i) {
      if (!truth(i)) continue;
      out = std::copy_n(at.data(), rank - 1, out);
      *out++ = column;
    }
    column = 0;
    for (int d = rank - 2; d >= 0; --d) {
      if (++at[static_cast<size_t>(d)] < shape[d]) break;
      at[static_cast<size_t>(d)] = 0;
    }
  }
}

template <class T>
void find_true(const WherePlan& p, const T& truth, OutputAllocator& outputs) {
  constexpr int kParts = 64;
  constexpr int64_t kGrain = 16 * 1024;
  std::array<int64_t, kParts + 1> first{};
  const int64_t n = p.shape.num_elements();
  const int parts =
      parallel_parts(n, kGrain, kParts, [&](int part, int64_t begin, int64_t end) {
        int64_t count = 0;
        for (int64_t i = begin; i < end; ++i) count += truth(i);
        first[static_cast<size_t>(part) + 1] = count;
      });
  for (size_t i = 0; i < static_cast<size_t>(parts); ++i) first[i + 1] += first[i];
  const int rank = p.shape.rank();
  const int64_t total = first[static_cast<size_t>(parts)];
  auto* out = static_cast<int64_t*>(outputs.allocate(0, {total, rank}));
  if (total == 0) return;
  parallel_parts(n, kGrain, kParts, [&](int part, int64_t begin, int64_t end) {
    write_coordinates(p.shape, truth, begin, end,
                      out + first[static_cast<size_t>(part)] * rank);
  });
}

void launch_where(const WherePlan& p, const LaunchArgs& a, OutputAllocator& outputs) {
  switch (p.size) {
    case 1:
      return find_true(p, Truth<uint8_t>{a.in<uint8_t>(0), static_cast<uint8_t>(p.bits)},
                       outputs);
    case 2:
      return find_true(
          p, Truth<uint16_t>{a.in<uint16_t>(0), static_cast<uint16_t>(p.bits)}, outputs);
    case 4:
      return find_true(
          p, Truth<uint32_t>{a.in<uint32_t>(0), static_cast<uint32_t>(p.bits)}, outputs);
    case 8:
      return find_true(p, Truth<uint64_t>{a.in<uint64_t>(0), p.bits}, outputs);
    default:
      return find_true(p, WideTruth{a.in<Bytes16>(0), p.bits}, outputs);
  }
}

}  // namespace

void register_select_kernels(KernelRegistry& r) {
  r.add(make_kernel<prepare_one_hot, launch_one_hot>("OneHot", "cpu.one_hot"));
  r.add(make_kernel<prepare_where, launch_where>("Where", "cpu.where"));
}

}  // namespace tandem::cpu
