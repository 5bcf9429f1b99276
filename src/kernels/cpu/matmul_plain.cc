// MatMul without a library: int32 and int64 in cache blocks, and float64 products so
// small that calling a library takes longer than computing them (float32 has
// gemm_tiles.h).
#include <algorithm>
#include <type_traits>

#include "base/parallel.h"
#include "kernels/cpu/matmul_plan.h"

namespace tandem::cpu {

namespace {

constexpr int64_t kBlockRows = 4, kBlockColumns = 32, kBlockDepth = 128;

// acc[kBlockRows][kBlockColumns] += a block · packed block; `rows` of them are real.
template <class T>
void block(const T* const* a, int64_t a_step, const T* packed, int64_t depth, T* const* c,
           int64_t columns, bool first) {
  T acc[kBlockRows][kBlockColumns] = {};
  for (int64_t p = 0; p < depth; ++p) {
    const T* b = packed + p * kBlockColumns;
    for (int64_t r = 0; r < kBlockRows; ++r) {
      const T x = a[r][p * a_step];
      for (int64_t j = 0; j < kBlockColumns; ++j) acc[r][j] += x * b[j];
    }
  }
  for (int64_t r = 0; r < kBlockRows; ++r) {
    if (!c[r]) continue;
    if (first) {
      std::copy_n(acc[r], columns, c[r]);
    } else {
      for (int64_t j = 0; j < columns; ++j) c[r][j] += acc[r][j];
    }
  }
}

template <class T>
void pack(const T* b, int64_t row_step, int64_t column_step, int64_t depth,
          int64_t columns, T* packed) {
  for (int64_t p = 0; p < depth; ++p) {
    T* row = packed + p * kBlockColumns;
    for (int64_t j = 0; j < columns; ++j) row[j] = b[p * row_step + j * column_step];
    std::fill(row + columns, row + kBlockColumns, T{});
  }
}

// A few columns: dot products with columns that are packed one after the other.
template <class T>
void narrow_tile(const MatMulPlan& p, const MatMulTile& t, const T* a, const T* b, T* c) {
  constexpr int64_t kStretch = 512;
  T column[kStretch];
  const int64_t a_row = p.transpose_a ? 1 : p.lda, a_step = p.transpose_a ? p.lda : 1;
  const int64_t b_row = p.transpose_b ? 1 : p.ldb, b_step = p.transpose_b ? p.ldb : 1;
  for (int64_t j = t.column; j < t.column + t.columns; ++j) {
    for (int64_t q = 0; q < p.k; q += kStretch) {
      const int64_t depth = std::min(kStretch, p.k - q);
      for (int64_t k = 0; k < depth; ++k) column[k] = b[(q + k) * b_row + j * b_step];
      for (int64_t i = t.row; i < t.row + t.rows; ++i) {
        const T* row = a + i * a_row + q * a_step;
        T sum = 0;
        if (a_step == 1) {
#pragma omp simd reduction(+ : sum)
          for (int64_t k = 0; k < depth; ++k) sum += row[k] * column[k];
        } else {
          for (int64_t k = 0; k < depth; ++k) sum += row[k * a_step] * column[k];
        }
        c[i * p.n + j] = q == 0 ? sum : c[i * p.n + j] + sum;
      }
    }
  }
}

// Integers wrap around, so they are computed as unsigned ones.
template <class T>
void integer_tile(const MatMulPlan& p, const MatMulTile& t, const T* a, const T* b,
                  T* c) {
  a += p.a_offset(t.batch);
  b += p.b_offset(t.batch);
  c += t.batch * p.m * p.n;
  if (p.n < 8) return narrow_tile(p, t, a, b, c);
  T packed[kBlockDepth * kBlockColumns];
  const int64_t a_row = p.transpose_a ? 1 : p.lda, a_step = p.transpose_a ? p.lda : 1;
  const int64_t b_row = p.transpose_b ? 1 : p.ldb, b_step = p.transpose_b ? p.ldb : 1;
  const int64_t row_end = t.row + t.rows, column_end = t.column + t.columns;
  for (int64_t j = t.column; j < column_end; j += kBlockColumns) {
    const int64_t columns = std::min(kBlockColumns, column_end - j);
    for (int64_t q = 0; q < p.k; q += kBlockDepth) {
      const int64_t depth = std::min(kBlockDepth, p.k - q);
      pack(b + q * b_row + j * b_step, b_row, b_step, depth, columns, packed);
      for (int64_t i = t.row; i < row_end; i += kBlockRows) {
        const T* rows[kBlockRows];
        T* results[kBlockRows];
        for (int64_t r = 0; r < kBlockRows; ++r) {
          const int64_t at = std::min(i + r, row_end - 1);
          rows[r] = a + at * a_row + q * a_step;
          results[r] = i + r < row_end ? c + at * p.n + j : nullptr;
        }
        block(rows, a_step, packed, depth, results, columns, q == 0);
      }
    }
  }
}

template <class T>
void launch_integer(const MatMulPlan& p, const LaunchArgs& args) {
  if (finish_trivial(p, args.out<T>())) return;
  parallel_tiles(p, 4e3, [&](const MatMulTile& t) {
    integer_tile(p, t, args.in<T>(0), args.in<T>(1), args.out<T>());
  });
}

template <class T>
void launch_tiny(const MatMulPlan& p, const LaunchArgs& args) {
  if (finish_trivial(p, args.out<T>())) return;
  const int64_t a_row = p.transpose_a ? 1 : p.lda, a_step = p.transpose_a ? p.lda : 1;
  const int64_t b_row = p.transpose_b ? 1 : p.ldb, b_step = p.transpose_b ? p.ldb : 1;
  const auto grain = static_cast<int64_t>(4e4 / (p.flops() + 8));
  parallel_for(p.batch, grain, [&](int64_t begin, int64_t end) {
    for (int64_t x = begin; x < end; ++x) {
      const T* a = args.in<T>(0) + p.a_offset(x);
      const T* b = args.in<T>(1) + p.b_offset(x);
      T* c = args.out<T>() + x * p.m * p.n;
      for (int64_t i = 0; i < p.m; ++i) {
        for (int64_t j = 0; j < p.n; ++j) {
          T sum = 0;
          for (int64_t q = 0; q < p.k; ++q) {
            sum += a[i * a_row + q * a_step] * b[q * b_row + j * b_step];
          }
          c[i * p.n + j] = sum;
        }
      }
    }
  });
}

bool is_tiny(const Signature& s) {
  const MatMulPlan p = plan_matmul(s);
  return p.m * p.n * p.k <= 128 && p.m <= 128 && p.n <= 128 && p.k <= 128;
}

}  // namespace

void register_matmul_plain(KernelRegistry& registry) {
  registry.add(make_kernel<&plan_matmul, &launch_tiny<double>>(
      "MatMul", "cpu.matmul.tiny.f64", mask(DType::kFloat64), is_tiny));
  registry.add(make_kernel<&plan_matmul, &launch_integer<uint32_t>>(
      "MatMul", "cpu.matmul.i32", mask(DType::kInt32)));
  registry.add(make_kernel<&plan_matmul, &launch_integer<uint64_t>>(
      "MatMul", "cpu.matmul.i64", mask(DType::kInt64)));
}

}  // namespace tandem::cpu
