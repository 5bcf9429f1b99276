#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/index_reference.h"
#include "tandem/ops/sort.h"

namespace tandem::testing {

namespace {

// NaN above every number.
bool below(double a, double b) {
  if (std::isnan(a)) return false;
  return std::isnan(b) || a < b;
}

std::vector<size_t> order(const std::vector<double>& row, bool descending) {
  std::vector<size_t> index(row.size());
  std::iota(index.begin(), index.end(), size_t{0});
  std::stable_sort(index.begin(), index.end(), [&](size_t a, size_t b) {
    return descending ? below(row[b], row[a]) : below(row[a], row[b]);
  });
  return index;
}

// Calls body(row, place) for every line along the axis: its values and their flat
// positions.
template <class Body>
void for_lines(const Ref& x, int axis, Body&& body) {
  Shape others = x.shape;
  others.erase(axis);
  for (int64_t i = 0; i < others.num_elements(); ++i) {
    std::vector<double> row;
    std::vector<size_t> place;
    for (int64_t k = 0; k < x.shape[axis]; ++k) {
      Coordinates at = coordinates(others, i);
      at.insert(at.begin() + axis, k);
      place.push_back(flat(x.shape, at));
      row.push_back(x.re(place.back()));
    }
    body(row, place);
  }
}

void add_sort(CaseList& cases, std::string name, In x, int axis, Direction direction) {
  const bool down = direction == Direction::kDescending;
  const SortAttrs attrs{.axis = axis, .direction = direction};
  const int at_axis = axis < 0 ? axis + x.shape.rank() : axis;
  const bool distinct = x.spread > 0;
  cases.push_back(
      {.op = "Sort",
       .name = name,
       .inputs = {x},
       .attrs = owned(attrs),
       .dtypes = kRealTypes,
       .reference = [=](const std::vector<Ref>& in, DType) -> std::vector<Ref> {
         Ref out = in[0];
         for_lines(in[0], at_axis, [&](const auto& row, const auto& place) {
           const auto sorted = order(row, down);
           for (size_t k = 0; k < row.size(); ++k) out.values[place[k]] = row[sorted[k]];
         });
         return {out};
       },
       .check_gradient = distinct});
  cases.push_back(
      {.op = "ArgSort",
       .name = name,
       .inputs = {x},
       .attrs = owned(attrs),
       .dtypes = kRealTypes,
       .reference = [=](const std::vector<Ref>& in, DType) -> std::vector<Ref> {
         Ref out = in[0];
         for_lines(in[0], at_axis, [&](const auto& row, const auto& place) {
           const auto sorted = order(row, down);
           for (size_t k = 0; k < row.size(); ++k) {
             out.values[place[k]] = static_cast<double>(sorted[k]);
           }
         });
         return {out};
       }});
}

OpCase top_k_case(std::string name, In x, int64_t k, TopKAttrs attrs = {},
                  std::vector<DType> dtypes = kRealTypes) {
  const bool distinct = x.spread > 0;
  return {.op = "TopKV2",
          .name = std::move(name),
          .inputs = {std::move(x), scalar_in(static_cast<double>(k))},
          .attrs = owned(attrs),
          .dtypes = std::move(dtypes),
          .reference = [k](const std::vector<Ref>& in, DType) -> std::vector<Ref> {
            Shape shape = in[0].shape;
            shape.set(shape.rank() - 1, k);
            Ref values{shape, {}, {}}, indices{shape, {}, {}};
            for_lines(in[0], shape.rank() - 1, [&](const auto& row, const auto&) {
              const auto sorted = order(row, true);
              for (size_t i = 0; i < static_cast<size_t>(k); ++i) {
                values.values.emplace_back(row[sorted[i]]);
                indices.values.emplace_back(static_cast<double>(sorted[i]));
              }
            });
            return {values, indices};
          },
          .check_gradient = distinct};
}

OpCase bound_case(const char* op, std::string name, Shape sorted, Shape values,
                  DType out) {
  const bool upper = std::string(op) == "UpperBound";
  const int64_t n = sorted.num_elements();
  // Rows ascend: each value is its position in the tensor, halved so that neighbours are
  // equal.
  std::vector<double> ascending;
  for (int64_t i = 0; i < n; ++i) {
    ascending.push_back(static_cast<double>(i % sorted[1] / 2));
  }
  return {.op = op,
          .name = std::move(name),
          .inputs = {{.shape = sorted, .fixed = ascending},
                     {.shape = values,
                      .low = -1,
                      .high = static_cast<double>(sorted[1]) / 2 + 1}},
          .attrs = owned(BoundAttrs{out}),
          .dtypes = kRealTypes,
          .reference = [upper](const std::vector<Ref>& in, DType) -> std::vector<Ref> {
            Ref result = zeros_of(in[1].shape);
            for (int64_t i = 0; i < result.n(); ++i) {
              const int64_t row = i / in[1].shape[1];
              const double v = in[1].re(static_cast<size_t>(i));
              double before = 0;
              for (int64_t k = 0; k < in[0].shape[1]; ++k) {
                const double x = in[0].re(static_cast<size_t>(row * in[0].shape[1] + k));
                before += upper ? x <= v : x < v;
              }
              result.values[static_cast<size_t>(i)] = before;
            }
            return {result};
          }};
}

OpCase nth_case(std::string name, In x, int64_t n, bool reverse) {
  return {
      .op = "NthElement",
      .name = std::move(name),
      .inputs = {std::move(x), scalar_in(static_cast<double>(n))},
      .attrs = owned(NthElementAttrs{reverse}),
      .dtypes = kRealTypes,
      .reference = [n, reverse](const std::vector<Ref>& in, DType) -> std::vector<Ref> {
        const int last = in[0].shape.rank() - 1;
        Ref out{in[0].shape.slice(0, last), {}, {}};
        for_lines(in[0], last, [&](const auto& row, const auto&) {
          out.values.emplace_back(row[order(row, reverse)[static_cast<size_t>(n)]]);
        });
        return {out};
      }};
}

}  // namespace

void add_sort_cases(CaseList& cases) {
  for (Direction d : {Direction::kAscending, Direction::kDescending}) {
    const std::string to = d == Direction::kAscending ? "_up" : "_down";
    add_sort(cases, "distinct" + to, {.shape = {3, 7}, .low = 0, .spread = 0.25}, -1, d);
    add_sort(cases, "first_axis" + to, {.shape = {5, 2, 3}, .low = 0, .spread = 0.25}, 0,
             d);
    add_sort(cases, "middle_axis" + to, {.shape = {2, 5, 3}, .low = 0, .spread = 0.25}, 1,
             d);
    // Many equal values: the order of equals is part of the result. Long enough for
    // radix.
    add_sort(cases, "equals" + to, {.shape = {2, 1200}, .low = -9, .high = 9}, 1, d);
    add_sort(cases, "empty" + to, {.shape = {3, 0}}, 1, d);
    const In special{.shape = {9}, .fixed = {3, kNan, 1, -kInf, kInf, kNan, 0, -0.0, -2}};
    add_sort(cases, "special" + to, special, 0, d);
    for (size_t i = cases.size() - 2; i < cases.size(); ++i) {
      cases[i].dtypes = {DType::kFloat32, DType::kFloat64, DType::kFloat16,
                         DType::kBFloat16};
    }
  }

  cases.push_back(top_k_case("distinct", {.shape = {3, 8}, .low = 0, .spread = 0.25}, 3));
  cases.push_back(top_k_case("equals", {.shape = {2, 700}, .low = -9, .high = 9}, 20));
  cases.push_back(top_k_case("all", {.shape = {2, 2, 5}, .low = 0, .spread = 0.25}, 5,
                             {.sorted = false, .index_type = DType::kInt64}));
  cases.push_back(top_k_case("none", {.shape = {3, 4}}, 0));
  cases.push_back(top_k_case("special",
                             {.shape = {6}, .fixed = {1, kNan, 3, kInf, -0.0, 0}}, 5,
                             {.index_type = DType::kInt16},
                             {DType::kFloat32, DType::kFloat64, DType::kFloat16}));

  cases.push_back(
      {.op = "InTopKV2",
       .inputs = {{.shape = {6, 3},
                   .fixed = {1, 2, 3, 3, 2, 1, kNan, 1, 2, 1, 2, 3, kInf, 1, 2, 5, 5, 5}},
                  ints_in({0, 1, 2, 5, 1, 2}),
                  scalar_in(2)},
       .dtypes = {DType::kFloat32},
       .reference = [](const std::vector<Ref>&, DType) -> std::vector<Ref> {
         return {{{6}, {0, 1, 0, 0, 0, 1}, {}}};
       }});

  cases.push_back(
      nth_case("third", {.shape = {2, 3, 9}, .low = 0, .spread = 0.1}, 2, false));
  cases.push_back(nth_case("reverse", {.shape = {12}, .low = 0, .spread = 0.5}, 1, true));

  for (const char* op : {"LowerBound", "UpperBound"}) {
    cases.push_back(bound_case(op, "rows", {3, 9}, {3, 14}, DType::kInt32));
    cases.push_back(bound_case(op, "wide", {1, 100}, {1, 40}, DType::kInt64));
    cases.push_back(bound_case(op, "no_values", {2, 5}, {2, 0}, DType::kInt32));
  }
}

}  // namespace tandem::testing
