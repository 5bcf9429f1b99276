// Reductions over axes, ArgMax, ArgMin and SumLike. Scans and counts are in
// reduce_more_cases.cc, segments in reduce_segment_cases.cc.
#include "ops/reduce_cases.h"

#include <cmath>
#include <functional>
#include <limits>

#include "tandem/ops/reduce.h"

namespace tandem::testing {

namespace {

struct Groups {
  Shape shape;                  // of the result
  std::vector<Values> members;  // elements reduced into each result, in order
};

Groups group(const Ref& x, const ReduceAttrs& attrs) {
  const int rank = x.shape.rank();
  std::vector<bool> reduced(static_cast<size_t>(rank),
                            attrs.axis.empty() && !attrs.no_axes);
  for (int64_t a : attrs.axis) reduced[static_cast<size_t>(a < 0 ? a + rank : a)] = true;
  Groups g;
  int64_t results = 1;
  for (int i = 0; i < rank; ++i) {
    if (!reduced[static_cast<size_t>(i)]) {
      g.shape.push_back(x.shape[i]);
      results *= x.shape[i];
    } else if (attrs.keepdims) {
      g.shape.push_back(1);
    }
  }
  g.members.resize(static_cast<size_t>(results));
  for (int64_t e = 0; e < x.n(); ++e) {
    int64_t rest = e, at = 0, stride = 1;
    for (int i = rank - 1; i >= 0; --i) {
      if (!reduced[static_cast<size_t>(i)]) {
        at += rest % x.shape[i] * stride;
        stride *= x.shape[i];
      }
      rest /= x.shape[i];
    }
    g.members[static_cast<size_t>(at)].push_back(x.values[static_cast<size_t>(e)]);
  }
  return g;
}

using Fold = std::function<Value(const Values&, DType)>;

Reference reduced_by(ReduceAttrs attrs, std::vector<Fold> folds) {
  return [attrs, folds](const std::vector<Ref>& in, DType t) {
    const Groups g = group(in[0], attrs);
    std::vector<Ref> out;
    for (const Fold& fold : folds) {
      Ref r{g.shape, {}, {}};
      for (const Values& m : g.members) r.values.push_back(fold(m, t));
      out.push_back(r);
    }
    return out;
  };
}

double highest(DType t) {
  switch (t) {
    case DType::kInt8:
      return 127;
    case DType::kUInt8:
      return 255;
    case DType::kInt16:
      return 32767;
    case DType::kUInt16:
      return 65535;
    case DType::kInt32:
      return 2147483647.0;
    case DType::kUInt32:
      return 4294967295.0;
    default:
      return std::numeric_limits<double>::infinity();
  }
}
double lowest(DType t) {
  if (is_unsigned(t)) return 0;
  return is_integer(t) ? -highest(t) - 1 : -highest(t);
}

Value sum(const Values& v, DType) {
  Value s = 0;
  for (Value x : v) s += x;
  return s;
}
Value mean(const Values& v, DType t) {
  if (v.empty() && (is_integer(t) || is_complex(t))) return 0;
  const Value m = sum(v, t) / static_cast<double>(v.size());
  if (v.empty()) return std::nan("");
  return is_integer(t) ? Value(std::trunc(m.real())) : m;
}
Value product(const Values& v, DType) {
  Value p = 1;
  for (Value x : v) p *= x;
  return p;
}
Value largest(const Values& v, DType t) {
  double m = lowest(t);
  for (Value x : v) m = std::max(m, x.real());
  return m;
}
Value smallest(const Values& v, DType t) {
  double m = highest(t);
  for (Value x : v) m = std::min(m, x.real());
  return m;
}
Value any(const Values& v, DType) {
  for (Value x : v) {
    if (x.real() != 0) return 1;
  }
  return 0;
}
Value all(const Values& v, DType) {
  for (Value x : v) {
    if (x.real() == 0) return 0;
  }
  return 1;
}
Value norm(const Values& v, DType t) {
  double s = 0;
  for (Value x : v) s += std::norm(x);
  return is_integer(t) ? std::floor(std::sqrt(s)) : std::sqrt(s);
}
Value logsumexp(const Values& v, DType) {
  double s = 0;
  for (Value x : v) s += std::exp(x.real());
  return std::log(s);
}
Value variance(const Values& v, DType t) {
  if (v.empty()) return std::nan("");
  const Value m = mean(v, t);
  double s = 0;
  for (Value x : v) s += std::norm(x - m);
  return s / static_cast<double>(v.size());
}

struct AxesVariant {
  const char* name;
  Shape shape;
  ReduceAttrs attrs;
};

const AxesVariant kVariants[] = {
    {"all", {2, 3}, {}},
    {"all_keepdims", {2, 3}, {.keepdims = true}},
    {"scalar", {}, {}},
    {"rows", {5, 137}, {.axis = {-1}}},
    {"short_rows", {9, 4}, {.axis = {1}}},
    {"narrow_columns", {131, 7}, {.axis = {0}}},
    {"columns", {66, 41}, {.axis = {0}, .keepdims = true}},
    {"middle", {3, 5, 4}, {.axis = {1}}},
    {"outer_and_inner", {3, 4, 5}, {.axis = {0, 2}}},
    {"two_of_four", {3, 2, 4, 5}, {.axis = {-1, 1}, .keepdims = true}},
    {"two_of_four_kept_last", {3, 2, 4, 5}, {.axis = {0, 2}}},
    {"adjacent", {3, 4, 5}, {.axis = {0, 1}}},
    {"size_one", {3, 1, 2}, {.axis = {1}}},
    {"none", {3, 2}, {.no_axes = true}},
    {"of_nothing", {2, 0}, {.axis = {1}}},
    {"of_nothing_columns", {0, 3}, {.axis = {0}}},
    {"to_nothing", {0, 3}, {.axis = {1}}},
};

struct ReductionCase {
  const char* op;
  std::vector<Fold> folds;
  std::vector<DType>
      types;  // tried for the first variant; others try float32 and float64
  double low = -2, high = 2;
  double spread = 0;
};

void add_reduction(CaseList& cases, const ReductionCase& r) {
  const bool boolean = r.types == std::vector<DType>{DType::kBool};
  for (const AxesVariant& v : kVariants) {
    OpCase c{
        .op = r.op,
        .name = v.name,
        .inputs = {{.shape = v.shape, .low = r.low, .high = r.high, .spread = r.spread}},
        .attrs = owned(v.attrs),
        .reference = reduced_by(v.attrs, r.folds)};
    if (boolean || std::string(v.name) == "all" || v.shape.num_elements() == 0) {
      c.dtypes = r.types;
    }
    // The lowest and highest of 64 bits are not doubles.
    if (v.shape.num_elements() == 0 && r.spread > 0) {
      std::erase(c.dtypes, DType::kInt64);
      std::erase(c.dtypes, DType::kUInt64);
    }
    cases.push_back(c);
  }
}

// Long enough to be cut into parts.
void add_large(CaseList& cases, const ReductionCase& r) {
  const AxesVariant variants[] = {{"parts", {110001}, {}},
                                  {"column_parts", {3400, 33}, {.axis = {0}}},
                                  {"many_rows", {1700, 65}, {.axis = {1}}}};
  for (const AxesVariant& v : variants) {
    cases.push_back({.op = r.op,
                     .name = v.name,
                     .inputs = {{.shape = v.shape, .low = r.low, .high = r.high}},
                     .attrs = owned(v.attrs),
                     .dtypes = {DType::kFloat32, DType::kBFloat16},
                     .reference = reduced_by(v.attrs, r.folds),
                     .tolerance = 1e-4,  // thousands of terms, sums near zero
                     .check_gradient = false});
  }
}

void add_prod_zeros(CaseList& cases) {
  const std::pair<const char*, ReduceAttrs> variants[] = {
      {"zeros", {.axis = {1}}}, {"zeros_all", {}}, {"zeros_two", {.axis = {0, 2}}}};
  for (const auto& [name, attrs] : variants) {
    cases.push_back({.op = "Prod",
                     .name = name,
                     .inputs = {{.shape = {2, 3, 2},
                                 .fixed = {2, 0, 3, -1, 0.5, 0, 0, 4, 1, 5, 0, 2}}},
                     .attrs = owned(attrs),
                     .reference = reduced_by(attrs, {product})});
  }
}

void add_special(CaseList& cases) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const auto special = [&](const char* op, std::vector<double> in,
                           std::vector<double> out) {
    const auto rows = static_cast<int64_t>(out.size());
    cases.push_back({.op = op,
                     .name = "special",
                     .inputs = {{.shape = {rows, static_cast<int64_t>(in.size()) / rows},
                                 .fixed = in}},
                     .attrs = owned(ReduceAttrs{.axis = {1}}),
                     .dtypes = kFloatTypes,
                     .reference =
                         [out, rows](const std::vector<Ref>&, DType) {
                           return std::vector<Ref>{
                               {Shape{rows}, Values(out.begin(), out.end()), {}}};
                         },
                     .check_gradient = false});
  };
  special("Max", {nan, 1, 1, nan, -inf, -inf}, {nan, nan, -inf});
  special("Min", {nan, 1, 1, nan, inf, 2}, {nan, nan, 2});
  special("LogSumExp", {inf, 1, -inf, -inf, nan, 1, inf, -inf, -inf, 2},
          {inf, -inf, nan, inf, 2});
}

// What is not finite varies by NaN, alone too; the mean of infinities is theirs.
void add_special_moments(CaseList& cases) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const auto special = [&](const char* name, Shape shape, ReduceAttrs attrs,
                           std::vector<double> in, Values means, Values variances) {
    const auto n = static_cast<int64_t>(means.size());
    cases.push_back({.op = "Moments",
                     .name = name,
                     .inputs = {{.shape = shape, .fixed = in}},
                     .attrs = owned(attrs),
                     .reference =
                         [=](const std::vector<Ref>&, DType) {
                           return std::vector<Ref>{{Shape{n}, means, {}},
                                                   {Shape{n}, variances, {}}};
                         },
                     .check_gradient = false});
  };
  special("special", {4, 3}, {.axis = {1}},
          {-inf, 1, -inf, inf, 0.5, 1, inf, -inf, 1, 1, nan, 2}, {-inf, inf, nan, nan},
          {nan, nan, nan, nan});
  special("alone", {3}, {.axis = {}, .no_axes = true}, {nan, -inf, 3}, {nan, -inf, 3},
          {nan, nan, 0});
}

