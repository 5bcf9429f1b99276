// Panels of B for the register tiles: `depth` rows of `width` neighbouring columns, one
// after the other, zeros where B has no more columns. Only for files compiled per ISA.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/gemm_vector.h"

namespace tandem::cpu::TANDEM_ISA {

struct Panel {
  const float* b;  // the first element that is packed
  int64_t ldb;
  int64_t depth, columns, width;
};

inline void pack_rows(const Panel& p, float* to) {
  for (int64_t q = 0; q < p.depth; ++q, to += p.width) {
    const float* row = p.b + q * p.ldb;
    int64_t j = 0;
    for (; j + Vector::kLanes <= p.columns; j += Vector::kLanes) {
      Vector::load(row + j).store(to + j);
    }
    if (j < p.width) {
      Vector::load(row + j, Vector::first(p.columns - j)).store(to + j);
    }
  }
}

using Eight = float __attribute__((vector_size(32)));

/// Eight runs of eight floats, `step` apart, to eight rows of `width`.
inline void transpose_eight(const float* from, int64_t step, float* to, int64_t width) {
  Eight r[8], s[8];
  for (int i = 0; i < 8; ++i) std::memcpy(&r[i], from + i * step, sizeof(Eight));
  for (int i = 0; i < 8; i += 2) {
    s[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    s[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int h = 0; h < 2; ++h) {
      r[i + 2 * h] =
          __builtin_shufflevector(s[i + h], s[i + h + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      r[i + 2 * h + 1] =
          __builtin_shufflevector(s[i + h], s[i + h + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int i = 0; i < 4; ++i) {
    s[i] = __builtin_shufflevector(r[i], r[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    s[i + 4] = __builtin_shufflevector(r[i], r[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  for (int i = 0; i < 8; ++i) std::memcpy(to + i * width, &s[i], sizeof(Eight));
}

/// B is stored transposed: its columns are rows in memory.
inline void pack_columns(const Panel& p, float* to) {
  int64_t j = 0;
  for (; j + 8 <= p.columns; j += 8) {
    const float* from = p.b + j * p.ldb;
    int64_t q = 0;
    for (; q + 8 <= p.depth; q += 8) {
      transpose_eight(from + q, p.ldb, to + q * p.width + j, p.width);
    }
    for (; q < p.depth; ++q) {
      for (int64_t i = 0; i < 8; ++i) to[q * p.width + j + i] = from[i * p.ldb + q];
    }
  }
  for (; j < p.columns; ++j) {
    for (int64_t q = 0; q < p.depth; ++q) to[q * p.width + j] = p.b[j * p.ldb + q];
  }
  if (p.columns == p.width) return;
  for (int64_t q = 0; q < p.depth; ++q) {
    std::fill(to + q * p.width + p.columns, to + (q + 1) * p.width, 0.f);
  }
}

}  // namespace tandem::cpu::TANDEM_ISA
