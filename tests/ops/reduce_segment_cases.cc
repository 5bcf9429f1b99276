// Segments: sorted, unsorted and sparse.
#include <cmath>
#include <limits>

#include "ops/reduce_cases.h"
#include "tandem/ops/reduce.h"

namespace tandem::testing {

namespace {

enum class Segments { kSum, kMean, kProd, kMin, kMax };

double top_of(DType t) {
  switch (t) {
    case DType::kFloat16:
      return 65504;
    case DType::kBFloat16:
      return std::ldexp(255.0, 120);
    case DType::kFloat32:
      return std::numeric_limits<float>::max();
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
      return std::numeric_limits<double>::max();
  }
}

// Rows `ids` of the result take in rows of the data; `sorted` decides what empty rows
// hold.
Ref reduce_segments(Segments kind, const Ref& data, const Values& rows, const Values& ids,
                    int64_t count, int64_t inner, bool sorted, DType t) {
  Ref out{Shape{count}, Values(static_cast<size_t>(count * inner)), {}};
  for (int64_t s = 0; s < count; ++s) {
    for (int64_t j = 0; j < inner; ++j) {
      Values m;
      for (size_t i = 0; i < ids.size(); ++i) {
        if (static_cast<int64_t>(ids[i].real()) != s) continue;
        const auto row = static_cast<int64_t>(rows[i].real());
        m.push_back(data.values[static_cast<size_t>(row * inner + j)]);
      }
      Value v = kind == Segments::kProd ? 1 : 0;
      if (kind == Segments::kMin || kind == Segments::kMax) {
        const double bottom = is_unsigned(t)  ? 0
                              : is_integer(t) ? -top_of(t) - 1
                                              : -top_of(t);
        v = kind == Segments::kMin ? top_of(t) : bottom;
        if (sorted && m.empty()) v = 0;
      }
      for (Value x : m) {
        if (kind == Segments::kProd) {
          v *= x;
        } else if (kind == Segments::kMin) {
          v = std::min(v.real(), x.real());
        } else if (kind == Segments::kMax) {
          v = std::max(v.real(), x.real());
        } else {
          v += x;
        }
      }
      if (kind == Segments::kMean && !m.empty()) {
        v /= static_cast<double>(m.size());
        if (is_integer(t)) v = std::trunc(v.real());
      }
      out.values[static_cast<size_t>(s * inner + j)] = v;
    }
  }
  return out;
}

Values counting(int64_t n) {
  Values v;
  for (int64_t i = 0; i < n; ++i) v.push_back(static_cast<double>(i));
  return v;
}

void add_sorted(CaseList& cases) {
  const std::pair<const char*, Segments> ops[] = {{"SegmentSum", Segments::kSum},
                                                  {"SegmentMean", Segments::kMean},
                                                  {"SegmentProd", Segments::kProd},
                                                  {"SegmentMin", Segments::kMin},
                                                  {"SegmentMax", Segments::kMax}};
  struct Variant {
    const char* name;
    Shape shape;
    std::vector<double> ids;
    DType dtype = DType::kInt32;
  };
  std::vector<double> stairs, two;  // many short segments, and two long ones
  for (int i = 0; i < 300; ++i) stairs.push_back(i / 9);
  for (int i = 0; i < 1200; ++i) two.push_back(i < 500 ? 0 : 2);
  const Variant variants[] = {{"vector", {5}, {0, 0, 1, 1, 1}},
                              {"gap", {5, 3}, {0, 0, 2, 3, 3}},
                              {"wide_ids", {4, 2, 3}, {1, 1, 1, 4}, DType::kInt64},
                              {"wide_rows", {4, 1030}, {0, 0, 0, 1}},
                              {"stairs", {300, 5}, stairs},
                              {"two", {1200}, two, DType::kInt64},
                              {"empty", {0, 2}, {}}};
  for (const auto& [op, kind] : ops) {
    const bool extreme = kind == Segments::kMin || kind == Segments::kMax;
    for (const Variant& v : variants) {
      if (kind == Segments::kProd && v.ids.size() == two.size()) continue;  // too large
      Shape tail = v.shape;
      tail.erase(0);
      const Segments k = kind;
      OpCase c{.op = op,
               .name = v.name,
               .inputs = {{.shape = v.shape,
                           .low = 0.5,
                           .high = 3.5,
                           .spread = extreme ? 1e-4 : 0},
                          ints(v.ids, v.dtype)},
               .dtypes = extreme ? kRealTypes : kNumberTypes,
               .reference = [k, tail](const std::vector<Ref>& in, DType t) {
                 const Values& ids = in[1].values;
                 const int64_t rows =
                     ids.empty() ? 0 : static_cast<int64_t>(ids.back().real()) + 1;
                 Ref r = reduce_segments(k, in[0], counting(in[1].n()), ids, rows,
                                         tail.num_elements(), true, t);
                 r.shape = tail;
                 r.shape.insert(0, rows);
                 return std::vector<Ref>{r};
               }};
      if (v.shape.num_elements() > 1000) c.dtypes = {DType::kFloat32, DType::kFloat16};
      c.check_gradient = v.ids.size() < 100;
      cases.push_back(c);
    }
  }
  cases.push_back(
      {.op = "SegmentProd",
       .name = "zeros",
       .inputs = {{.shape = {6}, .fixed = {0, 2, 3, 0, 0, 5}}, ints({0, 0, 0, 1, 1, 2})},
       .reference = [](const std::vector<Ref>& in, DType t) {
         return std::vector<Ref>{reduce_segments(Segments::kProd, in[0], counting(6),
                                                 in[1].values, 3, 1, true, t)};
       }});
}

void add_unsorted(CaseList& cases) {
  const std::pair<const char*, Segments> ops[] = {
      {"UnsortedSegmentSum", Segments::kSum},
      {"UnsortedSegmentProd", Segments::kProd},
      {"UnsortedSegmentMin", Segments::kMin},
      {"UnsortedSegmentMax", Segments::kMax}};
  struct Variant {
    const char* name;
    Shape data, ids_shape;
    std::vector<double> ids;
    double count;
  };
  const Variant variants[] = {{"vector", {5}, {5}, {2, 0, 2, 1, 0}, 3},
                              {"negative", {4, 3}, {4}, {0, -1, 1, 1}, 2},
                              {"gap_and_negative", {4, 3}, {4}, {3, -1, 1, 1}, 5},
                              {"matrix_of_ids", {2, 3, 2}, {2, 3}, {0, 1, 0, 2, 2, 1}, 3},
                              {"all_dimensions", {2, 2}, {2, 2}, {0, 1, 0, 1}, 2},
                              {"scalar", {}, {}, {1}, 3},
                              {"no_segments", {2, 3}, {2}, {-1, -1}, 0},
                              {"no_rows", {0, 3}, {0}, {}, 2}};
  for (const auto& [op, kind] : ops) {
    const bool extreme = kind == Segments::kMin || kind == Segments::kMax;
    for (const Variant& v : variants) {
      const Shape tail = v.data.slice(v.ids_shape.rank(), v.data.rank());
      const Segments k = kind;
      cases.push_back(
          {.op = op,
           .name = v.name,
           .inputs =
               {{.shape = v.data, .low = 0.5, .high = 3.5, .spread = extreme ? 1e-4 : 0},
                ints(v.ids_shape, v.ids, DType::kInt64),
                ints({}, {v.count})},
           .dtypes = extreme ? kRealTypes : kNumberTypes,
           .reference = [k, tail](const std::vector<Ref>& in, DType t) {
             const auto rows = static_cast<int64_t>(in[2].re(0));
             Ref r = reduce_segments(k, in[0], counting(in[1].n()), in[1].values, rows,
                                     tail.num_elements(), false, t);
             r.shape = tail;
             r.shape.insert(0, rows);
             return std::vector<Ref>{r};
           }});
      // The highest values of 64 bits are no doubles. Rows without ids hold numbers too
      // large for differences, and a gradient cannot be gathered from no rows where
      // nobody knows their number.
      const std::string name = v.name;
      if (extreme) {
        std::erase(cases.back().dtypes, DType::kInt64);
        std::erase(cases.back().dtypes, DType::kUInt64);
      }
      cases.back().check_gradient =
          name != "no_segments" && !(extreme && (name == "gap_and_negative" ||
                                                 name == "scalar" || name == "no_rows"));
    }
  }
  cases.push_back({.op = "UnsortedSegmentProd",
                   .name = "zeros",
                   .inputs = {{.shape = {6}, .fixed = {0, 2, 0, 3, 0, 5}},
                              ints({0, 0, 1, 0, 1, 2}),
                              ints({}, {3})},
                   .reference = [](const std::vector<Ref>& in, DType t) {
                     return std::vector<Ref>{reduce_segments(Segments::kProd, in[0],
                                                             counting(6), in[1].values, 3,
                                                             1, false, t)};
                   }});
}

void add_sparse(CaseList& cases) {
  const std::pair<const char*, Segments> ops[] = {{"SparseSegmentSum", Segments::kSum},
                                                  {"SparseSegmentMean", Segments::kMean}};
  for (const auto& [op, kind] : ops) {
    for (bool given : {false, true}) {
      const Segments k = kind;
      In count = ints({}, {6});
      count.absent = !given;
      cases.push_back({.op = op,
                       .name = given ? "num_segments" : "",
                       .inputs = {{.shape = {4, 3}},
                                  ints({3, 0, 3, 1, 1}),
                                  ints({0, 0, 2, 2, 2}),
                                  count},
                       .dtypes = kFloatTypes,
                       .reference = [k, given](const std::vector<Ref>& in, DType t) {
                         Ref r = reduce_segments(k, in[0], in[1].values, in[2].values,
                                                 given ? 6 : 3, 3, true, t);
                         r.shape.push_back(3);
                         return std::vector<Ref>{r};
                       }});
    }
  }
}

}  // namespace

void add_segment_cases(CaseList& cases) {
  add_sorted(cases);
  add_unsorted(cases);
  add_sparse(cases);
}

}  // namespace tandem::testing
