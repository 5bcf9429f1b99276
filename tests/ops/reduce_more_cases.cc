// Scans and counts.
#include <cmath>
#include <limits>

#include "ops/reduce_cases.h"
#include "tandem/ops/reduce.h"

namespace tandem::testing {

namespace {

// ---- Scans --------------------------------------------------------------------------

// Calls step(previous result, elements) along an axis, in scanning order, previous
// starting at `first`.
template <class Step>
Ref scan(const std::vector<Ref>& in, int64_t axis, bool reverse, bool exclusive,
         Value first, Step step) {
  const Shape& shape = in[0].shape;
  if (axis < 0) axis += shape.rank();
  int64_t inner = 1;
  for (int i = static_cast<int>(axis) + 1; i < shape.rank(); ++i) inner *= shape[i];
  const int64_t n = shape[static_cast<int>(axis)];
  Ref out{shape, Values(in[0].values.size()), {}};
  for (int64_t e = 0; e < in[0].n(); ++e) {
    if (e / inner % n != (reverse ? n - 1 : 0)) continue;
    Value last = first;
    for (int64_t k = 0; k < n; ++k) {
      const auto at = static_cast<size_t>(e + (reverse ? -k : k) * inner);
      const Value next = step(last, at);
      out.values[at] = exclusive ? last : next;
      last = next;
    }
  }
  return out;
}

void add_scans(CaseList& cases) {
  struct Variant {
    const char* name;
    Shape shape;
    int64_t axis;
  };
  const Variant variants[] = {{"vector", {6}, 0},
                              {"rows", {7, 9}, -1},
                              {"columns", {5, 12}, 0},
                              {"middle", {2, 5, 3}, 1},
                              {"empty", {0, 2}, 0},
                              {"pieces", {40000}, 0},
                              {"row_pieces", {3, 15000}, 1},
                              {"column_pieces", {12000, 3}, 0}};
  for (const char* op : {"Cumsum", "Cumprod", "CumulativeLogsumexp"}) {
    const bool sum = op == std::string("Cumsum"), product = op == std::string("Cumprod");
    const bool logs = !sum && !product;  // exclusive ones start with -inf: no differences
    for (const Variant& v : variants) {
      const bool large = v.shape.num_elements() > 4096;
      if (large && !sum) continue;
      for (int flags = 0; flags < 4; ++flags) {
        const ScanAttrs attrs{v.axis, (flags & 1) != 0, (flags & 2) != 0};
        OpCase c{.op = op,
                 .name = std::string(v.name) + (attrs.exclusive ? "_exclusive" : "") +
                         (attrs.reverse ? "_reverse" : ""),
                 .inputs = {{.shape = v.shape}},
                 .attrs = owned(attrs),
                 .check_gradient = !large && !(logs && attrs.exclusive)};
        if (product) c.inputs[0] = {.shape = v.shape, .low = 0.5, .high = 1.8};
        if (v.name == std::string("vector")) {
          c.dtypes = sum || product ? kNumberTypes : kFloatTypes;
        }
        if (large) {
          c.dtypes = {DType::kFloat32, DType::kInt64};
          c.tolerance = 1e-4;  // sums of hundreds that end near 0
        }
        c.reference = [attrs, sum, product](const std::vector<Ref>& in, DType) {
          const Value first = sum       ? 0
                              : product ? 1
                                        : -std::numeric_limits<double>::infinity();
          return std::vector<Ref>{scan(in, attrs.axis, attrs.reverse, attrs.exclusive,
                                       first, [&](Value last, size_t at) -> Value {
                                         const Value x = in[0].values[at];
                                         if (sum) return last + x;
                                         if (product) return last * x;
                                         return std::log(std::exp(last.real()) +
                                                         std::exp(x.real()));
                                       })};
        };
        cases.push_back(c);
      }
    }
  }
  for (int flags = 0; flags < 4; ++flags) {
    const ScanAttrs attrs{0, (flags & 1) != 0, (flags & 2) != 0};
    cases.push_back({.op = "Cumprod",
                     .name = "zeros",
                     .inputs = {{.shape = {6}, .fixed = {2, 0, 3, -1, 0, 0.5}}},
                     .attrs = owned(attrs),
                     .reference = [attrs](const std::vector<Ref>& in, DType) {
                       return std::vector<Ref>{scan(in, 0, attrs.reverse, attrs.exclusive,
                                                    1, [&](Value last, size_t at) {
                                                      return last * in[0].values[at];
                                                    })};
                     }});
  }
}

void add_recurrences(CaseList& cases) {
  for (bool reverse : {false, true}) {
    for (int64_t axis : {0, 1, -1}) {
      const RecurrenceAttrs attrs{axis, reverse};
      cases.push_back(
          {.op = "LinearRecurrence",
           .inputs = {{.shape = {3, 4, 5}}, {.shape = {3, 4, 5}}},
           .attrs = owned(attrs),
           .dtypes = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                      DType::kComplex64, DType::kComplex128},
           .reference = [attrs](const std::vector<Ref>& in, DType) {
             return std::vector<Ref>{scan(
                 in, attrs.axis, attrs.reverse, false, 0, [&](Value last, size_t at) {
                   return in[0].values[at] * last + in[1].values[at];
                 })};
           }});
      cases.push_back({.op = "Shift",
                       .inputs = {{.shape = {3, 4, 5}}},
                       .attrs = owned(attrs),
                       .dtypes = kNumberTypes,
                       .reference = [attrs](const std::vector<Ref>& in, DType) {
                         return std::vector<Ref>{
                             scan(in, attrs.axis, attrs.reverse, true, 0,
                                  [&](Value, size_t at) { return in[0].values[at]; })};
                       }});
    }
  }
  // More rows and more places than a warp takes at once.
  for (bool reverse : {false, true}) {
    const RecurrenceAttrs attrs{1, reverse};
    cases.push_back(
        {.op = "LinearRecurrence",
         .name = "long rows",
         .inputs = {{.shape = {37, 70}, .low = -1, .high = 1}, {.shape = {37, 70}}},
         .attrs = owned(attrs),
         .dtypes = {DType::kFloat32, DType::kComplex128},
         .reference =
             [attrs](const std::vector<Ref>& in, DType) {
               return std::vector<Ref>{scan(
                   in, attrs.axis, attrs.reverse, false, 0, [&](Value last, size_t at) {
                     return in[0].values[at] * last + in[1].values[at];
                   })};
             },
         .check_gradient = false});
  }
}

}  // namespace

