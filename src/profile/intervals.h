// Sets of times as sorted lists of [begin, end) that do not touch each other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace tandem::profile {

using Interval = std::pair<int64_t, int64_t>;
using Intervals = std::vector<Interval>;

inline Intervals united(Intervals all) {
  std::sort(all.begin(), all.end());
  Intervals result;
  for (const Interval& i : all) {
    if (i.first >= i.second) continue;
    if (!result.empty() && i.first <= result.back().second) {
      result.back().second = std::max(result.back().second, i.second);
    } else {
      result.push_back(i);
    }
  }
  return result;
}

/// What of `i` is not in `taken`.
inline Intervals without(Interval i, const Intervals& taken) {
  Intervals result;
  auto at = std::upper_bound(taken.begin(), taken.end(), i.first,
                             [](int64_t t, const Interval& x) { return t < x.second; });
  for (; at != taken.end() && at->first < i.second; ++at) {
    if (i.first < at->first) result.emplace_back(i.first, at->first);
    i.first = std::max(i.first, at->second);
  }
  if (i.first < i.second) result.push_back(i);
  return result;
}

inline int64_t length(const Intervals& all) {
  int64_t sum = 0;
  for (const auto& [begin, end] : all) sum += end - begin;
  return sum;
}

}  // namespace tandem::profile