void add_sum_like(CaseList& cases) {
  struct Like {
    const char* name;
    Shape x, like;
  };
  const Like variants[] = {
      {"equal", {3, 4}, {3, 4}},    {"bias", {37, 5}, {5}},
      {"scalar", {3, 4}, {}},       {"column", {3, 4}, {3, 1}},
      {"inner", {2, 3, 4}, {3, 1}}, {"outer", {2, 3, 4}, {1, 3, 4}},
      {"leading_ones", {3}, {3}},   {"mixed", {2, 3, 4, 5}, {1, 3, 1, 5}},
      {"nothing", {0, 3}, {3}},     {"to_nothing", {2, 0}, {0}},
      {"wide", {70, 1500}, {1500}}};
  for (const Like& v : variants) {
    ReduceAttrs attrs;
    const int extra = v.x.rank() - v.like.rank();
    for (int i = 0; i < v.x.rank(); ++i) {
      if (i < extra || v.like[i - extra] != v.x[i]) attrs.axis.push_back(i);
    }
    attrs.no_axes = attrs.axis.empty();
    const Shape shape = v.like;
    cases.push_back(
        {.op = "SumLike",
         .name = v.name,
         .inputs = {{.shape = v.x}, {.shape = v.like, .dtype = DType::kFloat32}},
         .dtypes = kNumberTypes,
         .reference = [attrs, shape](const std::vector<Ref>& in, DType t) {
           std::vector<Ref> out = reduced_by(attrs, {sum})(in, t);
           out[0].shape = shape;
           return out;
         }});
    if (v.x.num_elements() > 200)
      cases.back().dtypes = {DType::kFloat32, DType::kFloat64};
  }
}

