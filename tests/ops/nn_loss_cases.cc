// Cases of softmax and the cross-entropies.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ops/fused_losses.h"
#include "ops/nn_cases.h"
#include "tandem/ops/nn_loss.h"

namespace tandem::testing {

namespace {

/// Lengths of rows around those where GPUs keep them in other ways.
constexpr int64_t kLengths[] = {1000, 1024, 4096, 8192, 8193, 50304};

/// A tensor as lines of n elements along one axis.
struct Lines {
  int64_t outer = 1, n = 1, inner = 1;
  int64_t at(int64_t line, int64_t i) const {
    return (line / inner * n + i) * inner + line % inner;
  }
  int64_t count() const { return outer * inner; }
};
Lines lines_of(const Shape& s, int64_t axis) {
  const int a = static_cast<int>(axis < 0 ? axis + s.rank() : axis);
  return {s.slice(0, a).num_elements(), s[a], s.slice(a + 1, s.rank()).num_elements()};
}

double log_sum_exp(const Ref& x, const Lines& l, int64_t line) {
  double max = -INFINITY, sum = 0;
  for (int64_t i = 0; i < l.n; ++i) max = std::max(max, x.re(l.at(line, i)));
  for (int64_t i = 0; i < l.n; ++i) sum += std::exp(x.re(l.at(line, i)) - max);
  return max + std::log(sum);
}

Ref log_softmax(const Ref& x, int64_t axis) {
  Ref y = x;
  const Lines l = lines_of(x.shape, axis);
  for (int64_t k = 0; k < l.count(); ++k) {
    const double sum = log_sum_exp(x, l, k);
    for (int64_t i = 0; i < l.n; ++i) y.re(l.at(k, i)) -= sum;
  }
  return y;
}
Ref softmax_of(const Ref& x, int64_t axis) {
  Ref y = log_softmax(x, axis);
  for (auto& v : y.values) v = std::exp(v.real());
  return y;
}

void add_softmax(CaseList& cases) {
  struct Form {
    std::string name;
    Shape shape;
    int64_t axis;
  };
  std::vector<Form> forms = {{"rows", {5, 37}, -1},        {"middle", {2, 7, 5}, 1},
                             {"first", {6, 150}, 0},       {"vector", {9}, 0},
                             {"empty", {0, 3}, -1},        {"no classes", {3, 0}, -1},
                             {"short rows", {37, 10}, -1}, {"one class", {4, 1}, -1}};
  for (const int64_t n : kLengths) forms.push_back({fmt::format("{}", n), {2, n}, -1});
  for (const Form& f : forms) {
    const int64_t axis = f.axis;
    const bool is_long = f.shape.dim(-1) >= kLengths[0];
    const double most = is_long ? 0.05 : 1;  // sums of many stay in range
    const Attrs attrs(attrs_ref(nn::SoftmaxAttrs{axis}));
    cases.push_back(
        {.op = "Softmax",
         .name = f.name,
         .inputs = {{.shape = f.shape, .low = -8, .high = 8}},
         .attrs = attrs,
         .dtypes = kFloatTypes,
         .reference = [=](const std::vector<Ref>& in,
                          DType) { return std::vector<Ref>{softmax_of(in[0], axis)}; },
         .check_gradient = !is_long});
    cases.push_back(
        {.op = "LogSoftmax",
         .name = f.name,
         .inputs = {{.shape = f.shape, .low = -8, .high = 8}},
         .attrs = attrs,
         .dtypes = kFloatTypes,
         .reference = [=](const std::vector<Ref>& in,
                          DType) { return std::vector<Ref>{log_softmax(in[0], axis)}; },
         .check_gradient = !is_long});
    for (const bool log : {false, true}) {
      cases.push_back({.op = log ? "LogSoftmaxGrad" : "SoftmaxGrad",
                       .name = f.name,
                       .inputs = {{.shape = f.shape, .low = -1, .high = 1},
                                  {.shape = f.shape, .low = -2 * most, .high = 2 * most}},
                       .attrs = attrs,
                       .dtypes = kFloatTypes,
                       .reference =
                           [=](const std::vector<Ref>& in, DType) {
                             Ref out = in[1];
                             const Lines l = lines_of(in[0].shape, axis);
                             for (int64_t k = 0; k < l.count(); ++k) {
                               double sum = 0;
                               for (int64_t i = 0; i < l.n; ++i) {
                                 const int64_t e = l.at(k, i);
                                 sum += in[1].re(e) * (log ? 1 : in[0].re(e));
                               }
                               for (int64_t i = 0; i < l.n; ++i) {
                                 const int64_t e = l.at(k, i);
                                 out.re(e) =
                                     log ? in[1].re(e) - std::exp(in[0].re(e)) * sum
                                         : in[0].re(e) * (in[1].re(e) - sum);
                               }
                             }
                             return std::vector<Ref>{out};
                           },
                       .tolerance = is_long ? 2e-4 : 1e-5,  // sums of many in float32
                       .check_gradient = !is_long});
    }
  }
  cases.push_back(
      {.op = "Softmax",
       .name = "large logits",
       .inputs = {{.shape = {2, 3}, .fixed = {1000, 1001, 999, -1000, -1000, 0}}},
       .reference = [](const std::vector<Ref>& in, DType) {
         return std::vector<Ref>{softmax_of(in[0], -1)};
       }});
}

void add_cross_entropy(CaseList& cases) {
  // Rows of labels add up to 1: the second output is softmax - labels whatever they add
  // up to, but it is the gradient of the loss only then.
  const std::vector<double> labels = {0.1, 0.2, 0.3, 0.4, 1, 0, 0, 0, 0.25, 0.25, 0.5, 0};
  const auto dense = [](const Shape& out) {
    return [out](const std::vector<Ref>& in, DType) {
      Ref x = zeros_of(out), y = zeros_of(out), loss = zeros_of({out[0]});
      for (int64_t i = 0; i < out[0]; ++i) {
        for (int64_t j = 0; j < out[1]; ++j) {
          const auto at = [&](const Ref& r) {
            const int64_t row = r.shape.rank() > 1 && r.shape[0] != 1 ? i : 0;
            const int64_t n = r.shape.dim(-1);
            return r.re(row * n + (n == 1 ? 0 : j));
          };
          x.re(i * out[1] + j) = at(in[0]);
          y.re(i * out[1] + j) = at(in[1]);
        }
      }
      const Ref log_p = log_softmax(x, -1);
      Ref grad = zeros_of(out);
      for (int64_t e = 0; e < out.num_elements(); ++e) {
        loss.re(e / out[1]) -= y.re(e) * log_p.re(e);
        grad.re(e) = std::exp(log_p.re(e)) - y.re(e);
      }
      return std::vector<Ref>{loss, grad};
    };
  };
  cases.push_back({.op = "SoftmaxCrossEntropyWithLogits",
                   .inputs = {{.shape = {3, 4}}, {.shape = {3, 4}, .fixed = labels}},
                   .dtypes = kFloatTypes,
                   .reference = dense({3, 4})});
  cases.push_back(
      {.op = "SoftmaxCrossEntropyWithLogits",
       .name = "one row of labels",
       .inputs = {{.shape = {3, 4}}, {.shape = {1, 4}, .fixed = {0.1, 0.2, 0.3, 0.4}}},
       .reference = dense({3, 4})});
  cases.push_back({.op = "SoftmaxCrossEntropyWithLogits",
                   .name = "one column of logits",
                   .inputs = {{.shape = {3, 1}}, {.shape = {3, 4}, .fixed = labels}},
                   .reference = dense({3, 4})});
  cases.push_back({.op = "SoftmaxCrossEntropyWithLogits",
                   .name = "no rows",
                   .inputs = {{.shape = {0, 4}}, {.shape = {0, 4}}},
                   .reference = dense({0, 4})});
  cases.push_back({.op = "SoftmaxCrossEntropyWithLogits",
                   .name = "many rows",
                   .inputs = {{.shape = {37, 10}}, {.shape = {37, 10}, .low = 0}},
                   .dtypes = kFloatTypes,
                   .reference = dense({37, 10}),
                   .check_gradient = false});  // labels do not add up to 1
  // Infinite logits of classes that have no probability by the labels: 0 * infinity.
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const int64_t n : {3, 1001, 9001}) {  // with places in registers that are empty
    std::vector<double> logits(static_cast<size_t>(3 * n), 0);
    logits[1] = inf;
    logits[static_cast<size_t>(n)] = -inf;
    cases.push_back(
        {.op = "SoftmaxCrossEntropyWithLogits",
         .name = fmt::format("infinite {}", n),
         .inputs = {{.shape = {3, n}, .fixed = logits}, {.shape = {3, n}, .fixed = {0}}},
         .reference =
             [=](const std::vector<Ref>& in, DType) {
               Ref grad = softmax_of(in[0], -1);
               for (int64_t i = 0; i < n; ++i) {
                 grad.re(i) = nan;
                 grad.re(n + i) = i == 0 ? 0 : 1.0 / static_cast<double>(n - 1);
               }
               return std::vector<Ref>{{Shape{3}, {nan, nan, 0}, {}}, grad};
             },
         .check_gradient = false});
  }
  for (const int64_t n : {1000, 9000}) {
    cases.push_back(
        {.op = "SoftmaxCrossEntropyWithLogits",
         .name = fmt::format("{}", n),
         .inputs = {{.shape = {3, n}}, {.shape = {3, n}, .low = 0, .high = 1e-3}},
         .dtypes = kFloatTypes,
         .reference = dense({3, n}),
         .check_gradient = false});
  }
  for (DType t : {DType::kInt32, DType::kInt64}) {
    // Long rows, and more than one block of short ones.
    std::vector<Shape> shapes = {{3, 40}, {37, 10}, {5, 1}, {4, 31}};
    for (const int64_t n : kLengths) shapes.push_back({2, n});
    for (const Shape& shape : shapes) {
      const int64_t rows = shape[0], classes = shape[1];
      In classes_of{.shape = {rows}, .dtype = t};
      for (int64_t i = 0; i < rows; ++i) {
        classes_of.fixed.push_back(static_cast<double>((i * 7 + classes - 1) % classes));
      }
      cases.push_back({.op = "SparseSoftmaxCrossEntropyWithLogits",
                       .name = fmt::format("{} {}", dtype_name(t), classes),
                       .inputs = {{.shape = shape}, classes_of},
                       .dtypes = kFloatTypes,
                       .reference =
                           [=](const std::vector<Ref>& in, DType) {
                             const Ref log_p = log_softmax(in[0], -1);
                             Ref loss = zeros_of({rows}), grad = softmax_of(in[0], -1);
                             for (int64_t i = 0; i < rows; ++i) {
                               const auto label = static_cast<int64_t>(in[1].re(i));
                               loss.re(i) = -log_p.re(i * classes + label);
                               grad.re(i * classes + label) -= 1;
                             }
                             return std::vector<Ref>{loss, grad};
                           },
                       .check_gradient = classes < kLengths[0]});
    }
  }
}

// The loss in float32, whatever the logits are; short rows, long ones, odd ones.
void add_fused_sparse(CaseList& cases) {
  struct Form {
    const char* name;
    bool gradient = true;
    int scales = 0;  // 1: one for all, 2: one for each row
  };
  for (const Form& f : {Form{"plain"}, Form{"loss", false}, Form{"scaled", true, 1},
                        Form{"scaled rows", true, 2}, Form{"scaled loss", false, 2}}) {
    std::vector<Shape> shapes = {{3, 40}, {37, 10}, {5, 1}, {4, 31}, {0, 6}, {2, 130001}};
    for (const int64_t n : kLengths) shapes.push_back({2, n});
    for (const Shape& shape : shapes) {
      const int64_t rows = shape[0], classes = shape[1];
      In labels{.shape = {rows}, .dtype = f.scales == 1 ? DType::kInt64 : DType::kInt32};
      for (int64_t i = 0; i < rows; ++i) {
        labels.fixed.push_back(static_cast<double>((i * 7 + classes - 1) % classes));
      }
      In scale{.shape = f.scales == 2 ? Shape{rows} : Shape{},
               .low = 0.5,
               .high = 4,
               .dtype = DType::kFloat32,
               .absent = f.scales == 0};
      cases.push_back(
          {.op = "FusedSparseCrossEntropy",
           .name = fmt::format("{} {}x{}", f.name, rows, classes),
           .inputs = {{.shape = shape}, labels, scale},
           .attrs = Attrs(attrs_ref(FusedSparseCrossEntropyAttrs{f.gradient})),
           .dtypes = {DType::kFloat32, DType::kFloat16, DType::kBFloat16},
           .reference =
               [=](const std::vector<Ref>& in, DType) {
                 const Ref log_p = log_softmax(in[0], -1);
                 Ref loss = zeros_of({rows}), grad = softmax_of(in[0], -1);
                 for (int64_t i = 0; i < rows; ++i) {
                   const auto label = static_cast<int64_t>(in[1].re(i));
                   loss.re(i) = -log_p.re(i * classes + label);
                   grad.re(i * classes + label) -= 1;
                   if (f.scales == 0) continue;
                   const double by = in[2].re(f.scales == 2 ? i : 0);
                   for (int64_t k = 0; k < classes; ++k) grad.re(i * classes + k) *= by;
                 }
                 return std::vector<Ref>{loss, f.gradient ? grad : zeros_of({0})};
               },
           .check_gradient = false});
    }
  }
}

}  // namespace

void add_nn_loss_cases(CaseList& cases) {
  add_softmax(cases);
  add_cross_entropy(cases);
  add_fused_sparse(cases);
}

}  // namespace tandem::testing
