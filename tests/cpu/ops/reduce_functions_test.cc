// What the cases of the reduce family do not show: errors, functions over several ops,
// second derivatives, and that results are the same bits for any number of threads.
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "base/parallel.h"
#include "kernels/cpu/reduce_driver.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using C = std::complex<double>;

// The contents of a tensor of any real dtype.
void expect_numbers(const Tensor& t, const std::vector<double>& expected) {
  const std::vector<double> got = cast(t, float64).to_vector<double>();
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6) << i;
}

template <class F>
void expect_invalid(F&& call, const char* phrase) {
  try {
    call();
    ADD_FAILURE() << "no error with " << phrase;
  } catch (const InvalidArgumentError& e) {
    EXPECT_NE(std::string(e.what()).find(phrase), std::string::npos) << e.what();
  }
}

TEST(Reduce, BadAxesHaveTensorFlowsWords) {
  const Tensor x = zeros(Shape{2, 3});
  expect_invalid([&] { reduce_sum(x, {.axis = {2}}); },
                 "Invalid reduction dimension (2 for input with 2 dimension(s)");
  expect_invalid([&] { reduce_max(x, {.axis = {-3}}); },
                 "Invalid reduction dimension (-3");
  expect_invalid([&] { reduce_mean(x, {.axis = {1, -1}}); },
                 "Axes contains duplicate dimension: 1");
  expect_invalid([&] { reduce_sum(constant(1.0f), {.axis = {0}}); },
                 "Invalid reduction dimension (0 for input with 0 dimension(s)");
  expect_invalid([&] { reduce_any(x); }, "bool");
  expect_invalid([&] { reduce_max(cast(x, complex64)); },
                 "not in the list of allowed values");
  expect_invalid([&] { cumsum(x, {.axis = 2}); },
                 "ScanOp: Expected scan axis in the range [-2, 2), but got 2");
  expect_invalid([&] { argmax(x, {.axis = 2}); },
                 "Expected dimension in the range [-2, 2), but got 2");
  expect_invalid([&] { argmax(zeros(Shape{2, 0}), {.axis = 1}); },
                 "Reduction axis 1 is empty in shape [2,0]");
  expect_invalid([&] { argmin(x, {.output_type = DType::kInt16}); }, "output_type");
  expect_invalid([&] { reduce_variance(constant({1, 2})); },
                 "Input must be either real or complex");
  expect_invalid([&] { sum_like(x, zeros(Shape{2})); }, "cannot be summed");
}

TEST(Reduce, BadSegmentsHaveTensorFlowsWords) {
  const Tensor x = ones(Shape{3, 2});
  expect_invalid([&] { segment_sum(x, constant({0, 2, 1})); },
                 "segment ids are not increasing");
  expect_invalid(
      [&] { segment_max(x, constant({-1, 0, 1})); },
      "Segment id -1 out of range [0, 2), possibly because 'segment_ids' input is not "
      "sorted.");
  expect_invalid([&] { segment_mean(x, constant({0, 1})); },
                 "segment_ids should be the same size as dimension 0 of input.");
  expect_invalid([&] { segment_prod(x, constant({{0, 1, 2}})); },
                 "segment_ids should be a vector.");
  expect_invalid([&] { segment_min(constant(1.0f), constant({0})); },
                 "input must be at least rank 1");
  expect_invalid([&] { unsorted_segment_sum(x, constant({3, -1, 4}), constant(4)); },
                 "segment_ids[2] = 4 is out of range [0, 4)");
  expect_invalid(
      [&] { unsorted_segment_max(x, constant({{0, 0}, {7, 0}, {0, 0}}), constant(4)); },
      "segment_ids[1,0] = 7 is out of range [0, 4)");
  expect_invalid([&] { unsorted_segment_sum(x, constant({0, 1}), constant(4)); },
                 "data.shape = [3,2] does not start with segment_ids.shape = [2]");
  expect_invalid([&] { unsorted_segment_sum(x, constant({0, 1, 1}), constant(-1)); },
                 "Input num_segments == -1 must not be negative.");
  expect_invalid([&] { sparse_segment_sum(x, constant({0, 3}), constant({0, 1})); },
                 "indices[1] == 3 out of range [0, 3)");
  expect_invalid(
      [&] { sparse_segment_sum(x, constant({0, 1}), constant({0, 2}), constant(2)); },
      "segment ids must be < num_segments");
  expect_invalid([&] { sparse_segment_mean(x, constant({0}), constant({0, 2})); },
                 "segment_ids and indices should have same size.");
}

TEST(Reduce, BadCountsHaveTensorFlowsWords) {
  expect_invalid([] { bincount(constant({1, -1, 2})); },
                 "Input arr must be non-negative!");
  expect_invalid(
      [] {
        bincount(constant({1, 2}),
                 {.weights = constant({1.f, 2.f}), .binary_output = true});
      },
      "mutually exclusive");
  expect_invalid(
      [] { bincount(constant({1, 2}), {.weights = constant({1.f, 2.f, 3.f})}); },
      "`weights` must be the same shape as `arr`");
  const Tensor x = constant({1.0f});
  expect_invalid([&] { histogram_fixed_width(x, constant({5.f, 0.f})); },
                 "value_range should satisfy value_range[0] < value_range[1]");
  expect_invalid([&] { histogram_fixed_width(x, constant({0.f, 5.f}), 0); },
                 "nbins should be a positive number, but got '0'");
  expect_invalid(
      [&] { histogram_fixed_width(constant({std::nanf("")}), constant({0.f, 5.f})); },
      "Histogram values must not contain NaN");
}