void add_l2(CaseList& cases) {
  for (const Shape& shape : {Shape{3, 50}, Shape{}, Shape{0}}) {
    cases.push_back({.op = "L2Loss",
                     .inputs = {{.shape = shape}},
                     .dtypes = kFloatTypes,
                     .reference = reduced_by({}, {[](const Values& v, DType) {
                                               double s = 0;
                                               for (Value x : v) s += std::norm(x);
                                               return Value(s / 2);
                                             }})});
  }
}

void add_arg(CaseList& cases, const char* op, bool max) {
  struct ArgVariant {
    const char* name;
    Shape shape;
    ArgAttrs attrs;
    std::vector<double> fixed = {};
  };
  const double nan = std::nan("");
  const ArgVariant variants[] = {
      {"vector", {5}, {}},
      {"rows", {4, 1100}, {.axis = -1}},
      {"columns", {70, 9}, {.axis = 0, .output_type = DType::kInt32}},
      {"middle", {3, 4, 5}, {.axis = 1}},
      {"ties", {2, 4}, {.axis = 1}, {1, 3, 3, 1, 0, 0, 0, 0}},
      {"ties_columns", {4, 2}, {.axis = 0}, {1, 0, 3, 0, 3, 0, 1, 0}},
      {"to_nothing", {0, 3}, {.axis = 1}},
      {"parts", {80000}, {}},
      {"not_a_number", {3, 3}, {.axis = 1}, {nan, 1, 2, 1, nan, 0, nan, nan, nan}},
  };
  for (const ArgVariant& v : variants) {
    const ArgAttrs attrs = v.attrs;
    OpCase c{
        .op = op,
        .name = v.name,
        .inputs = {{.shape = v.shape, .low = 0, .high = 100, .fixed = v.fixed}},
        .attrs = owned(attrs),
        .dtypes = kRealTypes,
        .reference = reduced_by({.axis = {attrs.axis}}, {[max](const Values& m, DType) {
                                  size_t best = 0;
                                  bool found = false;
                                  for (size_t i = 0; i < m.size(); ++i) {
                                    const double x = m[i].real();
                                    if (x != x) continue;
                                    const double b = m[best].real();
                                    if (!found || (max ? x > b : x < b)) best = i;
                                    found = true;
                                  }
                                  return Value(static_cast<double>(best));
                                }})};
    if (v.name == std::string("not_a_number")) c.dtypes = kFloatTypes;
    if (v.name == std::string("parts")) c.dtypes = {DType::kFloat32, DType::kInt32};
    cases.push_back(c);
  }
  cases.push_back({.op = op,
                   .name = "bool",
                   .inputs = {{.shape = {3}, .fixed = {0, 1, 1}}},
                   .dtypes = {DType::kBool},
                   .reference = [max](const std::vector<Ref>&, DType) {
                     return std::vector<Ref>{{Shape{}, {max ? 1.0 : 0.0}, {}}};
                   }});
}

}  // namespace

