// Where the elements of a band of diagonals stand, for inference and kernels. Diagonal
// `upper - r` is row r of the packed form; shorter ones stand left or right in their row.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tandem/ops/array_layout.h"

namespace tandem {

struct DiagBand {
  int64_t lower, upper;
  int64_t rows, cols;  // of the matrices
  DiagAlign align;

  int64_t num_diags() const { return upper - lower + 1; }
  int64_t max_len() const {
    return std::max<int64_t>(0, std::min(rows + std::min<int64_t>(upper, 0),
                                         cols - std::max<int64_t>(lower, 0)));
  }
  int64_t len(int64_t d) const {
    return std::min(rows + std::min<int64_t>(d, 0), cols - std::max<int64_t>(d, 0));
  }
  /// Elements of padding before diagonal d in its row.
  int64_t offset(int64_t d) const {
    const bool upper_left =
        align == DiagAlign::kLeftRight || align == DiagAlign::kLeftLeft;
    const bool lower_left =
        align == DiagAlign::kRightLeft || align == DiagAlign::kLeftLeft;
    const bool left = (d >= 0 && upper_left) || (d <= 0 && lower_left);
    return left ? 0 : max_len() - len(d);
  }
};

}  // namespace tandem