TEST(Reduce, AfterAnErrorTheNextCallWorks) {
  EXPECT_THROW(segment_sum(constant({1.f, 2.f}), constant({1, 0})), InvalidArgumentError);
  expect_numbers(segment_sum(constant({1.f, 2.f}), constant({0, 0})), {3.f});
}

TEST(Reduce, Bincount) {
  const Tensor x = constant({1, 1, 2, 5});
  expect_numbers(bincount(x), {0, 2, 1, 0, 0, 1});
  expect_numbers(bincount(x, {.minlength = 8}), {0, 2, 1, 0, 0, 1, 0, 0});
  expect_numbers(bincount(x, {.minlength = 10, .maxlength = 3}), {0, 2, 1});
  expect_numbers(bincount(x, {.weights = constant({1.f, 2.f, 3.f, 4.f})}),
                 {0, 3, 3, 0, 0, 4});
  expect_numbers(bincount(x, {.binary_output = true}), {0, 1, 1, 0, 0, 1});
  EXPECT_EQ(bincount(zeros(Shape{0}, int32)).shape(), Shape{0});
  const Tensor rows = bincount(constant({{1, 1, 2}, {3, 0, 0}}), {.per_row = true});
  EXPECT_EQ(rows.shape(), (Shape{2, 4}));
  expect_numbers(rows, {0, 2, 1, 0, 2, 0, 0, 1});
  expect_numbers(bincount(constant({{1, 1}, {3, 0}})), {1, 2, 0, 1});
}

TEST(Reduce, Functions) {
  EXPECT_EQ(count_nonzero(constant({0.f, 1.f, 2.f})).item<int64_t>(), 2);
  EXPECT_EQ(count_nonzero(constant({true, false}), {}, int32).item<int32_t>(), 1);
  EXPECT_EQ(count_nonzero(constant({"", "a"})).item<int64_t>(), 1);
  EXPECT_FLOAT_EQ(zero_fraction(constant({0, 1, 2})).item<float>(), 1.0f / 3);
  EXPECT_TRUE(std::isnan(zero_fraction(zeros(Shape{0})).item<float>()));
  const Tensor z = constant(std::vector<C>{C(1, 1), C(0, 2)});
  EXPECT_DOUBLE_EQ(reduce_variance(z).item<double>(), 0.5);
  EXPECT_DOUBLE_EQ(reduce_std(z).item<double>(), std::sqrt(0.5));
  EXPECT_FLOAT_EQ(reduce_std(constant({1.f, 3.f})).item<float>(), 1.f);
  const Tensor rows = constant({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}});
  expect_numbers(unsorted_segment_mean(rows, constant({2, 2, 0}), constant(3)),
                 {5, 6, 0, 0, 2, 3});
  expect_numbers(unsorted_segment_sqrt_n(rows, constant({1, 1, -1}), constant(2)),
                 {0, 0, 4 / std::sqrt(2.f), 6 / std::sqrt(2.f)});
  expect_numbers(sparse_segment_sqrt_n(rows, constant({0, 1}), constant({0, 0})),
                 {4 / std::sqrt(2.f), 6 / std::sqrt(2.f)});
}

TEST(Reduce, SumsOfHalfPrecisionAddUpInSingle) {
  const Tensor many = ones(Shape{5000, 2}, half);
  EXPECT_EQ(static_cast<float>(reduce_sum(many).item<float16>()), 10000.f);
  EXPECT_EQ(static_cast<float>(reduce_sum(many, {.axis = {0}}).to_vector<float16>()[1]),
            5000.f);
  EXPECT_EQ(static_cast<float>(reduce_mean(ones(Shape{100000}, half)).item<float16>()),
            1.f);
}

TEST(Reduce, GradientOfMeanOfManyHalves) {
  const Tensor x = ones(Shape{100000}, half);
  GradientTape tape;
  tape.watch(x);
  auto [g] = tape.gradient(reduce_mean(x), {x});
  EXPECT_NEAR(static_cast<float>(g.dense().to_vector<float16>()[7]), 1e-5f, 1e-7f);
}

TEST(Reduce, TiesShareTheGradient) {
  const Tensor x = constant({1.f, 2.f, 2.f});
  GradientTape tape;
  tape.watch(x);
  auto [g] = tape.gradient(reduce_max(x), {x});
  expect_numbers(g.dense(), {0, 0.5f, 0.5f});
}

TEST(Reduce, GradientOfExclusiveLogsumexp) {
  const Tensor x = constant({0.f, -1.f, 2.f});
  GradientTape tape;
  tape.watch(x);
  auto [g] = tape.gradient(cumulative_logsumexp(x, {.exclusive = true}), {x});
  expect_numbers(g.dense(), {1.7310585975646973, 0.26894140243530273, 0});
}

