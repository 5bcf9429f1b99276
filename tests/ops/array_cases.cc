// Making, reshaping, joining, transposing and broadcasting.
#include "ops/array_cases.h"

#include <cmath>

#include <gtest/gtest.h>

#include "ops/values.h"

namespace tandem::testing {

const std::vector<DType> kMoved = {DType::kFloat32,   DType::kFloat64,   DType::kBFloat16,
                                   DType::kUInt8,     DType::kBool,      DType::kInt64,
                                   DType::kComplex64, DType::kComplex128};

size_t position(const Shape& shape, const Coord& at) {
  int64_t p = 0;
  for (int i = 0; i < shape.rank(); ++i) p = p * shape[i] + at[static_cast<size_t>(i)];
  return static_cast<size_t>(p);
}
Coord coordinate(const Shape& shape, size_t i) {
  Coord at(static_cast<size_t>(shape.rank()));
  auto rest = static_cast<int64_t>(i);
  for (int d = shape.rank() - 1; d >= 0; --d) {
    at[static_cast<size_t>(d)] = rest % shape[d];
    rest /= shape[d];
  }
  return at;
}
Ref mapped(const Ref& in, const Shape& out, const Source& source) {
  Ref r;
  r.shape = out;
  const auto n = static_cast<size_t>(out.num_elements());
  const bool strings = !in.strings.empty();
  if (strings) {
    r.strings.resize(n);
  } else {
    r.values.resize(n);
  }
  for (size_t i = 0; i < n; ++i) {
    const auto from = source(coordinate(out, i));
    if (!from) continue;
    if (strings) {
      r.strings[i] = in.strings[position(in.shape, *from)];
    } else {
      r.values[i] = in.values[position(in.shape, *from)];
    }
  }
  return r;
}
Reference moved(Shape out, Source source) {
  return [out, source](const std::vector<Ref>& in, DType) {
    return std::vector<Ref>{mapped(in[0], out, source)};
  };
}

namespace {

std::vector<Ref> first(const std::vector<Ref>& in, DType) { return {in[0]}; }

// The same elements in another shape.
Reference reshaped(Shape out) {
  return [out](const std::vector<Ref>& in, DType) {
    Ref r = in[0];
    r.shape = out;
    return std::vector<Ref>{r};
  };
}

Ref list(const Shape& shape, std::vector<double> values) {
  Ref r;
  r.shape = shape;
  r.values.assign(values.begin(), values.end());
  return r;
}
Reference numbers(const Shape& shape, std::vector<double> values) {
  return [shape, values](const std::vector<Ref>&, DType) {
    return std::vector<Ref>{list(shape, values)};
  };
}
Reference same_number(const Shape& shape, double value) {
  return numbers(shape,
                 std::vector<double>(static_cast<size_t>(shape.num_elements()), value));
}

void add_identity_cases(CaseList& cases) {
  for (const char* op : {"Identity", "StopGradient", "PreventGradient"}) {
    cases.push_back({.op = op,
                     .inputs = {{.shape = {2, 3}}},
                     .dtypes = kMoved,
                     .reference = first,
                     .check_gradient = op == std::string("Identity")});
  }
  cases.push_back(
      {.op = "Identity",
       .name = "strings",
       .inputs = {{.shape = {2}, .strings = {"a", "longer than a small string holds"}}},
       .dtypes = {DType::kString},
       .reference = first,
       .check_gradient = false});
  cases.push_back({.op = "EnsureShape",
                   .inputs = {{.shape = {2, 3}}},
                   .attrs = owned(EnsureShapeAttrs{{kUnknownDim, 3}}),
                   .reference = first});
  cases.push_back(
      {.op = "CheckNumerics",
       .inputs = {{.shape = {4, 33}}},
       .dtypes = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16},
       .reference = first});
}

void add_shape_cases(CaseList& cases) {
  cases.push_back({.op = "Shape",
                   .inputs = {{.shape = {2, 3, 0}}},
                   .dtypes = kMoved,
                   .reference = numbers({3}, {2, 3, 0})});
  cases.push_back({.op = "Shape",
                   .name = "scalar_int64",
                   .inputs = {{.shape = {}}},
                   .attrs = owned(ShapeAttrs{DType::kInt64}),
                   .reference = numbers({0}, {})});
  cases.push_back({.op = "ShapeN",
                   .inputs = {{.shape = {2, 3}}, {.shape = {4}}},
                   .reference = [](const std::vector<Ref>&, DType) {
                     return std::vector<Ref>{list({2}, {2, 3}), list({1}, {4})};
                   }});
  cases.push_back(
      {.op = "Size", .inputs = {{.shape = {2, 3}}}, .reference = numbers({}, {6})});
  cases.push_back(
      {.op = "Rank", .inputs = {{.shape = {2, 3}}}, .reference = numbers({}, {2})});
  cases.push_back({.op = "BroadcastArgs",
                   .inputs = {ints({2, 1, 4}), ints({3, 1})},
                   .dtypes = {DType::kInt32},
                   .reference = numbers({3}, {2, 3, 4})});
}

void add_make_cases(CaseList& cases) {
  cases.push_back({.op = "Fill",
                   .inputs = {ints({3, 70}), {.shape = {}}},
                   .dtypes = kMoved,
                   .reference = [](const std::vector<Ref>& in, DType) {
                     return std::vector<Ref>{
                         mapped(in[1], {3, 70}, [](const Coord&) { return Coord{}; })};
                   }});
  cases.push_back({.op = "Fill",
                   .name = "large",
                   .inputs = {ints({300000}), {.shape = {}}},
                   .reference =
                       [](const std::vector<Ref>& in, DType) {
                         return std::vector<Ref>{mapped(
                             in[1], {300000}, [](const Coord&) { return Coord{}; })};
                       },
                   .check_gradient = false});
  cases.push_back({.op = "Fill",
                   .name = "empty",
                   .inputs = {ints({0, 2}), {.shape = {}}},
                   .reference = numbers({0, 2}, {})});
  cases.push_back({.op = "ZerosLike",
                   .inputs = {{.shape = {2, 3}}},
                   .dtypes = kMoved,
                   .reference = same_number({2, 3}, 0)});
  cases.push_back({.op = "OnesLike",
                   .inputs = {{.shape = {2, 3}}},
                   .dtypes = kMoved,
                   .reference = same_number({2, 3}, 1)});
  cases.push_back({.op = "OnesLike",
                   .name = "dtype",
                   .inputs = {{.shape = {5}}},
                   .attrs = owned(LikeAttrs{DType::kFloat16}),
                   .reference = same_number({5}, 1)});
  cases.push_back({.op = "Empty",
                   .name = "zeros",
                   .inputs = {ints({2, 3})},
                   .attrs = owned(EmptyAttrs{DType::kFloat32, true}),
                   .reference = same_number({2, 3}, 0)});
  cases.push_back({.op = "Empty",
                   .inputs = {ints({2, 3})},
                   .check = [](const std::vector<Tensor>& out) {
                     EXPECT_EQ(out[0].shape(), (Shape{2, 3}));
                   }});
  const std::vector<DType> reals = {DType::kFloat32, DType::kFloat64, DType::kFloat16,
                                    DType::kInt32,   DType::kInt64,   DType::kInt8};
  cases.push_back({.op = "Range",
                   .inputs = {{.shape = {}, .fixed = {3}},
                              {.shape = {}, .fixed = {18}},
                              {.shape = {}, .fixed = {4}}},
                   .dtypes = reals,
                   .reference = numbers({4}, {3, 7, 11, 15})});
  cases.push_back({.op = "Range",
                   .name = "down",
                   .inputs = {{.shape = {}, .fixed = {3}},
                              {.shape = {}, .fixed = {-3}},
                              {.shape = {}, .fixed = {-2}}},
                   .dtypes = reals,
                   .reference = numbers({3}, {3, 1, -1})});
  cases.push_back({.op = "Range",
                   .name = "fractions",
                   .inputs = {{.shape = {}, .fixed = {0.5}},
                              {.shape = {}, .fixed = {1.6}},
                              {.shape = {}, .fixed = {0.25}}},
                   .reference = numbers({5}, {0.5, 0.75, 1, 1.25, 1.5})});
  cases.push_back({.op = "Range",
                   .name = "empty",
                   .inputs = {{.shape = {}, .fixed = {2}},
                              {.shape = {}, .fixed = {2}},
                              {.shape = {}, .fixed = {1}}},
                   .dtypes = reals,
                   .reference = numbers({0}, {})});
  for (const int64_t num : {5, 1}) {
    for (const int64_t axis : {0, 1, -1}) {
      Shape out{2, 3};
      const int at = static_cast<int>(axis < 0 ? 2 : axis);
      out.insert(at, num);
      cases.push_back(
          {.op = "LinSpace",
           .name = std::to_string(num) + "_" + std::to_string(at),
           .inputs = {{.shape = {2, 3}}, {.shape = {2, 3}}},
           .attrs = owned(LinSpaceAttrs{num, axis}),
           .dtypes = {DType::kFloat32, DType::kFloat64, DType::kFloat16,
                      DType::kBFloat16},
           .reference = [out, at, num](const std::vector<Ref>& in, DType) {
             Ref r = mapped(in[0], out, [](const Coord&) { return std::nullopt; });
             for (size_t i = 0; i < r.values.size(); ++i) {
               Coord from = coordinate(out, i);
               const auto k = static_cast<double>(from[static_cast<size_t>(at)]);
               from.erase(from.begin() + at);
               const size_t p = position(in[0].shape, from);
               const double a = in[0].re(p), b = in[1].re(p);
               r.values[i] =
                   num == 1 ? a : a + (b - a) * k / static_cast<double>(num - 1);
             }
             return std::vector<Ref>{r};
           }});
    }
  }
}

void add_reshape_cases(CaseList& cases) {
  const auto reshape_case = [&](const char* name, Shape in, std::vector<double> to,
                                Shape out) {
    cases.push_back({.op = "Reshape",
                     .name = name,
                     .inputs = {{.shape = in}, ints(std::move(to))},
                     .dtypes = kMoved,
                     .reference = reshaped(out)});
  };
  reshape_case("", {2, 6}, {3, 4}, {3, 4});
  reshape_case("left_over", {2, 6}, {-1, 3}, {4, 3});
  reshape_case("empty", {0, 3}, {0, 5}, {0, 5});
  reshape_case("empty_left_over", {0, 3}, {-1, 0}, {3, 0});
  cases.push_back({.op = "Reshape",
                   .name = "to_scalar",
                   .inputs = {{.shape = {1, 1}},
                              {.shape = {0}, .fixed = {0}, .dtype = DType::kInt32}},
                   .reference = reshaped({})});
  cases.push_back(
      {.op = "ReshapeLike",
       .inputs = {{.shape = {2, 6}}, {.shape = {3, 4}, .dtype = DType::kInt8}},
       .dtypes = kMoved,
       .reference = reshaped({3, 4})});
  for (const int64_t axis : {0, 1, -1, -3}) {
    Shape out{2, 3};
    out.insert(static_cast<int>(axis < 0 ? axis + 3 : axis), 1);
    cases.push_back({.op = "ExpandDims",
                     .name = std::to_string(axis + 3),
                     .inputs = {{.shape = {2, 3}}},
                     .attrs = owned(AxisAttrs{axis}),
                     .reference = reshaped(out)});
  }
  cases.push_back({.op = "Squeeze",
                   .inputs = {{.shape = {1, 2, 1, 3}}},
                   .reference = reshaped({2, 3})});
  cases.push_back({.op = "Squeeze",
                   .name = "axis",
                   .inputs = {{.shape = {1, 2, 1, 3}}},
                   .attrs = owned(SqueezeAttrs{{-2}}),
                   .reference = reshaped({1, 2, 3})});
}

void transpose_case(CaseList& cases, const char* name, Shape in, Ints perm,
                    std::vector<DType> dtypes = kMoved) {
  Shape out;
  Ints full = perm;
  for (int i = 0; i < in.rank(); ++i) {
    if (perm.empty()) full.push_back(in.rank() - 1 - i);
    int64_t& p = full[static_cast<size_t>(i)];
    p = p < 0 ? p + in.rank() : p;
    out.push_back(in[static_cast<int>(p)]);
  }
  cases.push_back({.op = "Transpose",
                   .name = name,
                   .inputs = {{.shape = in}},
                   .attrs = owned(TransposeAttrs{perm}),
                   .dtypes = std::move(dtypes),
                   .reference = moved(out,
                                      [full](const Coord& o) {
                                        Coord i(o.size());
                                        for (size_t k = 0; k < o.size(); ++k) {
                                          i[static_cast<size_t>(full[k])] = o[k];
                                        }
                                        return i;
                                      }),
                   .check_gradient = in.num_elements() < 4096});
}

void add_transpose_cases(CaseList& cases) {
  transpose_case(cases, "", {3, 5}, {});
  transpose_case(cases, "blocks", {37, 70}, {1, 0});
  transpose_case(cases, "batch", {3, 19, 18}, {0, 2, 1});
  transpose_case(cases, "four", {2, 3, 4, 5}, {3, 1, 0, 2});
  transpose_case(cases, "channels", {2, 7, 9, 3}, {0, 3, 1, 2});
  transpose_case(cases, "wide", {9, 11, 4}, {1, 0, 2});
  transpose_case(cases, "negative", {2, 3, 4}, {-1, 0, 1});
  transpose_case(cases, "identity", {2, 1, 4}, {1, 0, 2});
  transpose_case(cases, "empty", {2, 0, 4}, {2, 1, 0});
  transpose_case(cases, "large", {700, 600}, {1, 0}, {DType::kFloat32, DType::kUInt8});
  // Planes as GPUs turn them: with and without vectors, narrow on either side, batches.
  const std::vector<DType> sizes = {DType::kUInt8, DType::kBFloat16, DType::kInt32,
                                    DType::kFloat64, DType::kComplex128};
  transpose_case(cases, "even planes", {3, 136, 2, 132}, {0, 2, 3, 1}, sizes);
  transpose_case(cases, "odd planes", {2, 133, 71}, {0, 2, 1}, sizes);
  transpose_case(cases, "images", {2, 41, 43, 3}, {0, 3, 1, 2}, sizes);
  transpose_case(cases, "images back", {2, 5, 1763}, {0, 2, 1}, sizes);
  transpose_case(cases, "heads", {2, 40, 4, 16}, {0, 2, 1, 3}, sizes);
  transpose_case(cases, "pairs", {65, 72, 2}, {1, 0, 2}, sizes);
  const auto conjugate = [&](const char* name, int64_t rows, int64_t cols) {
    cases.push_back({.op = "Transpose",
                     .name = name,
                     .inputs = {{.shape = {rows, cols}}},
                     .attrs = owned(TransposeAttrs{{1, 0}, true}),
                     .dtypes = {DType::kComplex64, DType::kComplex128, DType::kFloat64},
                     .reference =
                         [rows, cols](const std::vector<Ref>& in, DType) {
                           Ref r = mapped(in[0], {cols, rows}, [](const Coord& o) {
                             return Coord{o[1], o[0]};
                           });
                           for (auto& v : r.values) v = std::conj(v);
                           return std::vector<Ref>{r};
                         },
                     .check_gradient = rows * cols < 100});
  };
  conjugate("conjugate", 2, 3);
  conjugate("conjugate large", 68, 71);
  cases.push_back(
      {.op = "Transpose",
       .name = "strings",
       .inputs = {{.shape = {2, 2}, .strings = {"a", "b", "c", "d"}}},
       .dtypes = {DType::kString},
       .reference = moved({2, 2}, [](const Coord& o) { return Coord{o[1], o[0]}; }),
       .check_gradient = false});
  cases.push_back({.op = "InvertPermutation",
                   .inputs = {{.shape = {4}, .fixed = {2, 0, 3, 1}}},
                   .dtypes = {DType::kInt32, DType::kInt64},
                   .reference = numbers({4}, {1, 3, 0, 2})});
}

void add_broadcast_cases(CaseList& cases) {
  const auto broadcast = [&](const char* name, Shape in, Shape out) {
    const auto from = [in, out](const Coord& o) {
      Coord i(o.end() - in.rank(), o.end());
      for (int d = 0; d < in.rank(); ++d) {
        if (in[d] == 1) i[static_cast<size_t>(d)] = 0;
      }
      return i;
    };
    std::vector<double> dims(out.begin(), out.end());
    cases.push_back({.op = "BroadcastTo",
                     .name = name,
                     .inputs = {{.shape = in}, ints(dims)},
                     .dtypes = kMoved,
                     .reference = moved(out, from)});
    cases.push_back({.op = "BroadcastLike",
                     .name = name,
                     .inputs = {{.shape = in}, {.shape = out}},
                     .dtypes = kMoved,
                     .reference = moved(out, from)});
  };
  broadcast("rows", {3}, {2, 3});
  broadcast("columns", {4, 1}, {4, 33});
  broadcast("both", {2, 1, 3, 1}, {5, 2, 4, 3, 2});
  broadcast("scalar", {}, {2, 3});
  broadcast("empty", {1, 3}, {0, 3});
  broadcast("same", {2, 3}, {2, 3});
  const auto tile = [&](const char* name, Shape in, std::vector<double> multiples) {
    Shape out;
    for (int i = 0; i < in.rank(); ++i) {
      out.push_back(in[i] * static_cast<int64_t>(multiples[static_cast<size_t>(i)]));
    }
    cases.push_back({.op = "Tile",
                     .name = name,
                     .inputs = {{.shape = in}, ints(multiples)},
                     .dtypes = kMoved,
                     .reference = moved(out, [in](const Coord& o) {
                       Coord i = o;
                       for (int d = 0; d < in.rank(); ++d)
                         i[static_cast<size_t>(d)] %= in[d];
                       return i;
                     })});
  };
  tile("", {2, 3}, {3, 2});
  tile("one_axis", {4, 5}, {1, 3});
  tile("four", {2, 1, 3, 2}, {2, 3, 1, 2});
  tile("zero", {2, 3}, {0, 2});
  tile("seven", {1, 2, 1, 2, 1, 2, 1}, {2, 1, 2, 1, 1, 2, 3});
}

}  // namespace

void add_array_cases(CaseList& cases) {
  add_identity_cases(cases);
  add_shape_cases(cases);
  add_make_cases(cases);
  add_reshape_cases(cases);
  add_transpose_cases(cases);
  add_broadcast_cases(cases);
  add_array_join_cases(cases);
  add_array_slice_cases(cases);
  add_array_layout_cases(cases);
}

}  // namespace tandem::testing
