// Padding, repeating, reversing, blocks and sets.
#include "ops/array_cases.h"

namespace tandem::testing {

namespace {

Coord plus(Coord c, const std::vector<double>& by, size_t stride, int sign) {
  for (size_t d = 0; d < c.size(); ++d)
    c[d] += sign * static_cast<int64_t>(by[stride * d]);
  return c;
}

void add_pad_cases(CaseList& cases) {
  const auto pad = [&](const char* name, Shape in, std::vector<double> p) {
    Shape out = in;
    for (int d = 0; d < in.rank(); ++d) {
      const auto k = static_cast<size_t>(2 * d);
      out.set(d, in[d] + static_cast<int64_t>(p[k] + p[k + 1]));
    }
    const auto inside = [in, p](const Coord& o) -> std::optional<Coord> {
      const Coord i = plus(o, p, 2, -1);
      for (size_t d = 0; d < i.size(); ++d) {
        if (i[d] < 0 || i[d] >= in[static_cast<int>(d)]) return std::nullopt;
      }
      return i;
    };
    const In paddings = ints({in.rank(), 2}, p);
    cases.push_back({.op = "Pad",
                     .name = name,
                     .inputs = {{.shape = in}, paddings},
                     .dtypes = kMoved,
                     .reference = moved(out, inside)});
    cases.push_back({.op = "PadV2",
                     .name = name,
                     .inputs = {{.shape = in}, paddings, {.shape = {}}},
                     .dtypes = kMoved,
                     .reference = [out, inside](const std::vector<Ref>& given, DType) {
                       Ref r = mapped(given[0], out, inside);
                       for (size_t i = 0; i < r.values.size(); ++i) {
                         if (!inside(coordinate(out, i)))
                           r.values[i] = given[2].values[0];
                       }
                       return std::vector<Ref>{r};
                     }});
  };
  pad("", {2, 3}, {1, 2, 3, 0});
  pad("image", {2, 4, 5, 3}, {0, 0, 1, 1, 2, 1, 0, 0});
  pad("empty", {0, 3}, {1, 1, 1, 1});
  pad("none", {2, 3}, {0, 0, 0, 0});
  cases.push_back({.op = "Pad",
                   .name = "strings",
                   .inputs = {{.shape = {1}, .strings = {"a"}}, ints({1, 2}, {1, 1})},
                   .dtypes = {DType::kString},
                   .reference =
                       [](const std::vector<Ref>&, DType) {
                         Ref r;
                         r.shape = {3};
                         r.strings = {"", "a", ""};
                         return std::vector<Ref>{r};
                       },
                   .check_gradient = false});

  for (const MirrorMode mode : {MirrorMode::kReflect, MirrorMode::kSymmetric}) {
    const int64_t edge = mode == MirrorMode::kReflect ? 0 : 1;
    const std::string name = edge ? "symmetric" : "reflect";
    const Shape in{4, 3, 5}, out{9, 3, 8};
    const std::vector<double> p = {2, 3, 0, 0, 1, 2};
    const auto source = [edge, in, p](const Coord& o) {
      Coord i = plus(o, p, 2, -1);
      for (size_t d = 0; d < i.size(); ++d) {
        const int64_t n = in[static_cast<int>(d)];
        if (i[d] < 0) i[d] = -i[d] - edge;
        if (i[d] >= n) i[d] = 2 * n - 2 - i[d] + edge;
      }
      return i;
    };
    const In paddings = ints({3, 2}, p);
    cases.push_back({.op = "MirrorPad",
                     .name = name,
                     .inputs = {{.shape = in}, paddings},
                     .attrs = owned(MirrorPadAttrs{mode}),
                     .dtypes = kMoved,
                     .reference = moved(out, source)});
    OpCase grad{.op = "MirrorPadGrad",
                .name = name,
                .inputs = {{.shape = out}, paddings},
                .attrs = owned(MirrorPadAttrs{mode}),
                .dtypes = {DType::kFloat32, DType::kFloat64, DType::kInt32,
                           DType::kComplex64, DType::kComplex128},
                .reference = [in, out, source](const std::vector<Ref>& given, DType) {
                  Ref r;
                  r.shape = in;
                  r.values.resize(static_cast<size_t>(in.num_elements()));
                  for (size_t i = 0; i < given[0].values.size(); ++i) {
                    r.values[position(in, source(coordinate(out, i)))] +=
                        given[0].values[i];
                  }
                  return std::vector<Ref>{r};
                }};
    cases.push_back(grad);
    // Sums of up to eight terms, rounded one by one.
    grad.name = name + "_half";
    grad.dtypes = {DType::kFloat16};
    grad.tolerance = 1e-2;
    cases.push_back(std::move(grad));
  }
}

void add_repeat_cases(CaseList& cases) {
  const auto repeat = [&](const char* name, Shape in, int64_t axis, In counts) {
    const auto at = static_cast<size_t>(axis < 0 ? axis + in.rank() : axis);
    std::vector<int64_t> places;
    for (int64_t i = 0; i < in[static_cast<int>(at)]; ++i) {
      const auto k = counts.fixed.size() == 1 ? 0 : static_cast<size_t>(i);
      for (double r = 0; r < counts.fixed[k]; ++r) places.push_back(i);
    }
    Shape out = in;
    out.set(static_cast<int>(at), static_cast<int64_t>(places.size()));
    const auto source = [at, places](const Coord& o) {
      Coord i = o;
      i[at] = places[static_cast<size_t>(o[at])];
      return i;
    };
    cases.push_back({.op = "Repeat",
                     .name = name,
                     .inputs = {{.shape = in}, counts},
                     .attrs = owned(AxisAttrs{axis}),
                     .dtypes = kMoved,
                     .reference = moved(out, source),
                     .check_gradient = in.num_elements() < 1000});
    cases.push_back({.op = "RepeatGrad",
                     .name = name,
                     .inputs = {{.shape = out}, counts, {.shape = in}},
                     .attrs = owned(AxisAttrs{axis}),
                     .dtypes = {DType::kFloat32, DType::kFloat64, DType::kBFloat16,
                                DType::kInt64, DType::kComplex64},
                     .reference =
                         [in, out, source](const std::vector<Ref>& given, DType) {
                           Ref r;
                           r.shape = in;
                           r.values.resize(static_cast<size_t>(in.num_elements()));
                           for (size_t i = 0; i < given[0].values.size(); ++i) {
                             r.values[position(in, source(coordinate(out, i)))] +=
                                 given[0].values[i];
                           }
                           return std::vector<Ref>{r};
                         },
                     .check_gradient = in.num_elements() < 1000});
  };
  repeat("scalar", {2, 3}, 1, {.shape = {}, .fixed = {3}, .dtype = DType::kInt32});
  repeat("vector", {3, 4}, 0, ints({2, 0, 3}));
  repeat("last", {2, 3}, -1, ints({1, 2, 4}, DType::kInt64));
  std::vector<double> many;  // more counts than a GPU's kernel takes as arguments at once
  for (int i = 0; i < 3200; ++i) many.push_back(i % 3);
  repeat("many", {3200, 2}, 0, ints(many));
  repeat("none", {2, 3}, 0, ints({0}));
}

void add_reverse_cases(CaseList& cases) {
  const auto reverse = [&](const char* name, Shape in, Ints axes) {
    cases.push_back({.op = "ReverseV2",
                     .name = name,
                     .inputs = {{.shape = in}},
                     .attrs = owned(ReverseAttrs{axes}),
                     .dtypes = kMoved,
                     .reference = moved(in, [in, axes](const Coord& o) {
                       Coord i = o;
                       for (int64_t a : axes) {
                         const int d = static_cast<int>(a < 0 ? a + in.rank() : a);
                         i[static_cast<size_t>(d)] =
                             in[d] - 1 - o[static_cast<size_t>(d)];
                       }
                       return i;
                     })});
  };
  reverse("rows", {4, 3}, {0});
  reverse("columns", {3, 37}, {-1});
  reverse("both", {2, 5, 3}, {0, 2});
  reverse("none", {4, 3}, {});
  reverse("empty", {0, 3}, {0, 1});
  const auto roll = [&](const char* name, Shape in, Ints shift, Ints axes) {
    cases.push_back({.op = "Roll",
                     .name = name,
                     .inputs = {{.shape = in}},
                     .attrs = owned(RollAttrs{shift, axes}),
                     .dtypes = kMoved,
                     .reference = moved(in, [in, shift, axes](const Coord& o) {
                       Coord i = o;
                       for (size_t k = 0; k < axes.size(); ++k) {
                         const int d = static_cast<int>(axes[k] < 0 ? axes[k] + in.rank()
                                                                    : axes[k]);
                         int64_t& at = i[static_cast<size_t>(d)];
                         at = ((at - shift[k]) % in[d] + in[d]) % in[d];
                       }
                       return i;
                     })});
  };
  roll("one", {5, 3}, {2}, {0});
  roll("back", {5, 4}, {-7}, {-1});
  roll("both", {5, 3, 4}, {1, 3}, {0, 2});
  roll("twice", {5, 3}, {1, 2}, {0, 0});
  roll("empty", {0, 3}, {1}, {0});
  const auto sequence = [&](const char* name, Shape in, int64_t seq, int64_t batch,
                            std::vector<double> lengths) {
    cases.push_back({.op = "ReverseSequence",
                     .name = name,
                     .inputs = {{.shape = in}, ints(lengths, DType::kInt64)},
                     .attrs = owned(ReverseSequenceAttrs{seq, batch}),
                     .dtypes = kMoved,
                     .reference = moved(in, [=](const Coord& o) {
                       Coord i = o;
                       const auto s = static_cast<size_t>(seq),
                                  b = static_cast<size_t>(batch);
                       const auto n =
                           static_cast<int64_t>(lengths[static_cast<size_t>(o[b])]);
                       if (o[s] < n) i[s] = n - 1 - o[s];
                       return i;
                     })});
  };
  sequence("batch_first", {3, 5, 2}, 1, 0, {0, 5, 3});
  sequence("seq_first", {5, 2, 3, 2}, 0, 2, {1, 4, 2});
  sequence("last", {2, 3, 4}, 2, 0, {3, 1});
}

void add_block_cases(CaseList& cases) {
  cases.push_back({.op = "SpaceToDepth",
                   .inputs = {{.shape = {2, 4, 6, 3}}},
                   .attrs = owned(BlockAttrs{2}),
                   .dtypes = kMoved,
                   .reference = moved({2, 2, 3, 12}, [](const Coord& o) {
                     return Coord{o[0], 2 * o[1] + o[3] / 6, 2 * o[2] + o[3] / 3 % 2,
                                  o[3] % 3};
                   })});
  cases.push_back({.op = "SpaceToDepth",
                   .name = "NCHW",
                   .inputs = {{.shape = {2, 3, 4, 6}}},
                   .attrs = owned(BlockAttrs{2, ImageFormat::kNCHW}),
                   .dtypes = kMoved,
                   .reference = moved({2, 12, 2, 3}, [](const Coord& o) {
                     return Coord{o[0], o[1] % 3, 2 * o[2] + o[1] / 6,
                                  2 * o[3] + o[1] / 3 % 2};
                   })});
  cases.push_back({.op = "DepthToSpace",
                   .inputs = {{.shape = {2, 2, 3, 12}}},
                   .attrs = owned(BlockAttrs{2}),
                   .dtypes = kMoved,
                   .reference = moved({2, 4, 6, 3}, [](const Coord& o) {
                     return Coord{o[0], o[1] / 2, o[2] / 2,
                                  6 * (o[1] % 2) + 3 * (o[2] % 2) + o[3]};
                   })});
  cases.push_back({.op = "DepthToSpace",
                   .name = "NCHW",
                   .inputs = {{.shape = {2, 12, 2, 3}}},
                   .attrs = owned(BlockAttrs{2, ImageFormat::kNCHW}),
                   .dtypes = kMoved,
                   .reference = moved({2, 3, 4, 6}, [](const Coord& o) {
                     return Coord{o[0], 6 * (o[2] % 2) + 3 * (o[3] % 2) + o[1], o[2] / 2,
                                  o[3] / 2};
                   })});
  // Blocks of 2 × 3 over [2, 3, 7, 2] padded to [4, 9].
  const Shape space{2, 3, 7, 2}, batch{12, 2, 3, 2};
  const auto in_space = [](const Coord& o) -> std::optional<Coord> {
    const int64_t entry = o[0] / 2, y = 2 * o[1] + entry / 3 - 1,
                  x = 3 * o[2] + entry % 3 - 1;
    if (y < 0 || y >= 3 || x < 0 || x >= 7) return std::nullopt;
    return Coord{o[0] % 2, y, x, o[3]};
  };
  cases.push_back({.op = "SpaceToBatchND",
                   .inputs = {{.shape = space}},
                   .attrs = owned(SpaceBatchAttrs{{2, 3}, {1, 0, 1, 1}}),
                   .dtypes = kMoved,
                   .reference = moved(batch, in_space)});
  cases.push_back({.op = "BatchToSpaceND",
                   .inputs = {{.shape = batch}},
                   .attrs = owned(BatchSpaceAttrs{{2, 3}, {1, 0, 1, 1}}),
                   .dtypes = kMoved,
                   .reference = moved(space, [](const Coord& o) {
                     const int64_t y = o[1] + 1, x = o[2] + 1;
                     return Coord{(3 * (y % 2) + x % 3) * 2 + o[0], y / 2, x / 3, o[3]};
                   })});
}

void add_set_cases(CaseList& cases) {
  cases.push_back({.op = "ListDiff",
                   .inputs = {{.shape = {40}, .low = 0, .high = 9},
                              {.shape = {3}, .fixed = {1, 4, 7}}},
                   .dtypes = {DType::kInt32, DType::kInt64, DType::kUInt8,
                              DType::kFloat32, DType::kFloat16},
                   .reference = [](const std::vector<Ref>& in, DType) {
                     Ref values, places;
                     for (size_t i = 0; i < in[0].values.size(); ++i) {
                       const auto v = in[0].values[i];
                       if (v == 1.0 || v == 4.0 || v == 7.0) continue;
                       values.values.push_back(v);
                       places.values.emplace_back(static_cast<double>(i));
                     }
                     values.shape =
                         places.shape = {static_cast<int64_t>(values.values.size())};
                     return std::vector<Ref>{values, places};
                   }});
}

}  // namespace

void add_array_layout_cases(CaseList& cases) {
  add_pad_cases(cases);
  add_repeat_cases(cases);
  add_reverse_cases(cases);
  add_array_diag_cases(cases);
  add_block_cases(cases);
  add_set_cases(cases);
}

}  // namespace tandem::testing