void add_reduce_cases(CaseList& cases) {
  const ReductionCase reductions[] = {
      {"Sum", {sum}, kNumberTypes},
      {"Mean", {mean}, kNumberTypes, -9, 9},
      {"Prod", {product}, kNumberTypes, 0.5, 1.5},
      {"Max", {largest}, kRealTypes, 0, 18, 1e-3},
      {"Min", {smallest}, kRealTypes, 0, 18, 1e-3},
      {"Any", {any}, {DType::kBool}, 0, 2},
      {"All", {all}, {DType::kBool}, 0, 2},
      {"EuclideanNorm", {norm}, kNumberTypes, 1, 4},
      {"LogSumExp", {logsumexp}, kFloatTypes},
      {"Moments", {mean, variance}, kFloatTypes},
  };
  for (const ReductionCase& r : reductions) {
    add_reduction(cases, r);
    const std::string op = r.op;
    if (op != "Any" && op != "All" && op != "Prod") add_large(cases, r);
  }
  add_prod_zeros(cases);
  add_special(cases);
  add_special_moments(cases);
  add_sum_like(cases);
  add_l2(cases);
  add_arg(cases, "ArgMax", true);
  add_arg(cases, "ArgMin", false);
  add_scan_cases(cases);
  add_segment_cases(cases);
  add_count_cases(cases);
}

}  // namespace tandem::testing
