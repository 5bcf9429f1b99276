// ScatterNd, TensorScatter*, IndexedSlices.
#include "ops/indexing_scatter_cases.h"

#include <algorithm>

#include "ops/index_reference.h"
#include "tandem/ops/indexing.h"

namespace tandem::testing {

namespace {

std::complex<double> sum_of(std::complex<double> a, std::complex<double> b) {
  return a + b;
}
std::complex<double> second_of(std::complex<double>, std::complex<double> b) { return b; }
std::complex<double> lower_of(std::complex<double> a, std::complex<double> b) {
  return std::min(a.real(), b.real());
}
std::complex<double> higher_of(std::complex<double> a, std::complex<double> b) {
  return std::max(a.real(), b.real());
}

// Element by element, in the order of the updates.
Ref scatter(Ref out, const Ref& indices, const Ref& updates, int batch,
            const Combine& combine, DType dtype) {
  const int last = indices.shape.rank() - 1;
  const auto depth = static_cast<int>(indices.shape[last]);
  for (int64_t i = 0; i < updates.n(); ++i) {
    const Coordinates at = coordinates(updates.shape, i);
    Coordinates place(at.begin(), at.begin() + last);
    Coordinates to(at.begin(), at.begin() + batch);
    place.push_back(0);
    for (int d = 0; d < depth; ++d) {
      place.back() = d;
      to.push_back(int_at(indices, flat(indices.shape, place)));
    }
    to.insert(to.end(), at.begin() + last, at.end());
    auto& slot = out.values[flat(out.shape, to)];
    slot = combine(slot, updates.values[static_cast<size_t>(i)]);
    if (dtype == DType::kBool) slot = slot != 0.0 ? 1.0 : 0.0;
  }
  return out;
}

OpCase scatter_nd_case(std::string name, Shape shape, Shape indices, Shape updates,
                       double high, int64_t batch = 0) {
  std::vector<double> dims(shape.begin(), shape.end());
  return {.op = "ScatterNd",
          .name = std::move(name),
          .inputs = {index_in(indices, high, DType::kInt64),
                     {.shape = updates},
                     ints_in(dims)},
          .attrs = owned(BatchDimsAttrs{batch}),
          .dtypes = {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64,
                     DType::kBool, DType::kComplex64},
          .reference = [shape, batch](const std::vector<Ref>& in,
                                      DType t) -> std::vector<Ref> {
            return {scatter(zeros_of(shape), in[0], in[1], static_cast<int>(batch),
                            sum_of, t)};
          }};
}

void add_tensor_scatter_cases(CaseList& cases, const char* op, const Combine& combine,
                              std::vector<DType> dtypes, bool repeats) {
  const auto reference = [combine](const std::vector<Ref>& in,
                                   DType t) -> std::vector<Ref> {
    return {scatter(in[0], in[1], in[2], 0, combine, t)};
  };
  // Equal indices where the gradient allows them.
  const std::vector<double> rows =
      repeats ? std::vector<double>{4, 1, 4} : std::vector<double>{4, 1, 0};
  cases.push_back({.op = op,
                   .name = "rows",
                   .inputs = {{.shape = {5, 3}, .low = 0, .spread = 0.3},
                              {.shape = {3, 1}, .fixed = rows, .dtype = DType::kInt32},
                              {.shape = {3, 3}, .low = 0.11, .spread = 0.3}},
                   .dtypes = dtypes,
                   .reference = reference});
  cases.push_back({.op = op,
                   .name = "elements",
                   .inputs = {{.shape = {4, 3}, .low = 0, .spread = 0.3},
                              {.shape = {2, 2, 2},
                               .fixed = {0, 0, 3, 2, 1, 1, 0, 2},
                               .dtype = DType::kInt64},
                              {.shape = {2, 2}, .low = 1.1, .spread = 0.3}},
                   .dtypes = dtypes,
                   .reference = reference});
  cases.push_back({.op = op,
                   .name = "no_updates",
                   .inputs = {{.shape = {4}},
                              {.shape = {0, 1}, .dtype = DType::kInt32},
                              {.shape = {0}}},
                   .reference = reference});
}

}  // namespace

void add_scatter_cases(CaseList& cases) {
  cases.push_back(scatter_nd_case("rows", {5, 3}, {4, 1}, {4, 3}, 5));
  cases.push_back(scatter_nd_case("elements", {5, 3}, {4, 7, 2}, {4, 7}, 3));
  cases.push_back(scatter_nd_case("batch", {2, 4, 3}, {2, 5, 1}, {2, 5, 3}, 4, 1));
  cases.push_back(scatter_nd_case("whole", {3}, {2, 0}, {2, 3}, 1));
  cases.push_back(scatter_nd_case("nothing", {5, 3}, {0, 1}, {0, 3}, 5));
  cases.push_back(scatter_nd_case("few_long_rows", {2, 1500}, {4, 1}, {4, 1500}, 2));

  const std::vector<DType> reals = {DType::kFloat32, DType::kFloat64, DType::kInt16,
                                    DType::kUInt8,   DType::kInt64,   DType::kFloat16};
  std::vector<DType> numbers = reals;
  numbers.push_back(DType::kComplex128);
  add_tensor_scatter_cases(cases, "TensorScatterUpdate", second_of, numbers, false);
  add_tensor_scatter_cases(cases, "TensorScatterAdd", sum_of, numbers, true);
  add_tensor_scatter_cases(
      cases, "TensorScatterSub", [](auto a, auto b) { return a - b; },
      {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kComplex64}, true);
  add_tensor_scatter_cases(cases, "TensorScatterMin", lower_of, reals, false);
  add_tensor_scatter_cases(cases, "TensorScatterMax", higher_of, reals, false);
  cases.push_back({.op = "TensorScatterUpdate",
                   .name = "strings",
                   .inputs = {{.shape = {3}, .strings = {"a", "b", "c"}},
                              {.shape = {2, 1}, .fixed = {2, 0}, .dtype = DType::kInt32},
                              {.shape = {2}, .strings = {"x", "y"}}},
                   .dtypes = {DType::kString},
                   .reference = [](const std::vector<Ref>&, DType) -> std::vector<Ref> {
                     return {{{3}, {}, {"y", "b", "x"}}};
                   },
                   .check_gradient = false});

  cases.push_back(
      {.op = "IndexedSlicesToDense",
       .inputs = {{.shape = {6, 2}}, index_in({6}, 4), ints_in({4, 2}, DType::kInt64)},
       .dtypes = {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kInt32},
       .reference = [](const std::vector<Ref>& in, DType) -> std::vector<Ref> {
         Ref out = zeros_of({4, 2});
         for (size_t i = 0; i < 12; ++i) {
           const auto row = static_cast<size_t>(int_at(in[1], i / 2));
           out.values[row * 2 + i % 2] += in[0].values[i];
         }
         return {out};
       }});
  cases.push_back(
      {.op = "IndexedSlicesConcat",
       .inputs = {{.shape = {3, 2}},
                  index_in({3}, 9),
                  {.shape = {2, 2}},
                  index_in({2}, 9, DType::kInt64)},
       .reference = [](const std::vector<Ref>& in, DType) -> std::vector<Ref> {
         Ref values = in[0], indices = in[1];
         values.shape = {5, 2};
         indices.shape = {5};
         values.values.insert(values.values.end(), in[2].values.begin(),
                              in[2].values.end());
         indices.values.insert(indices.values.end(), in[3].values.begin(),
                               in[3].values.end());
         return {values, indices};
       }});
}

}  // namespace tandem::testing
