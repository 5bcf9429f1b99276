// Items that sort as plain numbers: elements become unsigned keys whose order is theirs,
// alone or together with their index (then equal elements keep their order). Sorting is
// radix from the low digit up, in parallel for long runs, std::sort for short ones.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/parallel.h"
#include "op/op_def.h"
#include "tandem/dtype.h"

namespace tandem::cpu {

// ---- Keys
// -------------------------------------------------------------------------------------
template <size_t kBytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using type = uint8_t;
};
template <>
struct UnsignedOf<2> {
  using type = uint16_t;
};
template <>
struct UnsignedOf<4> {
  using type = uint32_t;
};
template <>
struct UnsignedOf<8> {
  using type = uint64_t;
};

/// The order of T as an unsigned integer. NaN is above all numbers.
template <class T>
struct Order {
  using Key = typename UnsignedOf<sizeof(T)>::type;
  static constexpr Key kSign = static_cast<Key>(Key{1} << (8 * sizeof(T) - 1));
  static constexpr bool kFloating = std::is_floating_point_v<T> ||
                                    std::is_same_v<T, float16> ||
                                    std::is_same_v<T, bfloat16>;
  /// Bits of infinity: everything above is NaN.
  static constexpr Key infinity() {
    if constexpr (std::is_same_v<T, float>) return 0x7f800000u;
    if constexpr (std::is_same_v<T, double>) return 0x7ff0000000000000ull;
    if constexpr (std::is_same_v<T, bfloat16>) return 0x7f80u;
    return static_cast<Key>(0x7c00u);
  }
  static Key key(T value) {
    const Key u = std::bit_cast<Key>(value);
    if constexpr (kFloating) {
      if (static_cast<Key>(u & static_cast<Key>(~kSign)) > infinity()) {
        return std::numeric_limits<Key>::max();
      }
      return static_cast<Key>(u & kSign ? static_cast<Key>(~u)
                                        : static_cast<Key>(u | kSign));
    } else if constexpr (std::is_signed_v<T>) {
      return static_cast<Key>(u ^ kSign);
    } else {
      return u;
    }
  }
  /// The same with -0 equal to 0.
  static Key equal_zeros(T value) {
    const Key k = key(value);
    if constexpr (kFloating) return k == static_cast<Key>(kSign - 1) ? kSign : k;
    return k;
  }
  static T value(Key k) {
    if constexpr (kFloating) {
      return std::bit_cast<T>(static_cast<Key>(k & kSign ? static_cast<Key>(k ^ kSign)
                                                         : static_cast<Key>(~k)));
    } else if constexpr (std::is_signed_v<T>) {
      return std::bit_cast<T>(static_cast<Key>(k ^ kSign));
    } else {
      return std::bit_cast<T>(k);
    }
  }
};

// ---- Items
// ------------------------------------------------------------------------------------
/// A key of at most 32 bits above a 32-bit index.
struct PackedItem {
  uint64_t bits;
  PackedItem() = default;
  PackedItem(uint64_t key, int64_t index)
      : bits(key << 32 | static_cast<uint64_t>(index)) {}
  int64_t index() const { return static_cast<int64_t>(bits & 0xffffffffu); }
  uint64_t key() const { return bits >> 32; }
  friend bool operator<(PackedItem a, PackedItem b) { return a.bits < b.bits; }
};
struct WideItem {
  uint64_t bits;
  int64_t at;
  WideItem() = default;
  WideItem(uint64_t key, int64_t index) : bits(key), at(index) {}
  int64_t index() const { return at; }
  uint64_t key() const { return bits; }
  friend bool operator<(const WideItem& a, const WideItem& b) {
    return a.bits != b.bits ? a.bits < b.bits : a.at < b.at;
  }
};
/// The item type for elements of T in rows that an int32 index can count.
template <class T>
using ItemOf = std::conditional_t<sizeof(T) <= 4, PackedItem, WideItem>;

template <class Item>
uint64_t key_of(const Item& item) {
  if constexpr (std::is_integral_v<Item>) {
    return item;
  } else {
    return item.key();
  }
}

/// Sorts by key, stably; `scratch` has room for n items. `key_bytes` low bytes of the key
/// count. `parallel` only outside of a parallel range, for long runs.
template <class Item>
void sort_items(Item* items, Item* scratch, int64_t n, int key_bytes, bool parallel) {
  constexpr int64_t kShort = 512;
  if (n <= kShort) {
    std::sort(items, items + n);
    return;
  }
  constexpr int kParts = 16;
  constexpr int64_t kGrain = 16 * 1024;
  using Counts = std::array<int64_t, 256>;
  std::array<Counts, kParts> counts;
  const int max_parts = parallel ? kParts : 1;
  Item* from = items;
  Item* to = scratch;
  for (int pass = 0; pass < key_bytes; ++pass) {
    const int shift = 8 * pass;
    const auto digit = [shift](const Item& item) {
      return static_cast<size_t>(key_of(item) >> shift & 255u);
    };
    const int parts =
        parallel_parts(n, kGrain, max_parts, [&](int part, int64_t b, int64_t e) {
          Counts& count = counts[static_cast<size_t>(part)];
          count.fill(0);
          for (int64_t i = b; i < e; ++i) ++count[digit(from[i])];
        });
    // Where each part's items of a digit go; a digit that all share needs no pass.
    int64_t at = 0;
    bool one_digit = false;
    for (size_t d = 0; d < 256; ++d) {
      const int64_t begin = at;
      for (size_t part = 0; part < static_cast<size_t>(parts); ++part) {
        at += std::exchange(counts[part][d], at);
      }
      one_digit |= at - begin == n;
    }
    if (one_digit) continue;
    parallel_parts(n, kGrain, max_parts, [&](int part, int64_t b, int64_t e) {
      Counts& place = counts[static_cast<size_t>(part)];
      for (int64_t i = b; i < e; ++i) to[place[digit(from[i])]++] = from[i];
    });
    std::swap(from, to);
  }
  if (from != items) std::copy(from, from + n, items);
}

extern template void sort_items<uint8_t>(uint8_t*, uint8_t*, int64_t, int, bool);
extern template void sort_items<uint16_t>(uint16_t*, uint16_t*, int64_t, int, bool);
extern template void sort_items<uint32_t>(uint32_t*, uint32_t*, int64_t, int, bool);
extern template void sort_items<uint64_t>(uint64_t*, uint64_t*, int64_t, int, bool);
extern template void sort_items<PackedItem>(PackedItem*, PackedItem*, int64_t, int, bool);
extern template void sort_items<WideItem>(WideItem*, WideItem*, int64_t, int, bool);

/// Calls f(std::type_identity<T>) for the dtypes that have an order.
template <class F>
void by_ordered(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kInt8:
      return f(std::type_identity<int8_t>{});
    case DType::kInt16:
      return f(std::type_identity<int16_t>{});
    case DType::kInt32:
      return f(std::type_identity<int32_t>{});
    case DType::kInt64:
      return f(std::type_identity<int64_t>{});
    case DType::kUInt8:
      return f(std::type_identity<uint8_t>{});
    case DType::kUInt16:
      return f(std::type_identity<uint16_t>{});
    case DType::kUInt32:
      return f(std::type_identity<uint32_t>{});
    case DType::kUInt64:
      return f(std::type_identity<uint64_t>{});
    case DType::kFloat16:
      return f(std::type_identity<float16>{});
    case DType::kBFloat16:
      return f(std::type_identity<bfloat16>{});
    case DType::kFloat32:
      return f(std::type_identity<float>{});
    default:
      return f(std::type_identity<double>{});
  }
}

}  // namespace tandem::cpu
