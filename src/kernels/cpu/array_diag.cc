// MatrixDiagV3, MatrixDiagPartV3, MatrixSetDiagV3, MatrixBandPart, Diag, DiagPart. All
// dtypes but strings, by element size.
#include "ops/array_diag.h"

#include "base/parallel.h"
#include "kernels/cpu/array_common.h"
#include "ops/array_common.h"

namespace tandem::cpu {

namespace {

struct BandPlan {
  DiagBand band;
  int64_t batches;
  DType dtype;
};

template <class A>
BandPlan band_plan(const Shape& matrices, DType dtype, const A& attrs) {
  const int64_t rows = matrices.dim(-2), cols = matrices.dim(-1);
  return {{attrs.lower, attrs.upper, rows, cols, attrs.align},
          matrices.slice(0, matrices.rank() - 2).num_elements(),
          dtype};
}
BandPlan prepare_matrix_diag(const Signature& s) {
  return band_plan(s.out().shape, s.out().dtype, s.attrs.as<MatrixDiagAttrs>());
}
BandPlan prepare_on_input(const Signature& s) {
  return band_plan(s.in(0).shape, s.in(0).dtype, s.attrs.as<DiagAttrs>());
}

// Where element (row, row + d) of a matrix stands in the packed band.
int64_t packed_at(const DiagBand& b, int64_t row, int64_t d) {
  return (b.upper - d) * b.max_len() + b.offset(d) + row + std::min<int64_t>(d, 0);
}

// Calls body(batch, row, first, last): the diagonals [first, last] that cross the row.
template <class F>
void for_band_rows(const BandPlan& p, size_t element, F&& body) {
  const DiagBand& b = p.band;
  parallel_for(p.batches * b.rows, copy_grain(b.cols, element),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t row = i % b.rows;
                   body(i / b.rows, row, std::max(b.lower, -row),
                        std::min(b.upper, b.cols - 1 - row));
                 }
               });
}

template <class T>
void write_band(const BandPlan& p, const T* diagonals, T* out, const T* padding) {
  const DiagBand& b = p.band;
  const int64_t packed = b.num_diags() * b.max_len();
  for_band_rows(p, sizeof(T),
                [&](int64_t batch, int64_t row, int64_t first, int64_t last) {
                  T* to = out + (batch * b.rows + row) * b.cols;
                  if (padding) std::fill_n(to, b.cols, *padding);
                  const T* from = diagonals + batch * packed;
                  for (int64_t d = first; d <= last; ++d)
                    to[row + d] = from[packed_at(b, row, d)];
                });
}

void launch_matrix_diag(const BandPlan& p, const LaunchArgs& a) {
  for_element(p.dtype, [&]<class T>(const T&) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      const T zero{};
      const T* padding = a.in<T>(1) ? a.in<T>(1) : &zero;
      write_band(p, a.in<T>(0), a.out<T>(), padding);
    }
  });
}
void launch_set_diag(const BandPlan& p, const LaunchArgs& a) {
  const int64_t n = p.batches * p.band.rows * p.band.cols;
  StridedCopy::flat(p.dtype, n).run(a.in<void>(0), a.out<void>());
  for_element(p.dtype, [&]<class T>(const T&) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      write_band<T>(p, a.in<T>(1), a.out<T>(), nullptr);
    }
  });
}

template <class T>
void read_band(const BandPlan& p, const T* in, T* out, T padding) {
  const DiagBand& b = p.band;
  const int64_t m = b.max_len(), diags = b.num_diags();
  parallel_for(
      p.batches * diags, copy_grain(4 * m, sizeof(T)), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t d = b.upper - i % diags;
          const int64_t n = std::max<int64_t>(0, b.len(d)), offset = n ? b.offset(d) : 0;
          T* to = out + i * m;
          const T* from = in + i / diags * b.rows * b.cols;
          for (int64_t k = 0; k < offset; ++k) to[k] = padding;
          for (int64_t k = 0; k < n; ++k) {
            const int64_t row = k + std::max<int64_t>(-d, 0),
                          col = k + std::max<int64_t>(d, 0);
            to[offset + k] = from[row * b.cols + col];
          }
          for (int64_t k = offset + n; k < m; ++k) to[k] = padding;
        }
      });
}
void launch_diag_part(const BandPlan& p, const LaunchArgs& a) {
  for_element(p.dtype, [&]<class T>(const T&) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      read_band(p, a.in<T>(0), a.out<T>(), a.in<T>(1) ? *a.in<T>(1) : T{});
    }
  });
}

struct BandPartPlan {
  int64_t batches, rows, cols, lower, upper;  // diagonals kept
  DType dtype;
};
BandPartPlan prepare_band_part(const Signature& s) {
  const auto& a = s.attrs.as<BandPartAttrs>();
  const Shape& in = s.in(0).shape;
  const int64_t rows = in.dim(-2), cols = in.dim(-1);
  const int64_t far = rows + cols;
  return {in.slice(0, in.rank() - 2).num_elements(),
          rows,
          cols,
          a.num_lower < 0 ? -far : a.diagonal - a.num_lower,
          a.num_upper < 0 ? far : a.diagonal + a.num_upper,
          s.in(0).dtype};
}
template <class T>
void keep_band(const BandPartPlan& p, const T* in, T* out) {
  parallel_for(
      p.batches * p.rows, copy_grain(p.cols, sizeof(T)), [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; ++i) {
          const int64_t row = i % p.rows;
          const int64_t first = std::clamp<int64_t>(row + p.lower, 0, p.cols);
          const int64_t last = std::clamp<int64_t>(row + p.upper + 1, first, p.cols);
          const T* from = in + i * p.cols;
          T* to = out + i * p.cols;
          std::fill(to, to + first, T{});
          copy_elements(to + first, from + first, last - first);
          std::fill(to + last, to + p.cols, T{});
        }
      });
}
void launch_band_part(const BandPartPlan& p, const LaunchArgs& a) {
  for_element(p.dtype, [&]<class T>(const T&) {
    if constexpr (std::is_trivially_copyable_v<T>) keep_band(p, a.in<T>(0), a.out<T>());
  });
}

MovePlan prepare_diag(const Signature& s) {
  const int64_t n = s.in(0).shape.num_elements();
  const CopyDim dim{n, 1, n + 1};
  return {{StridedCopy(s.in(0).dtype, {&dim, 1})}, zeroed_bytes(s.out())};
}
MovePlan prepare_tensor_diag_part(const Signature& s) {
  const int64_t n = s.out().shape.num_elements();
  const CopyDim dim{n, n + 1, 1};
  return {{StridedCopy(s.in(0).dtype, {&dim, 1})}, 0};
}

}  // namespace

void register_array_diag_kernels(KernelRegistry& registry) {
  registry.add(make_kernel<prepare_matrix_diag, launch_matrix_diag>("MatrixDiagV3",
                                                                    "cpu.matrix_diag"));
  registry.add(make_kernel<prepare_on_input, launch_diag_part>("MatrixDiagPartV3",
                                                               "cpu.matrix_diag_part"));
  registry.add(make_kernel<prepare_on_input, launch_set_diag>("MatrixSetDiagV3",
                                                              "cpu.matrix_set_diag"));
  registry.add(make_kernel<prepare_band_part, launch_band_part>("MatrixBandPart",
                                                                "cpu.band_part"));
  registry.add(make_kernel<prepare_diag, launch_move>("Diag", "cpu.diag"));
  registry.add(
      make_kernel<prepare_tensor_diag_part, launch_move>("DiagPart", "cpu.diag_part"));
}

}  // namespace tandem::cpu