TEST(Reduce, GradientThroughNoSegments) {
  const Tensor x = ones(Shape{2, 3});
  GradientTape tape;
  tape.watch(x);
  auto [g] = tape.gradient(unsorted_segment_sum(x, constant({-1, -1}), constant(0)), {x});
  expect_numbers(g.dense(), {0, 0, 0, 0, 0, 0});
}

// sum(weights * d f / d x), by the tape.
double weighted_gradient(const std::function<Tensor(const Tensor&)>& f, const Tensor& x,
                         const Tensor& weights) {
  GradientTape tape;
  tape.watch(x);
  auto [g] = tape.gradient(f(x), {x});
  return reduce_sum(g.dense() * weights).item<double>();
}

void expect_second_derivative(const std::function<Tensor(const Tensor&)>& f,
                              const std::vector<double>& values) {
  const Tensor x = constant(values);
  std::mt19937 random(7);
  std::vector<double> w(values.size());
  for (double& v : w) v = std::uniform_real_distribution<>(-1, 1)(random);
  const Tensor weights = constant(w);
  GradientTape outer;
  outer.watch(x);
  Tensor first;
  {
    GradientTape inner;
    inner.watch(x);
    auto [g] = inner.gradient(f(x), {x});
    first = reduce_sum(g.dense() * weights);
  }
  auto [second] = outer.gradient(first, {x});
  const std::vector<double> got = second.dense().to_vector<double>();
  for (size_t i = 0; i < values.size(); ++i) {
    const double h = 1e-5;
    std::vector<double> up = values, down = values;
    up[i] += h;
    down[i] -= h;
    const double expected = (weighted_gradient(f, constant(up), weights) -
                             weighted_gradient(f, constant(down), weights)) /
                            (2 * h);
    EXPECT_NEAR(got[i], expected, 1e-5 * std::max(1.0, std::abs(expected)))
        << "element " << i;
  }
}

TEST(Reduce, SecondDerivatives) {
  const std::vector<double> plain = {0.5, -1.2, 2.0, 0.7, -0.3};
  const std::vector<double> with_zeros = {0.5, 0, 2.0, 0, -0.3};
  const auto cube_sum = [](const Tensor& y) { return reduce_sum(y * y * y); };
  for (const auto& values : {plain, with_zeros}) {
    expect_second_derivative([](const Tensor& x) { return reduce_prod(x); }, values);
    for (bool exclusive : {false, true}) {
      for (bool reverse : {false, true}) {
        expect_second_derivative(
            [&](const Tensor& x) {
              return cube_sum(cumprod(x, {0, exclusive, reverse}));
            },
            values);
      }
    }
  }
  expect_second_derivative([&](const Tensor& x) { return cube_sum(cumsum(x)); }, plain);
  expect_second_derivative([](const Tensor& x) { return reduce_logsumexp(x); }, plain);
  expect_second_derivative([](const Tensor& x) { return reduce_euclidean_norm(x); },
                           plain);
  expect_second_derivative([](const Tensor& x) { return reduce_std(x); }, plain);
  expect_second_derivative([&](const Tensor& x) { return reduce_max(x * x * x); }, plain);
  expect_second_derivative(
      [&](const Tensor& x) { return cube_sum(cumulative_logsumexp(x)); }, plain);
  const Tensor ids = constant({0, 0, 1, 1, 1});
  expect_second_derivative(
      [&](const Tensor& x) { return cube_sum(segment_mean(x, ids)); }, plain);
  expect_second_derivative(
      [&](const Tensor& x) { return cube_sum(segment_prod(x, ids)); }, plain);
  expect_second_derivative(
      [&](const Tensor& x) {
        return cube_sum(unsorted_segment_max(x, ids, constant(2)));
      },
      plain);
}

TEST(Reduce, SameBitsForAnyNumberOfThreads) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> x(300 * 1031);
  for (float& v : x) v = normal(random);
  const std::pair<Shape, std::array<bool, 2>> forms[] = {
      {Shape{300, 1031}, {true, true}},
      {Shape{300, 1031}, {true, false}},
      {Shape{300, 1031}, {false, true}},
      {Shape{30930, 10}, {true, false}}};
  for (cpu::Reducer reducer : {cpu::Reducer::kSum, cpu::Reducer::kLogSumExp}) {
    for (const auto& [shape, reduced] : forms) {
      const cpu::ReducePlan plan =
          cpu::plan_reduction(cpu::reduce_loops(reducer, float32), shape, reduced);
      std::vector<std::vector<float>> results;
      for (int threads : {1, 2, 3, 5}) {
        Team team(threads);
        CurrentTeam scope(&team);
        std::vector<std::byte> workspace(plan.workspace_bytes);
        std::vector<float> out(static_cast<size_t>(plan.outputs));
        cpu::run_reduction(plan, x.data(), out.data(), nullptr, workspace.data());
        results.push_back(out);
        EXPECT_EQ(std::memcmp(out.data(), results[0].data(), out.size() * sizeof(float)),
                  0);
      }
    }
  }
}

}  // namespace
}  // namespace tandem
