// Addresses that stand for arguments and results of the caller while work is recorded
// (device/capture_session.h). Nothing lies there. A device that records finds them among
// the arguments of its kernels and knows from then on which words to change when an
// operand has another address. No number that a program computes looks like one: the
// upper half is a NaN as a float, and far from every size and stride as an integer. They
// are aligned like memory from an allocator. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::operand_address {

/// Operands of one recording are numbered from 0.
inline constexpr int32_t kMostOperands = 1 << 12;
/// Of one operand; kernels may be given addresses as far in front of it and behind it.
inline constexpr int64_t kMostBytes = int64_t{1} << 34;
/// What a recording may rely on: arguments at other addresses must not be given to it.
inline constexpr size_t kAlignment = 16;

namespace detail {
inline constexpr uint64_t kMark = uint64_t{0xFFA5} << 48;
inline constexpr uint64_t kMarkBits = uint64_t{0xFFFF} << 48;
inline constexpr int kNumberShift = 36;
inline constexpr uint64_t kOffsetBits = (uint64_t{1} << kNumberShift) - 1;
inline constexpr uint64_t kMiddle = uint64_t{1} << 35;
}  // namespace detail

inline void* of(int32_t operand) {
  return reinterpret_cast<void*>(detail::kMark | detail::kMiddle |
                                 static_cast<uint64_t>(operand) << detail::kNumberShift);
}

/// Whether a word is one of them, or lies within an operand.
constexpr bool is(uint64_t word) { return (word & detail::kMarkBits) == detail::kMark; }
inline bool is(const void* p) { return is(reinterpret_cast<uint64_t>(p)); }

constexpr int32_t number(uint64_t word) {
  return static_cast<int32_t>((word & ~detail::kMarkBits) >> detail::kNumberShift);
}
/// Bytes from the beginning of the operand.
constexpr int64_t offset(uint64_t word) {
  return static_cast<int64_t>(word & detail::kOffsetBits) -
         static_cast<int64_t>(detail::kMiddle);
}

}  // namespace tandem::operand_address
