// Cases of distances of edits and of monotone fits.
#include "ops/sequence_cases.h"

#include <algorithm>
#include <limits>

#include "ops/case.h"
#include "tandem/ops/sequence.h"

namespace tandem::testing {

namespace {

In int64s(const Shape& shape, std::vector<double> values) {
  return {.shape = shape, .fixed = std::move(values), .dtype = DType::kInt64};
}

// Sequences (1 2 3), (), (4), (5) against (1 3), (), (), (5 6): distances 1, 0, 1, 1.
OpCase distance(bool normalize, std::vector<std::complex<double>> wanted) {
  return {.op = "EditDistance",
          .name = normalize ? "normalized" : "plain",
          .inputs = {int64s({5, 3}, {0, 0, 0, 0, 0, 1, 0, 0, 2, 1, 0, 0, 1, 1, 0}),
                     {.shape = {5}, .fixed = {1, 2, 3, 4, 5}},
                     int64s({3}, {2, 2, 3}),
                     int64s({4, 3}, {0, 0, 0, 0, 0, 1, 1, 1, 0, 1, 1, 1}),
                     {.shape = {4}, .fixed = {1, 3, 5, 6}},
                     int64s({3}, {2, 2, 2})},
          .attrs = Attrs(attrs_ref(sequence::EditDistanceAttrs{.normalize = normalize})),
          .dtypes = {DType::kInt64, DType::kInt32, DType::kUInt8, DType::kInt8,
                     DType::kInt16, DType::kUInt16, DType::kUInt32, DType::kUInt64,
                     DType::kFloat32, DType::kFloat64},
          .reference = [=](const std::vector<Ref>&, DType) {
            return std::vector<Ref>{{{2, 2}, wanted, {}}};
          }};
}

// The fit at i is the least over a <= i of the largest over b >= i of the mean of a..b.
std::vector<Ref> fit(const std::vector<Ref>& in, DType) {
  Ref out = in[0], segments = in[0];
  const auto n = static_cast<size_t>(in[0].shape[in[0].shape.rank() - 1]);
  for (size_t row = 0; row < in[0].values.size(); row += n) {
    for (size_t i = 0; i < n; ++i) {
      double least = std::numeric_limits<double>::infinity();
      for (size_t a = 0; a <= i; ++a) {
        double most = -std::numeric_limits<double>::infinity(), sum = 0;
        for (size_t b = a; b < n; ++b) {
          sum += in[0].re(row + b);
          if (b >= i) most = std::max(most, sum / static_cast<double>(b - a + 1));
        }
        least = std::min(least, most);
      }
      out.re(row + i) = least;
      const bool same = i > 0 && std::abs(out.re(row + i - 1) - least) < 1e-9;
      segments.re(row + i) = i == 0 ? 0 : segments.re(row + i - 1) + (same ? 0 : 1);
    }
  }
  return {out, segments};
}

std::vector<Ref> run_mean(const std::vector<Ref>& in, DType) {
  Ref out = in[0];
  for (size_t i = 0; i < out.values.size(); ++i) {
    double sum = 0, count = 0;
    for (size_t k = i / 5 * 5; k < i / 5 * 5 + 5; ++k) {
      if (in[1].re(k) != in[1].re(i)) continue;
      sum += in[0].re(k);
      ++count;
    }
    out.re(i) = sum / count;
  }
  return {out};
}

}  // namespace

void add_sequence_cases(CaseList& cases) {
  cases.push_back(distance(false, {1, 0, 1, 1}));
  cases.push_back(distance(true, {0.5, 0, std::numeric_limits<double>::infinity(), 0.5}));
  cases.push_back({.op = "IsotonicRegression",
                   .inputs = {{.shape = {3, 7}, .fixed = {3, 1, 4, 1, 5, 9, 2, 9, 7, 8, 3,
                                                          2, 5, 1, 1, 2, 3, 4, 5, 6, 7}}},
                   .reference = fit});
  cases.push_back({.op = "SegmentRunMean",
                   .inputs = {{.shape = {2, 5}},
                              {.shape = {2, 5},
                               .fixed = {0, 0, 1, 2, 2, 0, 1, 1, 1, 2},
                               .dtype = DType::kInt32}},
                   .reference = run_mean});
}

}  // namespace tandem::testing
