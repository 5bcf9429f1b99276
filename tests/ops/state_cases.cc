// Ops on variables. The harness makes a variable of a resource input and, for ops without
// outputs, looks at its value afterwards.
#include <algorithm>
#include <cmath>

#include "ops/index_reference.h"
#include "ops/values.h"

namespace tandem::testing {

namespace {

const std::vector<DType> kNumbers = {DType::kFloat32, DType::kFloat64,  DType::kFloat16,
                                     DType::kInt8,    DType::kInt32,    DType::kInt64,
                                     DType::kUInt16,  DType::kComplex64};
const std::vector<DType> kReals = {DType::kFloat32, DType::kFloat64, DType::kBFloat16,
                                   DType::kInt8,    DType::kInt32,   DType::kUInt64};

OpCase update_case(const char* op, std::string name, Shape shape, const Combine& combine,
                   std::vector<DType> dtypes) {
  return {.op = op,
          .name = std::move(name),
          .inputs = {{.shape = shape, .low = 3, .high = 6},
                     {.shape = shape, .low = 0, .high = 3}},
          .dtypes = std::move(dtypes),
          .reference = [combine](const std::vector<Ref>& in, DType) -> std::vector<Ref> {
            Ref out = in[0];
            for (size_t i = 0; i < out.values.size(); ++i) {
              out.values[i] = combine(out.values[i], in[1].values[i]);
            }
            return {out};
          }};
}

// Rows in the order of the indices; a scalar update goes to every element of a row.
void add_scatter(CaseList& cases, const char* op, const Combine& combine,
                 std::vector<DType> dtypes) {
  const auto reference = [combine](const std::vector<Ref>& in,
                                   DType t) -> std::vector<Ref> {
    Ref out = in[0];
    const int64_t row = out.n() / out.shape[0];
    for (int64_t i = 0; i < in[1].n(); ++i) {
      for (int64_t k = 0; k < row; ++k) {
        auto& slot = out.values[static_cast<size_t>(
            int_at(in[1], static_cast<size_t>(i)) * row + k)];
        const size_t from = in[2].shape.rank() ? static_cast<size_t>(i * row + k) : 0;
        slot = rounded(combine(slot, in[2].values[from]), t);
        if (is_integer(t)) slot = std::trunc(slot.real());
      }
    }
    return {out};
  };
  const In value{.shape = {5, 3}, .low = 1, .high = 5};
  const In updates{.shape = {2, 2, 3}, .low = 1, .high = 4};
  cases.push_back(
      {.op = op,
       .name = "rows",
       .inputs = {value,
                  {.shape = {2, 2}, .fixed = {4, 1, 0, 4}, .dtype = DType::kInt32},
                  updates},
       .dtypes = dtypes,
       .reference = reference});
  cases.push_back({.op = op,
                   .name = "scalar_update",
                   .inputs = {value,
                              ints_in({2, 2, 0}, DType::kInt64),
                              {.shape = {}, .low = 2, .high = 4}},
                   .dtypes = dtypes,
                   .reference = reference});
  cases.push_back({.op = op,
                   .name = "vector",
                   .inputs = {{.shape = {4}, .low = 1, .high = 5},
                              ints_in({3, 1, 3}),
                              {.shape = {3}, .low = 1, .high = 4}},
                   .dtypes = dtypes,
                   .reference = reference});
  cases.push_back(
      {.op = op,
       .name = "nothing",
       .inputs = {value, {.shape = {0}, .dtype = DType::kInt32}, {.shape = {0, 3}}},
       .dtypes = dtypes,
       .reference = reference});
}

}  // namespace

void add_state_cases(CaseList& cases) {
  const Combine replace = [](auto, auto b) { return b; };
  const Combine add = [](auto a, auto b) { return a + b; };
  const Combine subtract = [](auto a, auto b) { return a - b; };

  cases.push_back({.op = "ReadVariableOp",
                   .inputs = {{.shape = {3, 2}}},
                   .dtypes = kNumbers,
                   .reference = [](const std::vector<Ref>& in, DType) { return in; },
                   .check_gradient = false});
  std::vector<DType> all = kNumbers;
  all.push_back(DType::kBool);
  cases.push_back(update_case("AssignVariableOp", "", {3, 4}, replace, all));
  cases.push_back(update_case("AssignVariableOp", "scalar", {}, replace, all));
  cases.push_back(update_case("AssignVariableOp", "empty", {0, 4}, replace, all));
  for (const Shape& shape : {Shape{3, 4}, Shape{}, Shape{2, 0}, Shape{1031}}) {
    const std::string name = "rank_" + std::to_string(shape.rank());
    cases.push_back(update_case("AssignAddVariableOp", name, shape, add, kNumbers));
    cases.push_back(update_case("AssignSubVariableOp", name, shape, subtract, kNumbers));
  }
  add_scatter(cases, "ResourceScatterUpdate", replace, all);
  add_scatter(cases, "ResourceScatterAdd", add, kNumbers);
  add_scatter(cases, "ResourceScatterSub", subtract,
              {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kComplex64});
  add_scatter(
      cases, "ResourceScatterMul", [](auto a, auto b) { return a * b; }, kNumbers);
  add_scatter(
      cases, "ResourceScatterDiv", [](auto a, auto b) { return a / b; }, kNumbers);
  add_scatter(
      cases, "ResourceScatterMin",
      [](auto a, auto b) { return std::min(a.real(), b.real()); }, kReals);
  add_scatter(
      cases, "ResourceScatterMax",
      [](auto a, auto b) { return std::max(a.real(), b.real()); }, kReals);
  cases.push_back({.op = "NextRandomState",
                   .inputs = {{.shape = {3}, .fixed = {5, 10, 3}},
                              {.shape = {}, .fixed = {7}, .dtype = DType::kInt64}},
                   .dtypes = {DType::kUInt64},
                   .reference = [](const std::vector<Ref>&, DType) -> std::vector<Ref> {
                     return {{{1}, {5.0}, {}}, {{2}, {10.0, 3.0}, {}}};
                   }});
  cases.push_back(
      {.op = "ResourceGather",
       .inputs = {{.shape = {6, 3}}, index_in({2, 4}, 6)},
       .dtypes = all,
       .reference = [](const std::vector<Ref>& in, DType) -> std::vector<Ref> {
         Ref out = zeros_of({2, 4, 3});
         for (size_t i = 0; i < 24; ++i) {
           const auto row = static_cast<size_t>(int_at(in[1], i / 3));
           out.values[i] = in[0].values[row * 3 + i % 3];
         }
         return {out};
       },
       .check_gradient = false});
}

}  // namespace tandem::testing
