// Slice, StridedSlice and their gradients.
#include "ops/array_cases.h"

namespace tandem::testing {

namespace {

void add_plain_slices(CaseList& cases) {
  const auto slice = [&](const char* name, Shape in, std::vector<double> begin,
                         std::vector<double> size, Shape out) {
    const auto shifted = [begin](const Coord& o) {
      Coord i = o;
      for (size_t d = 0; d < i.size(); ++d) i[d] += static_cast<int64_t>(begin[d]);
      return i;
    };
    cases.push_back({.op = "Slice",
                     .name = name,
                     .inputs = {{.shape = in}, ints(begin), ints(size)},
                     .dtypes = kMoved,
                     .reference = moved(out, shifted)});
    cases.push_back(
        {.op = "SliceGrad",
         .name = name,
         .inputs = {{.shape = out}, ints(begin), {.shape = in}},
         .dtypes = kMoved,
         .reference = moved(in, [begin, out](const Coord& o) -> std::optional<Coord> {
           Coord i = o;
           for (size_t d = 0; d < i.size(); ++d) {
             i[d] -= static_cast<int64_t>(begin[d]);
             if (i[d] < 0 || i[d] >= out[static_cast<int>(d)]) return std::nullopt;
           }
           return i;
         })});
  };
  slice("leading", {5, 3}, {1, 0}, {2, 3}, {2, 3});
  slice("inner", {5, 6, 4}, {1, 2, 0}, {3, 3, 4}, {3, 3, 4});
  slice("last", {5, 6}, {0, 1}, {-1, 2}, {5, 2});
  slice("empty", {5, 6}, {5, 1}, {0, 2}, {0, 2});
}

struct Spec {
  const char* name;
  Shape in;
  std::vector<double> begin, end, strides;
  StridedSliceAttrs attrs;
  Shape out;
  Source source;
};

void add_strided(CaseList& cases, const Spec& s) {
  cases.push_back(
      {.op = "StridedSlice",
       .name = s.name,
       .inputs = {{.shape = s.in}, ints(s.begin), ints(s.end), ints(s.strides)},
       .attrs = owned(s.attrs),
       .dtypes = kMoved,
       .reference = moved(s.out, s.source)});
  std::vector<double> dims(s.in.begin(), s.in.end());
  const Shape in = s.in, out = s.out;
  const Source source = s.source;
  cases.push_back(
      {.op = "StridedSliceGrad",
       .name = s.name,
       .inputs =
           {ints(dims), ints(s.begin), ints(s.end), ints(s.strides), {.shape = s.out}},
       .attrs = owned(s.attrs),
       .dtypes = kMoved,
       .reference = [in, out, source](const std::vector<Ref>& given, DType) {
         Ref r;
         r.shape = in;
         r.values.resize(static_cast<size_t>(in.num_elements()));
         for (size_t i = 0; i < given[4].values.size(); ++i) {
           r.values[position(in, *source(coordinate(out, i)))] = given[4].values[i];
         }
         return std::vector<Ref>{r};
       }});
  cases.push_back({.op = "TensorStridedSliceUpdate",
                   .name = s.name,
                   .inputs = {{.shape = s.in},
                              ints(s.begin),
                              ints(s.end),
                              ints(s.strides),
                              {.shape = s.out}},
                   .attrs = owned(s.attrs),
                   .dtypes = kMoved,
                   .reference = [in, out, source](const std::vector<Ref>& given, DType) {
                     Ref r = given[0];
                     for (size_t i = 0; i < given[4].values.size(); ++i) {
                       r.values[position(in, *source(coordinate(out, i)))] =
                           given[4].values[i];
                     }
                     return std::vector<Ref>{r};
                   }});
}

}  // namespace

void add_array_slice_cases(CaseList& cases) {
  add_plain_slices(cases);
  add_strided(cases,
              {"steps", {5, 7}, {1, 0}, {5, 7}, {2, 3}, {}, {2, 3}, [](const Coord& o) {
                 return Coord{1 + 2 * o[0], 3 * o[1]};
               }});
  add_strided(
      cases,
      {"backwards", {5, 7}, {-1, 5}, {0, 1}, {-2, -1}, {}, {2, 4}, [](const Coord& o) {
         return Coord{4 - 2 * o[0], 5 - o[1]};
       }});
  add_strided(cases, {"masks",
                      {5, 7},
                      {9, 2},
                      {9, 9},
                      {-1, 1},
                      {.begin_mask = 1, .end_mask = 1},
                      {5, 5},
                      [](const Coord& o) { return Coord{4 - o[0], 2 + o[1]}; }});
  add_strided(
      cases,
      {"clamped", {5, 7}, {-100, 3}, {100, 100}, {1, 1}, {}, {5, 4}, [](const Coord& o) {
         return Coord{o[0], 3 + o[1]};
       }});
  add_strided(cases, {"shrink",
                      {5, 7},
                      {-2, 1},
                      {0, 4},
                      {1, 1},
                      {.shrink_axis_mask = 1},
                      {3},
                      [](const Coord& o) { return Coord{3, 1 + o[0]}; }});
  add_strided(
      cases,
      {"row", {5, 7}, {2}, {3}, {1}, {.shrink_axis_mask = 1}, {7}, [](const Coord& o) {
         return Coord{2, o[0]};
       }});
  add_strided(cases, {"new_axis",
                      {5, 7},
                      {0, 1, 0},
                      {0, 3, 0},
                      {1, 1, 1},
                      {.new_axis_mask = 0b101},
                      {1, 2, 1, 7},
                      [](const Coord& o) { return Coord{1 + o[1], o[3]}; }});
  add_strided(cases, {"ellipsis",
                      {2, 3, 4, 5},
                      {1, 0, 0, 1},
                      {2, 0, 0, 5},
                      {1, 1, 1, 2},
                      {.ellipsis_mask = 0b010, .new_axis_mask = 0b100},
                      {1, 3, 4, 1, 2},
                      [](const Coord& o) { return Coord{1, o[1], o[2], 1 + 2 * o[4]}; }});
  add_strided(cases,
              {"empty", {5, 7}, {3, 0}, {2, 7}, {1, 1}, {}, {0, 7}, [](const Coord& o) {
                 return o;
               }});
  cases.push_back(
      {.op = "TensorStridedSliceUpdate",
       .name = "broadcast",
       .inputs = {{.shape = {4, 3}}, ints({1}), ints({3}), ints({1}), {.shape = {3}}},
       .reference = [](const std::vector<Ref>& in, DType) {
         Ref r = in[0];
         for (size_t i = 3; i < 9; ++i) r.values[i] = in[4].values[i % 3];
         return std::vector<Ref>{r};
       }});
}

}  // namespace tandem::testing