void add_scan_cases(CaseList& cases) {
  add_scans(cases);
  add_recurrences(cases);
}

void add_count_cases(CaseList& cases) {
  const std::vector<DType> types = {DType::kFloat32, DType::kFloat64, DType::kInt32,
                                    DType::kInt64};
  struct Variant {
    const char* name;
    Shape shape;
    bool weighted, binary;
  };
  const Variant variants[] = {
      {"counts", {7}, false, false},        {"weights", {7}, true, false},
      {"binary", {7}, false, true},         {"rows", {3, 5}, false, false},
      {"row_weights", {3, 5}, true, false}, {"nothing", {0}, false, false}};
  for (const Variant& v : variants) {
    const bool weighted = v.weighted, binary = v.binary;
    cases.push_back(
        {.op = "DenseBincount",
         .name = v.name,
         .inputs = {{.shape = v.shape, .low = 0, .high = 8, .dtype = DType::kInt32},
                    ints({}, {6}),
                    {.shape = weighted ? v.shape : Shape{0}, .low = 0, .high = 5}},
         .attrs = owned(BincountAttrs{binary}),
         .dtypes = types,
         .reference = [weighted, binary](const std::vector<Ref>& in, DType) {
           const bool matrix = in[0].shape.rank() == 2;
           const int64_t rows = matrix ? in[0].shape[0] : 1;
           const int64_t n = rows ? in[0].n() / rows : 0;
           Ref r{matrix ? Shape{rows, 6} : Shape{6},
                 Values(static_cast<size_t>(rows * 6)),
                 {}};
           for (int64_t i = 0; i < in[0].n(); ++i) {
             const auto at = static_cast<size_t>(i);
             const auto bin = static_cast<int64_t>(in[0].re(at));
             if (bin >= 6) continue;
             double& b = r.re(static_cast<size_t>(i / n * 6 + bin));
             b = binary ? 1 : b + (weighted ? in[2].re(at) : 1);
           }
           return std::vector<Ref>{r};
         }});
  }
  // Bins that fit into a block's memory on a GPU, and bins that do not.
  for (int64_t bins : {50, 20000}) {
    cases.push_back({.op = "DenseBincount",
                     .name = "many",
                     .inputs = {{.shape = {30000},
                                 .low = 0,
                                 .high = static_cast<double>(bins) * 1.1,
                                 .dtype = DType::kInt64},
                                ints({}, {static_cast<double>(bins)}, DType::kInt64),
                                {.shape = {30000}, .low = 0, .high = 5}},
                     .attrs = owned(BincountAttrs{}),
                     .dtypes = types,
                     .reference =
                         [bins](const std::vector<Ref>& in, DType) {
                           Ref r{Shape{bins}, Values(static_cast<size_t>(bins)), {}};
                           for (size_t i = 0; i < in[0].values.size(); ++i) {
                             const auto bin = static_cast<size_t>(in[0].re(i));
                             if (bin < r.values.size()) r.values[bin] += in[2].values[i];
                           }
                           return std::vector<Ref>{r};
                         },
                     .check_gradient = false});
  }
  for (int64_t n : {0, 50, 70000}) {
    for (DType out : {DType::kInt32, DType::kInt64}) {
      cases.push_back({.op = "HistogramFixedWidth",
                       .name = n ? "" : "nothing",
                       .inputs = {{.shape = {n}, .low = -3, .high = 9},
                                  {.shape = {2}, .fixed = {0, 5}},
                                  ints({}, {4})},
                       .attrs = owned(HistogramAttrs{out}),
                       .dtypes = types,
                       .reference = [](const std::vector<Ref>& in, DType) {
                         Ref r{Shape{4}, Values(4), {}};
                         for (size_t i = 0; i < in[0].values.size(); ++i) {
                           const double bin = std::max(in[0].re(i), 0.0) / 1.25;
                           r.re(static_cast<size_t>(std::min(bin, 3.0))) += 1;
                         }
                         return std::vector<Ref>{r};
                       }});
    }
  }
}

}  // namespace tandem::testing
