// Diagonals of matrices and tensors.
#include <algorithm>

#include "ops/array_cases.h"

namespace tandem::testing {

namespace {

// Element (row, row + d) of the matrix, from the packed band: row upper - d, place after
// its padding.
struct Band {
  int64_t lower, upper, rows, cols;
  DiagAlign align;
  int64_t length(int64_t d) const {
    return std::min(rows + std::min<int64_t>(d, 0), cols - std::max<int64_t>(d, 0));
  }
  int64_t longest() const {
    int64_t m = 0;
    for (int64_t d = lower; d <= upper; ++d) m = std::max(m, length(d));
    return m;
  }
  bool left(int64_t d) const {
    if (align == DiagAlign::kLeftLeft) return true;
    if (align == DiagAlign::kRightRight) return false;
    const bool upper_left = align == DiagAlign::kLeftRight;
    return d == 0 || (d > 0) == upper_left;
  }
  int64_t place(int64_t d, int64_t row, int64_t col) const {
    return std::min(row, col) + (left(d) ? 0 : longest() - length(d));
  }
};

void add_band_cases(CaseList& cases, const std::string& name, const Band& band) {
  const bool single = band.lower == band.upper;
  const Shape matrices{2, band.rows, band.cols};
  Shape packed{2};
  if (!single) packed.push_back(band.upper - band.lower + 1);
  packed.push_back(band.longest());
  const auto from_packed = [band, single](const Coord& o) -> std::optional<Coord> {
    const int64_t d = o[2] - o[1];
    if (d < band.lower || d > band.upper) return std::nullopt;
    const int64_t at = band.place(d, o[1], o[2]);
    return single ? Coord{o[0], at} : Coord{o[0], band.upper - d, at};
  };
  cases.push_back({.op = "MatrixDiagV3",
                   .name = name,
                   .inputs = {{.shape = packed}, {.shape = {}}},
                   .attrs = owned(MatrixDiagAttrs{band.lower, band.upper, band.rows,
                                                  band.cols, band.align}),
                   .dtypes = kMoved,
                   .reference =
                       [from_packed, matrices](const std::vector<Ref>& in, DType) {
                         Ref r = mapped(in[0], matrices, from_packed);
                         for (size_t i = 0; i < r.values.size(); ++i) {
                           if (!from_packed(coordinate(matrices, i))) {
                             r.values[i] = in[1].values[0];
                           }
                         }
                         return std::vector<Ref>{r};
                       },
                   .grad_inputs = {0}});
  cases.push_back({.op = "MatrixDiagPartV3",
                   .name = name,
                   .inputs = {{.shape = matrices}, {.shape = {}}},
                   .attrs = owned(DiagAttrs{band.lower, band.upper, band.align}),
                   .dtypes = kMoved,
                   .reference =
                       [=](const std::vector<Ref>& in, DType) {
                         Ref r;
                         r.shape = packed;
                         r.values.assign(static_cast<size_t>(packed.num_elements()),
                                         in[1].values[0]);
                         for (size_t i = 0; i < in[0].values.size(); ++i) {
                           if (const auto at = from_packed(coordinate(matrices, i))) {
                             r.values[position(packed, *at)] = in[0].values[i];
                           }
                         }
                         return std::vector<Ref>{r};
                       },
                   .grad_inputs = {0}});
  cases.push_back({.op = "MatrixSetDiagV3",
                   .name = name,
                   .inputs = {{.shape = matrices}, {.shape = packed}},
                   .attrs = owned(DiagAttrs{band.lower, band.upper, band.align}),
                   .dtypes = kMoved,
                   .reference = [=](const std::vector<Ref>& in, DType) {
                     Ref r = in[0];
                     for (size_t i = 0; i < r.values.size(); ++i) {
                       if (const auto at = from_packed(coordinate(matrices, i))) {
                         r.values[i] = in[1].values[position(packed, *at)];
                       }
                     }
                     return std::vector<Ref>{r};
                   }});
}

}  // namespace

void add_array_diag_cases(CaseList& cases) {
  add_band_cases(cases, "main", {0, 0, 3, 3, DiagAlign::kRightLeft});
  add_band_cases(cases, "wide", {0, 0, 3, 5, DiagAlign::kRightLeft});
  add_band_cases(cases, "above", {1, 1, 4, 5, DiagAlign::kRightLeft});
  add_band_cases(cases, "below", {-2, -2, 5, 3, DiagAlign::kRightLeft});
  add_band_cases(cases, "band", {-1, 1, 4, 4, DiagAlign::kRightLeft});
  add_band_cases(cases, "left_right", {-2, 1, 4, 5, DiagAlign::kLeftRight});
  add_band_cases(cases, "left_left", {-1, 2, 5, 4, DiagAlign::kLeftLeft});
  add_band_cases(cases, "right_right", {-1, 1, 4, 4, DiagAlign::kRightRight});
  cases.push_back({.op = "MatrixDiagV3",
                   .name = "least",
                   .inputs = {{.shape = {3}}, {.shape = {}, .absent = true}},
                   .attrs = owned(MatrixDiagAttrs{.lower = -1, .upper = -1}),
                   .reference = moved({4, 4}, [](const Coord& o) -> std::optional<Coord> {
                     if (o[0] != o[1] + 1) return std::nullopt;
                     return Coord{o[1]};
                   })});
  const auto band_part = [&](const char* name, BandPartAttrs a) {
    const Shape s{2, 4, 5};
    cases.push_back({.op = "MatrixBandPart",
                     .name = name,
                     .inputs = {{.shape = s}},
                     .attrs = owned(a),
                     .dtypes = kMoved,
                     .reference = moved(s, [a](const Coord& o) -> std::optional<Coord> {
                       const int64_t d = o[2] - o[1] - a.diagonal;
                       if (a.num_lower >= 0 && d < -a.num_lower) return std::nullopt;
                       if (a.num_upper >= 0 && d > a.num_upper) return std::nullopt;
                       return o;
                     })});
  };
  band_part("lower", {-1, 0});
  band_part("band", {1, 2});
  band_part("all", {-1, -1});
  band_part("shifted", {-1, 0, -2});
  band_part("far", {0, 0, 9});
  cases.push_back(
      {.op = "Diag",
       .inputs = {{.shape = {2, 3}}},
       .dtypes = kMoved,
       .reference = moved({2, 3, 2, 3}, [](const Coord& o) -> std::optional<Coord> {
         if (o[0] != o[2] || o[1] != o[3]) return std::nullopt;
         return Coord{o[0], o[1]};
       })});
  cases.push_back({.op = "DiagPart",
                   .inputs = {{.shape = {2, 3, 2, 3}}},
                   .dtypes = kMoved,
                   .reference = moved({2, 3}, [](const Coord& o) {
                     return Coord{o[0], o[1], o[0], o[1]};
                   })});
}

}  // namespace tandem::testing
