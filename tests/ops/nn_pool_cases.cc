// Cases of pooling and BiasAdd.
#include "ops/nn_windows.h"

namespace tandem::testing {

namespace {

using nn::DataFormat;
using nn::PoolAttrs;

// ---------------------------------------------------------------------------------

struct Pool {
  PoolAttrs attrs;
  Shape input;

  bool first() const { return channels_first(attrs.data_format); }
  Sliding window() const {
    int64_t sizes[3];
    for (int i = 0; i < input.rank() - 2; ++i) {
      sizes[i] = pick(attrs.ksize, i, input.rank() - 2, first());
    }
    return sliding(input, sizes, attrs.strides.empty() ? attrs.ksize : attrs.strides, {1},
                   attrs.padding, attrs.explicit_paddings, first());
  }
  Shape output() const {
    const Sliding s = window();
    Shape out = input;
    for (int i = 0; i < s.spatial; ++i)
      out.set((first() ? 2 : 1) + i, s.out[3 - s.spatial + i]);
    return out;
  }
  /// visit(element of the output, elements of the input in its window)
  template <class Visit>
  void windows(Visit visit) const {
    const Sliding s = window();
    const int64_t c = input[first() ? 1 : input.rank() - 1];
    const int64_t pi = s.positions(s.in), po = s.positions(s.out);
    std::vector<std::vector<int64_t>> taps(static_cast<size_t>(po));
    for_each_window(s, [&](int64_t o, int64_t, int64_t p) {
      if (p >= 0) taps[static_cast<size_t>(o)].push_back(p);
    });
    for (int64_t b = 0; b < input[0]; ++b) {
      for (int64_t o = 0; o < po; ++o) {
        for (int64_t k = 0; k < c; ++k) {
          std::vector<int64_t> elements;
          for (int64_t p : taps[static_cast<size_t>(o)]) {
            elements.push_back(first() ? (b * c + k) * pi + p : (b * pi + p) * c + k);
          }
          visit(first() ? (b * c + k) * po + o : (b * po + o) * c + k, elements);
        }
      }
    }
  }
};

int64_t max_of(const Ref& x, const std::vector<int64_t>& elements) {
  int64_t best = elements[0];
  for (int64_t e : elements) {
    if (x.re(e) > x.re(best)) best = e;
  }
  return best;
}

void add_pool(CaseList& cases, const std::string& name, const Pool& pool,
              std::vector<DType> max_dtypes = {DType::kFloat32, DType::kFloat64}) {
  const std::string rank = pool.input.rank() == 5 ? "3D" : "";
  const Attrs attrs(attrs_ref(pool.attrs));
  const In x{.shape = pool.input, .spread = 0.02};
  std::vector<DType> avg_dtypes;
  for (DType t : max_dtypes) {
    if (is_floating(t)) avg_dtypes.push_back(t);
  }
  cases.push_back({.op = "MaxPool" + rank,
                   .name = name,
                   .inputs = {x},
                   .attrs = attrs,
                   .dtypes = max_dtypes,
                   .reference = [pool](const std::vector<Ref>& in, DType) {
                     Ref y = zeros_of(pool.output());
                     pool.windows([&](int64_t o, const std::vector<int64_t>& e) {
                       y.re(o) = in[0].re(max_of(in[0], e));
                     });
                     return std::vector<Ref>{y};
                   }});
  cases.push_back({.op = "MaxPool" + rank + "Grad",
                   .name = name,
                   .inputs = {x, {.shape = pool.output()}, {.shape = pool.output()}},
                   .attrs = attrs,
                   .dtypes = max_dtypes,
                   .reference =
                       [pool](const std::vector<Ref>& in, DType) {
                         Ref dx = zeros_of(pool.input);
                         pool.windows([&](int64_t o, const std::vector<int64_t>& e) {
                           dx.re(max_of(in[0], e)) += in[2].re(o);
                         });
                         return std::vector<Ref>{dx};
                       },
                   .grad_inputs = {2}});
  cases.push_back({.op = "MaxPool" + rank + "GradGrad",
                   .name = name,
                   .inputs = {x, {.shape = pool.output()}, {.shape = pool.input}},
                   .attrs = attrs,
                   .dtypes = max_dtypes,
                   .reference =
                       [pool](const std::vector<Ref>& in, DType) {
                         Ref y = zeros_of(pool.output());
                         pool.windows([&](int64_t o, const std::vector<int64_t>& e) {
                           y.re(o) = in[2].re(max_of(in[0], e));
                         });
                         return std::vector<Ref>{y};
                       },
                   .grad_inputs = {2}});
  cases.push_back({.op = "AvgPool" + rank,
                   .name = name,
                   .inputs = {{.shape = pool.input}},
                   .attrs = attrs,
                   .dtypes = avg_dtypes,
                   .reference = [pool](const std::vector<Ref>& in, DType) {
                     Ref y = zeros_of(pool.output());
                     pool.windows([&](int64_t o, const std::vector<int64_t>& e) {
                       for (int64_t i : e) y.re(o) += in[0].re(i) / double(e.size());
                     });
                     return std::vector<Ref>{y};
                   }});
  cases.push_back({.op = "AvgPool" + rank + "Grad",
                   .name = name,
                   .inputs = {sizes_input(pool.input), {.shape = pool.output()}},
                   .attrs = attrs,
                   .dtypes = avg_dtypes,
                   .reference = [pool](const std::vector<Ref>& in, DType) {
                     Ref dx = zeros_of(pool.input);
                     pool.windows([&](int64_t o, const std::vector<int64_t>& e) {
                       for (int64_t i : e) dx.re(i) += in[1].re(o) / double(e.size());
                     });
                     return std::vector<Ref>{dx};
                   }});
}

void add_pools(CaseList& cases) {
  std::vector<DType> all = kWithHalfs;
  for (DType t : {DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64,
                  DType::kUInt8, DType::kUInt16}) {
    all.push_back(t);
  }
  add_pool(cases, "valid", {{}, {2, 6, 5, 3}});
  // Small whole numbers tie; the first of them is chosen.
  add_pool(cases, "same overlapping",
           {{.ksize = {1, 3, 2, 1}, .strides = {1, 2, 1, 1}, .padding = Padding::kSame},
            {2, 5, 6, 3}},
           kWithHalfs);
  add_pool(cases, "channels first",
           {{.ksize = {2},
             .strides = {2},
             .padding = Padding::kSame,
             .data_format = DataFormat::kNCHW},
            {2, 3, 5, 7}});
  add_pool(cases, "explicit",
           {{.ksize = {3, 3},
             .strides = {2, 2},
             .padding = Padding::kExplicit,
             .explicit_paddings = {0, 0, 1, 1, 2, 0, 0, 0}},
            {1, 6, 6, 2}});
  add_pool(cases, "one dimension",
           {{.ksize = {3}, .strides = {2}, .padding = Padding::kSame}, {2, 8, 70}});
  add_pool(cases, "three dimensions",
           {{.ksize = {2, 3, 2}, .strides = {1, 2, 2}, .padding = Padding::kSame},
            {1, 4, 5, 4, 3}});
  // Channels that fill whole vectors of every dtype.
  add_pool(
      cases, "vectors",
      {{.ksize = {3, 2}, .strides = {2, 1}, .padding = Padding::kSame}, {2, 5, 4, 8}},
      kWithHalfs);
  add_pool(cases, "vectors in three dimensions",
           {{.ksize = {2, 3, 2}, .strides = {2, 2, 1}, .padding = Padding::kSame},
            {1, 3, 5, 2, 8}});
  add_pool(cases, "no batch", {{}, {0, 4, 4, 2}});
  add_pool(cases, "no batch of vectors", {{}, {0, 4, 4, 8}});
  cases.push_back(
      {.op = "MaxPool",
       .name = "ties and integers",
       .inputs = {{.shape = {2, 4, 4, 3}, .low = 0, .high = 4}},
       .dtypes = all,
       .reference =
           [pool = Pool{{}, {2, 4, 4, 3}}](const std::vector<Ref>& in, DType) {
             Ref y = zeros_of(pool.output());
             pool.windows([&](int64_t o, const std::vector<int64_t>& e) {
               y.re(o) = in[0].re(max_of(in[0], e));
             });
             return std::vector<Ref>{y};
           },
       .check_gradient = false});
  for (const bool batch : {false, true}) {
    const nn::MaxPoolArgmaxAttrs attrs{
        .ksize = {2},
        .strides = {1},
        .padding = Padding::kSame,
        .argmax_type = batch ? DType::kInt32 : DType::kInt64,
        .include_batch_in_index = batch};
    const Pool pool{{.ksize = {2}, .strides = {1}, .padding = Padding::kSame},
                    {2, 4, 3, 2}};
    const auto index = [=](int64_t element) {
      return static_cast<double>(batch ? element : element % (4 * 3 * 2));
    };
    cases.push_back({.op = "MaxPoolWithArgmax",
                     .name = batch ? "batch" : "",
                     .inputs = {{.shape = pool.input, .spread = 0.02}},
                     .attrs = Attrs(attrs_ref(attrs)),
                     .dtypes = {DType::kFloat32, DType::kFloat64, DType::kBFloat16},
                     .reference = [=](const std::vector<Ref>& in, DType) {
                       Ref y = zeros_of(pool.output()), where = zeros_of(pool.output());
                       pool.windows([&](int64_t o, const std::vector<int64_t>& e) {
                         y.re(o) = in[0].re(max_of(in[0], e));
                         where.re(o) = index(max_of(in[0], e));
                       });
                       return std::vector<Ref>{y, where};
                     }});
    In argmax{.shape = pool.output(), .dtype = attrs.argmax_type};
    for (int64_t i = 0; i < pool.output().num_elements(); ++i) {
      argmax.fixed.push_back(static_cast<double>((i * 7) % (batch ? 48 : 24)));
    }
    cases.push_back({.op = "MaxPoolGradWithArgmax",
                     .name = batch ? "batch" : "",
                     .inputs = {{.shape = pool.input}, {.shape = pool.output()}, argmax},
                     .attrs = Attrs(attrs_ref(attrs)),
                     .reference =
                         [=](const std::vector<Ref>& in, DType) {
                           Ref dx = zeros_of(pool.input);
                           for (int64_t i = 0; i < in[1].n(); ++i) {
                             const auto at = static_cast<int64_t>(in[2].re(i));
                             dx.re(batch ? at : i / 24 * 24 + at) += in[1].re(i);
                           }
                           return std::vector<Ref>{dx};
                         },
                     .check_gradient = false});
  }
}

// A window that reaches far past the input, which no kernel may walk: of ones the largest
// and the mean are one.
void add_far_pools(CaseList& cases) {
  for (const std::string op : {"MaxPool", "AvgPool", "MaxPool3D", "AvgPool3D"}) {
    const Shape shape = op.ends_with("3D") ? Shape{1, 2, 3, 2, 2} : Shape{1, 3, 4, 2};
    const nn::PoolAttrs attrs{
        .ksize = {INT32_MAX}, .strides = {1}, .padding = Padding::kSame};
    cases.push_back({.op = op,
                     .name = "a far window",
                     .inputs = {{.shape = shape, .fixed = {1}}},
                     .attrs = Attrs(attrs_ref(attrs)),
                     .reference = [](const std::vector<Ref>& in,
                                     DType) { return std::vector<Ref>{in[0]}; },
                     .check_gradient = false});
  }
}

void add_bias(CaseList& cases) {
  const std::vector<DType> dtypes = {
      DType::kFloat32, DType::kFloat64, DType::kFloat16,   DType::kBFloat16,
      DType::kInt32,   DType::kInt64,   DType::kComplex64, DType::kComplex128};
  struct Form {
    const char* name;
    Shape shape;
    DataFormat format;
  };
  for (const Form& f : {Form{"last", {3, 4, 5}, DataFormat::kNHWC},
                        Form{"matrix", {3, 7}, DataFormat::kNHWC},
                        Form{"first", {2, 3, 4, 5}, DataFormat::kNCHW},
                        Form{"empty", {0, 4}, DataFormat::kNHWC}}) {
    const bool first = channels_first(f.format);
    const int64_t c = f.shape[first ? 1 : f.shape.rank() - 1];
    int64_t inner = 1;
    for (int i = 2; first && i < f.shape.rank(); ++i) inner *= f.shape[i];
    const Attrs attrs(attrs_ref(nn::BiasAddAttrs{f.format}));
    cases.push_back({.op = "BiasAdd",
                     .name = f.name,
                     .inputs = {{.shape = f.shape}, {.shape = {c}}},
                     .attrs = attrs,
                     .dtypes = dtypes,
                     .reference = [=](const std::vector<Ref>& in, DType) {
                       Ref y = in[0];
                       for (size_t i = 0; i < y.values.size(); ++i) {
                         y.values[i] += in[1].values[i / size_t(inner) % size_t(c)];
                       }
                       return std::vector<Ref>{y};
                     }});
    cases.push_back({.op = "BiasAddGrad",
                     .name = f.name,
                     .inputs = {{.shape = f.shape}},
                     .attrs = attrs,
                     .dtypes = dtypes,
                     .reference = [=](const std::vector<Ref>& in, DType) {
                       Ref y = zeros_of({c});
                       for (size_t i = 0; i < in[0].values.size(); ++i) {
                         y.values[i / size_t(inner) % size_t(c)] += in[0].values[i];
                       }
                       return std::vector<Ref>{y};
                     }});
  }
}

}  // namespace

void add_nn_pool_cases(CaseList& cases) {
  add_pools(cases);
  add_far_pools(cases);
  add_bias(cases);
}

}  // namespace tandem::testing
