// Gathers and selections; scatters are in indexing_scatter_cases.cc.
#include "ops/index_reference.h"
#include "ops/indexing_scatter_cases.h"
#include "tandem/ops/indexing.h"

namespace tandem::testing {

namespace {

constexpr DType i32 = DType::kInt32, i64 = DType::kInt64;
const std::vector<DType> kMany = {DType::kFloat32,   DType::kFloat64,   DType::kInt8,
                                  DType::kInt64,     DType::kBool,      DType::kBFloat16,
                                  DType::kComplex64, DType::kComplex128};

// params [batch, outer, axis, inner] by coordinates.
Reference gather_reference(GatherAttrs attrs) {
  return [attrs](const std::vector<Ref>& in, DType) -> std::vector<Ref> {
    const Ref &params = in[0], &indices = in[1];
    const int axis =
        static_cast<int>(attrs.axis < 0 ? attrs.axis + params.shape.rank() : attrs.axis);
    const int batch = static_cast<int>(attrs.batch_dims);
    Shape shape = params.shape.slice(0, axis);
    for (int i = batch; i < indices.shape.rank(); ++i) shape.push_back(indices.shape[i]);
    for (int i = axis + 1; i < params.shape.rank(); ++i) shape.push_back(params.shape[i]);
    Ref out = zeros_of(shape);
    for (int64_t i = 0; i < out.n(); ++i) {
      const Coordinates at = coordinates(shape, i);
      Coordinates index(at.begin(), at.begin() + batch);
      const int index_dims = indices.shape.rank() - batch;
      index.insert(index.end(), at.begin() + axis, at.begin() + axis + index_dims);
      Coordinates from(at.begin(), at.begin() + axis);
      from.push_back(int_at(indices, flat(indices.shape, index)));
      from.insert(from.end(), at.begin() + axis + index_dims, at.end());
      out.values[static_cast<size_t>(i)] = params.values[flat(params.shape, from)];
    }
    return {out};
  };
}

OpCase gather_case(std::string name, Shape params, Shape indices, GatherAttrs attrs,
                   DType index = i32) {
  const int64_t axis = attrs.axis < 0 ? attrs.axis + params.rank() : attrs.axis;
  return {
      .op = "GatherV2",
      .name = std::move(name),
      .inputs = {{.shape = params},
                 index_in(indices, static_cast<double>(params[static_cast<int>(axis)]),
                          index)},
      .attrs = owned(attrs),
      .dtypes = kMany,
      .reference = gather_reference(attrs)};
}

// The transpose of the gather: every element of grad is added where it came from.
OpCase gather_grad_case(std::string name, Shape params, Shape indices, Shape grad,
                        GatherAttrs attrs) {
  return {.op = "GatherV2Grad",
          .name = std::move(name),
          .inputs = {{.shape = grad},
                     index_in(indices,
                              static_cast<double>(params[static_cast<int>(attrs.axis)])),
                     {.shape = params}},
          .attrs = owned(attrs),
          .reference = [attrs](const std::vector<Ref>& in, DType) -> std::vector<Ref> {
            Ref positions = in[2];
            for (size_t i = 0; i < positions.values.size(); ++i) {
              positions.values[i] = static_cast<double>(i);
            }
            const Ref from =
                gather_reference(attrs)({positions, in[1]}, DType::kFloat64)[0];
            Ref out = zeros_of(in[2].shape);
            for (size_t i = 0; i < from.values.size(); ++i) {
              out.values[static_cast<size_t>(int_at(from, i))] += in[0].values[i];
            }
            return {out};
          }};
}

Reference gather_nd_reference(int batch) {
  return [batch](const std::vector<Ref>& in, DType) -> std::vector<Ref> {
    const Ref &params = in[0], &indices = in[1];
    const int last = indices.shape.rank() - 1;
    const auto depth = static_cast<int>(indices.shape[last]);
    Shape shape = indices.shape.slice(0, last);
    for (int i = batch + depth; i < params.shape.rank(); ++i)
      shape.push_back(params.shape[i]);
    Ref out = zeros_of(shape);
    for (int64_t i = 0; i < out.n(); ++i) {
      const Coordinates at = coordinates(shape, i);
      Coordinates from(at.begin(), at.begin() + batch);
      Coordinates place(at.begin(), at.begin() + last);
      place.push_back(0);
      for (int d = 0; d < depth; ++d) {
        place.back() = d;
        from.push_back(int_at(indices, flat(indices.shape, place)));
      }
      from.insert(from.end(), at.begin() + last, at.end());
      out.values[static_cast<size_t>(i)] = params.values[flat(params.shape, from)];
    }
    return {out};
  };
}

OpCase gather_nd_case(std::string name, Shape params, Shape indices, int64_t batch,
                      double high, DType index = i32) {
  return {.op = "GatherNd",
          .name = std::move(name),
          .inputs = {{.shape = params}, index_in(indices, high, index)},
          .attrs = owned(BatchDimsAttrs{batch}),
          .dtypes = kMany,
          .reference = gather_nd_reference(static_cast<int>(batch))};
}

Reference take_reference(int axis) {
  return [axis](const std::vector<Ref>& in, DType) -> std::vector<Ref> {
    Ref out = zeros_of(in[1].shape);
    for (int64_t i = 0; i < out.n(); ++i) {
      Coordinates at = coordinates(out.shape, i);
      const int64_t index = int_at(in[1], static_cast<size_t>(i));
      at[static_cast<size_t>(axis)] = index < 0 ? index + in[0].shape[axis] : index;
      out.values[static_cast<size_t>(i)] = in[0].values[flat(in[0].shape, at)];
    }
    return {out};
  };
}

OpCase take_grad_case(std::string name, Shape x, Shape indices, int axis) {
  return {.op = "TakeAlongAxisGrad",
          .name = std::move(name),
          .inputs = {{.shape = indices},
                     {.shape = indices,
                      .low = -static_cast<double>(x[axis]),
                      .high = static_cast<double>(x[axis]),
                      .dtype = i64},
                     {.shape = x}},
          .attrs = owned(AxisAttrs{axis}),
          .reference = [axis](const std::vector<Ref>& in, DType) -> std::vector<Ref> {
            Ref out = zeros_of(in[2].shape);
            for (int64_t i = 0; i < in[0].n(); ++i) {
              Coordinates at = coordinates(in[0].shape, i);
              const int64_t index = int_at(in[1], static_cast<size_t>(i));
              at[static_cast<size_t>(axis)] = index < 0 ? index + out.shape[axis] : index;
              out.values[flat(out.shape, at)] += in[0].values[static_cast<size_t>(i)];
            }
            return {out};
          }};
}

OpCase one_hot_case(std::string name, Shape indices, int64_t depth, int64_t axis,
                    DType index) {
  return {
      .op = "OneHot",
      .name = std::move(name),
      .inputs = {{.shape = indices,
                  .low = -2,
                  .high = static_cast<double>(depth) + 2,
                  .dtype = index},
                 scalar_in(static_cast<double>(depth)),
                 {.shape = {}},
                 {.shape = {}}},
      .attrs = owned(AxisAttrs{axis}),
      .dtypes = kMany,
      .reference = [depth, axis](const std::vector<Ref>& in, DType) -> std::vector<Ref> {
        const int at_axis = axis < 0 ? in[0].shape.rank() : static_cast<int>(axis);
        Shape shape = in[0].shape;
        shape.insert(at_axis, depth);
        Ref out = zeros_of(shape);
        for (int64_t i = 0; i < out.n(); ++i) {
          Coordinates at = coordinates(shape, i);
          const int64_t position = at[static_cast<size_t>(at_axis)];
          at.erase(at.begin() + at_axis);
          const bool hit = int_at(in[0], flat(in[0].shape, at)) == position;
          out.values[static_cast<size_t>(i)] = in[hit ? 2 : 3].values[0];
        }
        return {out};
      }};
}

OpCase where_case(std::string name, In in) {
  return {.op = "Where",
          .name = std::move(name),
          .inputs = {std::move(in)},
          .dtypes = {DType::kBool, DType::kFloat32, DType::kFloat16, DType::kInt8,
                     DType::kInt64, DType::kComplex64, DType::kComplex128},
          .reference = [](const std::vector<Ref>& x, DType) -> std::vector<Ref> {
            Ref out;
            for (int64_t i = 0; i < x[0].n(); ++i) {
              if (x[0].values[static_cast<size_t>(i)] == 0.0) continue;
              for (int64_t c : coordinates(x[0].shape, i)) out.values.emplace_back(c);
            }
            const int64_t rank = x[0].shape.rank();
            out.shape = {static_cast<int64_t>(out.values.size()) / rank, rank};
            return {out};
          }};
}

// Slices along an axis, compared elementwise; strings only as a vector.
Reference unique_reference(int axis, bool counts) {
  return [axis, counts](const std::vector<Ref>& in, DType dtype) -> std::vector<Ref> {
    const Ref& x = in[0];
    const int64_t n = x.shape[axis];
    const auto element = [&](int64_t slice, int64_t rest) {
      Shape others = x.shape;
      others.erase(axis);
      Coordinates at = coordinates(others, rest);
      at.insert(at.begin() + axis, slice);
      return flat(x.shape, at);
    };
    const int64_t size = n ? x.n() / n : 0;
    const auto equal = [&](int64_t a, int64_t b) {
      for (int64_t i = 0; i < size; ++i) {
        const size_t p = element(a, i), q = element(b, i);
        if (dtype == DType::kString ? x.strings[p] != x.strings[q]
                                    : x.values[p] != x.values[q]) {
          return false;
        }
      }
      return true;
    };
    std::vector<int64_t> first;
    Ref idx = zeros_of({n});
    std::vector<double> count;
    for (int64_t i = 0; i < n; ++i) {
      size_t k = 0;
      while (k < first.size() && !equal(first[k], i)) ++k;
      if (k == first.size()) {
        first.push_back(i);
        count.push_back(0);
      }
      ++count[k];
      idx.values[static_cast<size_t>(i)] = static_cast<double>(k);
    }
    Shape shape = x.shape;
    shape.set(axis, static_cast<int64_t>(first.size()));
    Ref y = zeros_of(shape);
    y.strings.resize(dtype == DType::kString ? y.values.size() : 0);
    for (int64_t i = 0; i < y.n(); ++i) {
      Coordinates at = coordinates(shape, i);
      auto& slice = at[static_cast<size_t>(axis)];
      slice = first[static_cast<size_t>(slice)];
      const size_t from = flat(x.shape, at);
      if (dtype == DType::kString) {
        y.strings[static_cast<size_t>(i)] = x.strings[from];
      } else {
        y.values[static_cast<size_t>(i)] = x.values[from];
      }
    }
    std::vector<Ref> out = {y, idx};
    if (counts) {
      Ref c = zeros_of({static_cast<int64_t>(first.size())});
      for (size_t i = 0; i < count.size(); ++i) c.values[i] = count[i];
      out.push_back(c);
    }
    return out;
  };
}

void add_unique_cases(CaseList& cases) {
  const std::vector<DType> dtypes = {
      DType::kFloat32, DType::kFloat64,  DType::kFloat16, i32, DType::kUInt8, i64,
      DType::kBool,    DType::kComplex64};
  const In vector{.shape = {97}, .low = -4, .high = 4, .fixed = {}};
  const In repeated{.shape = {11}, .fixed = {1.5, -0.0, 3, 1.5, 0.0, 7}};
  for (bool counts : {false, true}) {
    const std::string op = counts ? "UniqueWithCounts" : "Unique";
    cases.push_back({.op = op,
                     .inputs = {vector},
                     .dtypes = dtypes,
                     .reference = unique_reference(0, counts)});
    cases.push_back({.op = op,
                     .name = "repeated",
                     .inputs = {repeated},
                     .dtypes = dtypes,
                     .reference = unique_reference(0, counts)});
    cases.push_back({.op = op,
                     .name = "many",
                     .inputs = {{.shape = {2300},
                                 .fixed = {3, 1, 9, 1, 7, 7, 2, 5, 12, 4, 11, 3, 6}}},
                     .attrs = owned(UniqueAttrs{i64}),
                     .dtypes = {i32, DType::kFloat16, DType::kUInt8, DType::kComplex128},
                     .reference = unique_reference(0, counts)});
    cases.push_back({.op = op,
                     .name = "empty",
                     .inputs = {{.shape = {0}}},
                     .attrs = owned(UniqueAttrs{i64}),
                     .reference = unique_reference(0, counts)});
    cases.push_back({.op = op,
                     .name = "strings",
                     .inputs = {{.shape = {5}, .strings = {"b", "a", "b", "", "a"}}},
                     .dtypes = {DType::kString},
                     .reference = unique_reference(0, counts)});
    const std::string v2 = op + "V2";
    const In table{.shape = {3, 5},
                   .fixed = {1, 2, 1, 3, 2, 4, 5, 4, 6, 5, 7, 8, 7, 9, 8}};
    cases.push_back({.op = v2,
                     .inputs = {table, ints_in({1}, i64)},
                     .dtypes = dtypes,
                     .reference = unique_reference(1, counts)});
    cases.push_back({.op = v2,
                     .name = "rows",
                     .inputs = {{.shape = {6, 1, 2}, .low = 0, .high = 2, .fixed = {}},
                                ints_in({-3})},
                     .dtypes = {i32, DType::kBool},
                     .reference = unique_reference(0, counts)});
    cases.push_back(
        {.op = v2,
         .name = "columns",
         .inputs = {{.shape = {2, 300, 2}, .low = 0, .high = 2}, ints_in({1})},
         .dtypes = {i32, DType::kInt8},
         .reference = unique_reference(1, counts)});
    cases.push_back({.op = v2,
                     .name = "flat",
                     .inputs = {repeated, {.shape = {0}, .dtype = i64}},
                     .dtypes = {i32},
                     .reference = unique_reference(0, counts)});
  }
}

// Rows of data by the list that partitions names.
OpCase partition_case(std::string name, int64_t rows, int64_t width, int64_t lists) {
  return {
      .op = "DynamicPartition",
      .name = std::move(name),
      .inputs = {{.shape = {rows, width}}, index_in({rows}, static_cast<double>(lists))},
      .attrs = owned(DynamicPartitionAttrs{lists}),
      .dtypes = {DType::kFloat32, DType::kUInt8, DType::kComplex128},
      .reference = [lists, width](const std::vector<Ref>& in, DType) -> std::vector<Ref> {
        std::vector<Ref> out(static_cast<size_t>(lists));
        const auto row = static_cast<size_t>(width);
        for (size_t i = 0; i < in[1].values.size(); ++i) {
          auto& values = out[static_cast<size_t>(int_at(in[1], i))].values;
          for (size_t k = 0; k < row; ++k) {
            values.push_back(in[0].values[i * row + k]);
          }
        }
        for (Ref& r : out) {
          r.shape = {static_cast<int64_t>(r.values.size()) / width, width};
        }
        return out;
      },
      .check_gradient = false};
}
// The last of equal indices wins; rows without one are zero.
OpCase stitch_case() {
  return {.op = "DynamicStitch",
          .name = "many",
          .inputs = {index_in({700}, 900),
                     index_in({20, 30}, 1500),
                     {.shape = {700, 4}},
                     {.shape = {20, 30, 4}}},
          .dtypes = {DType::kFloat32, DType::kInt8, DType::kComplex64},
          .reference = [](const std::vector<Ref>& in, DType) -> std::vector<Ref> {
            int64_t rows = 0;
            for (size_t list : {0, 1}) {
              for (size_t i = 0; i < in[list].values.size(); ++i) {
                rows = std::max(rows, int_at(in[list], i) + 1);
              }
            }
            Ref out = zeros_of({rows, 4});
            for (size_t list : {0, 1}) {
              for (size_t i = 0; i < 4 * in[list].values.size(); ++i) {
                const auto to = static_cast<size_t>(int_at(in[list], i / 4));
                out.values[to * 4 + i % 4] = in[2 + list].values[i];
              }
            }
            return {out};
          },
          .check_gradient = false};
}

void add_partition_cases(CaseList& cases) {
  cases.push_back(partition_case("many rows", 5000, 4, 7));
  cases.push_back(partition_case("many lists", 2500, 1, 300));
  cases.push_back(stitch_case());
  cases.push_back(
      {.op = "DynamicPartition",
       .inputs = {{.shape = {6, 2}}, ints_in({2, 0, 2, 0, 3, 2})},
       .attrs = owned(DynamicPartitionAttrs{4}),
       .dtypes = kMany,
       .reference = [](const std::vector<Ref>& in, DType) -> std::vector<Ref> {
         std::vector<Ref> out(4);
         for (size_t i = 0; i < 6; ++i) {
           auto& values = out[static_cast<size_t>(int_at(in[1], i))].values;
           values.push_back(in[0].values[2 * i]);
           values.push_back(in[0].values[2 * i + 1]);
         }
         for (Ref& r : out) r.shape = {static_cast<int64_t>(r.values.size()) / 2, 2};
         return out;
       }});
  // Indices that name every row once, so that the gradient is exact.
  cases.push_back(
      {.op = "DynamicStitch",
       .inputs = {scalar_in(3),
                  {.shape = {2, 2}, .fixed = {0, 5, 1, 2}, .dtype = i32},
                  {.shape = {3}},
                  {.shape = {2, 2, 3}}},
       .dtypes = kMany,
       .reference = [](const std::vector<Ref>& in, DType) -> std::vector<Ref> {
         Ref out = zeros_of({6, 3});
         for (size_t list = 0; list < 2; ++list) {
           for (size_t i = 0; i < in[list].values.size(); ++i) {
             for (size_t k = 0; k < 3; ++k) {
               out.values[static_cast<size_t>(int_at(in[list], i)) * 3 + k] =
                   in[2 + list].values[i * 3 + k];
             }
           }
         }
         return {out};
       }});
}

}  // namespace

void add_indexing_cases(CaseList& cases) {
  cases.push_back(gather_case("rows", {7, 5}, {9}, {}));
  cases.push_back(gather_case("scalar", {7, 5}, {}, {}, i64));
  cases.push_back(gather_case("vector", {300}, {2, 150}, {}));
  cases.push_back(gather_case("axis", {3, 7, 2, 2}, {2, 3}, {.axis = 1}));
  cases.push_back(gather_case("last", {3, 7}, {4}, {.axis = -1}, i64));
  cases.push_back(
      gather_case("batch", {2, 3, 7, 2}, {2, 5}, {.axis = 2, .batch_dims = 1}));
  cases.push_back(
      gather_case("batch_last", {2, 3, 7}, {2, 3, 2}, {.axis = 2, .batch_dims = 2}));
  cases.push_back(gather_case("no_indices", {7, 5}, {0}, {}));
  cases.push_back(gather_case("empty_rows", {7, 0}, {2}, {}));
  cases.push_back(gather_grad_case("middle", {3, 4, 2}, {6}, {3, 6, 2}, {.axis = 1}));
  cases.push_back(gather_grad_case("first", {9, 2}, {2, 6}, {2, 6, 2}, {.axis = 0}));
  cases.push_back(
      gather_grad_case("nothing before", {1, 0, 11, 3}, {8}, {1, 0, 8, 3}, {.axis = 2}));
  cases.push_back(gather_grad_case("batch", {2, 3, 4}, {2, 5}, {2, 3, 5},
                                   {.axis = 2, .batch_dims = 1}));

  cases.push_back(gather_nd_case("elements", {5, 4}, {6, 2}, 0, 4));
  cases.push_back(gather_nd_case("slices", {5, 4, 3}, {2, 3, 1}, 0, 5, i64));
  cases.push_back(gather_nd_case("vector", {5}, {3, 1}, 0, 5));
  cases.push_back(gather_nd_case("batch", {3, 4, 2, 2}, {3, 5, 2}, 1, 2));
  cases.push_back(gather_nd_case("depth_0", {4}, {3, 0}, 0, 1));

  for (int axis : {0, 1, 2}) {
    Shape indices{4, 5, 3};
    indices.set(axis, 7);
    const Shape x{4, 5, 3};
    cases.push_back({.op = "TakeAlongAxis",
                     .name = "axis_" + std::to_string(axis),
                     .inputs = {{.shape = x},
                                {.shape = indices,
                                 .low = -static_cast<double>(x[axis]),
                                 .high = static_cast<double>(x[axis]),
                                 .dtype = i32}},
                     .attrs = owned(AxisAttrs{axis}),
                     .dtypes = kMany,
                     .reference = take_reference(axis)});
    cases.push_back(take_grad_case("axis_" + std::to_string(axis), x, indices, axis));
  }

  cases.push_back(one_hot_case("last", {4, 3}, 5, -1, i32));
  cases.push_back(one_hot_case("first", {4, 3}, 5, 0, i64));
  cases.push_back(one_hot_case("middle", {4, 3}, 2, 1, i32));
  cases.push_back(one_hot_case("scalar", {}, 4, -1, i64));
  cases.push_back(one_hot_case("small", {6}, 3, 0, DType::kUInt8));
  cases.push_back(one_hot_case("depth_0", {6}, 0, -1, DType::kInt8));

  cases.push_back(where_case("vector", {.shape = {40}, .low = 0, .high = 2}));
  cases.push_back(
      where_case("cube", {.shape = {3, 4, 5}, .fixed = {0, 1, -0.0, 2, 0, 0, 1}}));
  cases.push_back(where_case(
      "tiles",
      {.shape = {70, 61}, .fixed = {0, 1, -0.0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1, 1, 0}}));
  cases.push_back(where_case("none", {.shape = {3, 4}, .fixed = {0}}));
  cases.push_back(where_case("empty", {.shape = {0, 4}}));

  add_unique_cases(cases);
  add_partition_cases(cases);
  add_scatter_cases(cases);
}

}  // namespace tandem::testing
