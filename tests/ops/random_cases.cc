// Random ops: moments and ranges; the numbers themselves are compared with TensorFlow's
// in tests/cpu/ops/random_reference_test.cc.
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "op/emitter.h"
#include "ops/case.h"
#include "ops/values.h"

namespace tandem::testing {

namespace {

const In kKey = {.shape = {1}, .low = 0, .high = 1e9, .dtype = DType::kUInt64};
const In kCounter = {.shape = {2}, .low = 0, .high = 1e9, .dtype = DType::kUInt64};

In shape_input(std::vector<double> dims) {
  return {.shape = {static_cast<int64_t>(dims.size())},
          .fixed = std::move(dims),
          .dtype = DType::kInt32};
}

// The op's attributes with the dtype that is tried.
std::function<Attrs(DType)> with_dtype(const char* op) {
  return [op](DType t) {
    const AttrsType& type = *OpTable::get().at(op).attrs;
    void* made = type.from_json("{\"dtype\": \"" + std::string(dtype_name(t)) + "\"}");
    const Attrs attrs(AttrsRef{made, &type});
    type.destroy(made);
    return attrs;
  };
}

void expect_moments(const Tensor& t, double mean, double deviation, double low,
                    double high) {
  const Ref r = to_ref(t);
  const auto n = static_cast<double>(r.n());
  double sum = 0, squares = 0;
  for (size_t i = 0; i < r.values.size(); ++i) {
    sum += r.re(i);
    squares += r.re(i) * r.re(i);
    EXPECT_GE(r.re(i), low);
    EXPECT_LE(r.re(i), high);
  }
  const double m = sum / n, d = std::sqrt(squares / n - m * m);
  // Six standard errors: fails by chance once in a billion runs.
  EXPECT_NEAR(m, mean, 6 * deviation / std::sqrt(n) + 2e-2);
  EXPECT_NEAR(d, deviation, 6 * deviation / std::sqrt(n) + 2e-2);
}

const std::vector<DType> kAllFloats = {DType::kFloat32, DType::kFloat64, DType::kFloat16,
                                       DType::kBFloat16};

OpCase sampler(const char* op, double mean, double deviation, double low, double high) {
  return {.op = op,
          .inputs = {shape_input({33, 101}), kKey, kCounter},
          .dtypes = kAllFloats,
          .attrs_for = with_dtype(op),
          .check = [=](const std::vector<Tensor>& out) {
            EXPECT_EQ(out[0].shape(), (Shape{33, 101}));
            expect_moments(out[0], mean, deviation, low, high);
          }};
}

// Samplers with parameters for every element, in both of their regimes.
OpCase with_parameters(const char* op, const char* name, std::vector<double> parameters,
                       double mean, double deviation, double low, double high) {
  const Shape shape{40, 100};
  std::vector<In> inputs = {shape_input({40, 100}), kKey, kCounter};
  for (const double p : parameters) {
    inputs.push_back({.shape = shape, .fixed = std::vector<double>(4000, p)});
  }
  return {.op = op,
          .name = name,
          .inputs = inputs,
          .dtypes = {DType::kFloat32, DType::kFloat64},
          .check = [=](const std::vector<Tensor>& out) {
            EXPECT_EQ(out[0].shape(), shape);
            expect_moments(out[0], mean, deviation, low, high);
          }};
}
void add_parameter_cases(CaseList& cases) {
  const auto poisson = [&](const char* name, double mean) {
    cases.push_back(with_parameters("StatelessRandomPoissonV2", name, {mean}, mean,
                                    std::sqrt(mean), 0, 1e4));
  };
  poisson("small", 2.5);
  poisson("large", 60);
  const auto binomial = [&](const char* name, double n, double p) {
    cases.push_back(with_parameters("StatelessRandomBinomialV2", name, {n, p}, n * p,
                                    std::sqrt(n * p * (1 - p)), 0, n));
  };
  binomial("few", 8, 0.25);
  binomial("likely", 8, 0.875);
  binomial("many", 200, 0.3);
  const char* normal = "StatelessParameterizedTruncatedNormalV2";
  // Means and deviations of normal numbers cut off at both sides.
  cases.push_back(with_parameters(normal, "wide", {1, 2, -3, 5}, 1, 2 * 0.8796, -3, 5));
  cases.push_back(
      with_parameters(normal, "narrow", {0, 1, -0.5, 0.5}, 0, 0.28415, -0.5, 0.5));
  cases.push_back(
      with_parameters(normal, "tail", {0, 1, 3, 100}, 3.28310, 0.26568, 3, 100));
}

}  // namespace

void add_random_cases(CaseList& cases) {
  add_parameter_cases(cases);
  cases.push_back(sampler("StatelessRandomUniformV2", 0.5, std::sqrt(1 / 12.0), 0, 1));
  cases.push_back(sampler("StatelessRandomNormalV2", 0, 1, -8, 8));
  cases.push_back(sampler("StatelessTruncatedNormalV2", 0, 0.8796, -2, 2));
  // What TensorFlow's op gives for the seeds 1 and 2, whatever their dtype.
  cases.push_back({.op = "StatelessRandomGetKeyCounter",
                   .inputs = {{.shape = {2}, .fixed = {1, 2}}},
                   .dtypes = {DType::kInt32, DType::kInt64},
                   .check = [](const std::vector<Tensor>& out) {
                     EXPECT_EQ(out[0].to_vector<uint64_t>(),
                               std::vector<uint64_t>{10413732777507651514u});
                     EXPECT_EQ(out[1].to_vector<uint64_t>(),
                               (std::vector<uint64_t>{0, 17830669156045600267u}));
                   }});
  cases.push_back({.op = "StatelessRandomUniformV2",
                   .name = "empty",
                   .inputs = {shape_input({0, 3}), kKey, kCounter},
                   .check = [](const std::vector<Tensor>& out) {
                     EXPECT_EQ(out[0].shape(), (Shape{0, 3}));
                   }});
  cases.push_back(
      {.op = "RandomUniformLike",
       .inputs = {{.shape = {50, 60}, .dtype = DType::kInt32}, kKey, kCounter},
       .dtypes = kAllFloats,
       .attrs_for = with_dtype("RandomUniformLike"),
       .check = [](const std::vector<Tensor>& out) {
         expect_moments(out[0], 0.5, std::sqrt(1 / 12.0), 0, 1);
       }});
  cases.push_back(
      {.op = "StatelessRandomUniformFullIntV2",
       .inputs = {shape_input({64}), kKey, kCounter},
       .dtypes = {DType::kInt32, DType::kUInt32, DType::kInt64, DType::kUInt64},
       .attrs_for = with_dtype("StatelessRandomUniformFullIntV2"),
       .check = [](const std::vector<Tensor>& out) {
         const Ref r = to_ref(out[0]);
         std::set<double> distinct;
         for (size_t i = 0; i < r.values.size(); ++i) distinct.insert(r.re(i));
         EXPECT_GT(distinct.size(), 60u);
       }});
  cases.push_back(
      {.op = "StatelessRandomUniformIntV2",
       .inputs = {shape_input({2000}),
                  kKey,
                  kCounter,
                  {.shape = {}, .fixed = {3}},
                  {.shape = {}, .fixed = {9}}},
       .dtypes = {DType::kInt32, DType::kInt64, DType::kUInt32, DType::kUInt64},
       .check = [](const std::vector<Tensor>& out) {
         expect_moments(out[0], 5.5, std::sqrt(35 / 12.0), 3, 8);
       }});
  cases.push_back(
      {.op = "StatelessRandomGammaV3",
       .inputs = {shape_input({3000}), kKey, kCounter, {.shape = {}, .fixed = {2.5}}},
       .dtypes = kAllFloats,
       .check = [](const std::vector<Tensor>& out) {
         expect_moments(out[0], 2.5, std::sqrt(2.5), 0, 40);
       }});
  cases.push_back(
      {.op = "StatelessMultinomialV2",
       .inputs = {{.shape = {4, 3}, .fixed = {0, -1e30, -1e30}}, kKey, kCounter},
       .dtypes = kAllFloats,
       .check = [](const std::vector<Tensor>& out) {
         for (int64_t v : out[0].to_vector<int64_t>()) EXPECT_EQ(v, 0);
       }});
  cases.push_back({.op = "StatelessShuffleV2",
                   .inputs = {{.shape = {40, 2}, .low = 0, .spread = 1}, kKey, kCounter},
                   .dtypes = {DType::kFloat32, DType::kInt32},
                   .check = [](const std::vector<Tensor>& out) {
                     const Ref r = to_ref(out[0]);
                     std::multiset<double> seen;
                     for (size_t i = 0; i < r.values.size(); ++i) seen.insert(r.re(i));
                     double expected = 1;
                     for (double v : seen) EXPECT_EQ(v, expected++);
                   }});
}

}  // namespace tandem::testing
