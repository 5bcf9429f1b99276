// What the cases of the op table do not reach: public functions made of several ops,
// errors, operators with numbers, values known in inference, second derivatives.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "op/op_def.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

template <class T>
using Values = std::vector<T>;
constexpr float kInf = std::numeric_limits<float>::infinity();

template <class F>
std::string class_and_message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return std::string(error_class_name(e.code())) + ": " + e.what();
  }
  return "no error";
}
#define EXPECT_ERROR(expression, words)                                    \
  EXPECT_NE(class_and_message_of([&] { (void)(expression); }).find(words), \
            std::string::npos)                                             \
      << class_and_message_of([&] { (void)(expression); })

TEST(Elementwise, NumbersTakeTheDtypeOfTheTensor) {
  const Tensor x = constant({1.0f, 2.0f, 4.0f});
  EXPECT_EQ((x + 1).to_vector<float>(), (Values<float>{2, 3, 5}));
  EXPECT_EQ((1 - x).to_vector<float>(), (Values<float>{0, -1, -3}));
  EXPECT_EQ((x / 2).to_vector<float>(), (Values<float>{0.5, 1, 2}));
  EXPECT_EQ((8 / x).to_vector<float>(), (Values<float>{8, 4, 2}));
  EXPECT_EQ(pow(x, 2).to_vector<float>(), (Values<float>{1, 4, 16}));
  EXPECT_EQ((x % 3).to_vector<float>(), (Values<float>{1, 2, 1}));
  EXPECT_EQ((x > 1.5).to_vector<bool>(), (Values<bool>{false, true, true}));
  EXPECT_EQ((2 <= x).to_vector<bool>(), (Values<bool>{false, true, true}));
  EXPECT_EQ(equal(x, 2).to_vector<bool>(), (Values<bool>{false, true, false}));
  EXPECT_EQ((~(x > 1)).to_vector<bool>(), (Values<bool>{true, false, false}));
  EXPECT_EQ((~constant({5, -1})).to_vector<int>(), (Values<int>{-6, 0}));
}

TEST(Elementwise, DivideMakesIntegersReal) {
  const Tensor small = divide(constant<int8_t>({1, -7}), constant<int8_t>({4, 0}));
  EXPECT_EQ(small.dtype(), DType::kFloat32);
  EXPECT_EQ(small.to_vector<float>(), (Values<float>{0.25f, -kInf}));
  EXPECT_EQ(divide(constant({1}), constant({4})).dtype(), DType::kFloat64);
  EXPECT_ERROR(divide(constant({1}), constant<int64_t>({4})), "must have the same dtype");
}

TEST(Elementwise, Errors) {
  const Tensor x = constant({1, 2}), zero = constant({1, 0});
  for (auto f : {floordiv, floormod, truncatediv, truncatemod}) {
    EXPECT_ERROR(f(x, zero).wait(), "InvalidArgumentError: ");
    EXPECT_ERROR(f(x, zero).wait(), "Integer division by zero");
  }
  EXPECT_EQ(floordiv(constant(Values<int>{}), constant(0)).num_elements(), 0);
  EXPECT_ERROR(pow(x, constant({1, -1})).wait(),
               "Integers to negative integer powers are not allowed");
  EXPECT_ERROR(constant({1.0f, 2.0f}) + constant({1.0f, 2.0f, 3.0f}),
               "Incompatible shapes: [2] vs. [3]");
  EXPECT_ERROR(constant({1.0f}) + constant({1}),
               "cannot compute AddV2 as input #1(zero-based) was "
               "expected to be a float tensor but is a int32");
  EXPECT_ERROR(add(constant(true), constant(true)),
               "is not in the list of allowed values");
  EXPECT_ERROR(logical_and(x, x),
               "was expected to be a bool tensor but is a int32 tensor");
  EXPECT_ERROR(add_n({}), "at least one Tensor");
  EXPECT_ERROR(add_n({constant({1.0f, 2.0f}), constant({1.0f})}),
               "must have the same size and shape.  Input 0: [2] != input 1: [1]");
  EXPECT_ERROR(cast(constant("a"), DType::kInt32),
               "Cast string to int32 is not supported");
  EXPECT_ERROR(bitcast(constant({1, 2, 3}), DType::kInt64),
               "Cannot bitcast from int32 to int64");
  EXPECT_ERROR(clip_by_value(constant({1.0f, 2.0f}),
                             constant({{0.0f, 1.0f}, {0.0f, 1.0f}}), constant(3.0f)),
               "Shapes (2,) and (2, 2) are incompatible");
}

TEST(Elementwise, SaturateCastClips) {
  const Tensor x = constant({-1.5f, 255.7f, 3e9f, -3e9f, kInf});
  EXPECT_EQ(saturate_cast(x, DType::kUInt8).to_vector<uint8_t>(),
            (Values<uint8_t>{0, 255, 255, 0, 255}));
  EXPECT_EQ(saturate_cast(x, DType::kInt32).to_vector<int32_t>(),
            (Values<int32_t>{-1, 255, 2147483520, INT32_MIN, 2147483520}));
  EXPECT_EQ(saturate_cast(constant({1e30f}), DType::kInt64).to_vector<int64_t>(),
            (Values<int64_t>{INT64_MAX - (int64_t{1} << 39) + 1}));
  EXPECT_EQ(
      saturate_cast(constant({-5, 300, INT32_MAX}), DType::kUInt8).to_vector<uint8_t>(),
      (Values<uint8_t>{0, 255, 255}));
  EXPECT_EQ(saturate_cast(constant<uint64_t>({UINT64_MAX, 5}), DType::kInt64)
                .to_vector<int64_t>(),
            (Values<int64_t>{INT64_MAX, 5}));
  EXPECT_EQ(static_cast<float>(
                saturate_cast(constant({1e6f}), DType::kFloat16).item<float16>()),
            65504);
}

TEST(Elementwise, PartsOfRealNumbers) {
  const Tensor x = constant({1.0f, -2.0f, 0.0f});
  EXPECT_EQ(angle(x).to_vector<float>(), (Values<float>{0, static_cast<float>(M_PI), 0}));
  EXPECT_EQ(imag(x).to_vector<float>(), (Values<float>{0, 0, 0}));
  EXPECT_TRUE(real(x).is(x));
  EXPECT_TRUE(cast(x, DType::kFloat32).is(x));
  EXPECT_EQ(abs(complex(constant({3.0f}), constant({4.0f}))).to_vector<float>(),
            (Values<float>{5}));
}

// The result for an element does not depend on where in the tensor it stands.
TEST(Elementwise, VectorEndsGiveTheSameNumbers) {
  Values<float> x(67);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 0.3f;
  for (auto f : {exp, tanh, sin, log, erf, sigmoid, log1p, atan}) {
    for (float v : f(constant(x)).to_vector<float>())
      ASSERT_EQ(v, f(constant(0.3f)).item<float>());
  }
}

// Results beyond 32 MiB go past the caches, apart from the last few elements.
TEST(Elementwise, LargeResults) {
  const size_t n = (size_t{8} << 20) + 1077;
  Values<float> x(n);
  for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i % 4099);
  const auto sum = (constant(x) + constant(x)).to_vector<float>();
  const auto more = (1 + constant(x)).to_vector<float>();
  for (size_t i = 0; i < n; ++i) {
    ASSERT_EQ(sum[i], 2 * x[i]) << i;
    ASSERT_EQ(more[i], x[i] + 1) << i;
  }
}

TEST(Elementwise, InferenceCarriesIntegers) {
  const auto infer = [](const char* op, Values<int64_t> x, Values<int64_t> y) {
    const auto info = [](const Values<int64_t>& v) {
      TensorInfo t{DType::kInt32, {static_cast<int64_t>(v.size())}, {}, true, nullptr};
      for (int64_t e : v) t.value.push_back(e);
      return t;
    };
    const TensorInfo inputs[] = {info(x), info(y)};
    InferContext c(OpTable::get().at(op), {}, inputs);
    infer_call(c);
    const TensorInfo& out = c.outputs()[0];
    return out.has_value ? Values<int64_t>(out.value.begin(), out.value.end())
                         : Values<int64_t>{};
  };
  using V = Values<int64_t>;
  constexpr int64_t kU = kUnknownValue;
  EXPECT_EQ(infer("AddV2", {1, kU, 3}, {10}), (V{11, kU, 13}));
  EXPECT_EQ(infer("Sub", {5}, {1, 2}), (V{4, 3}));
  EXPECT_EQ(infer("Mul", {3, kU}, {4, 5}), (V{12, kU}));
  EXPECT_EQ(infer("FloorDiv", {-7, 7, 5}, {2, 2, 0}), (V{-4, 3, kU}));
  EXPECT_EQ(infer("FloorMod", {-7, 7}, {2, 2}), (V{1, 1}));
  EXPECT_EQ(infer("Maximum", {1, 9}, {4}), (V{4, 9}));
  EXPECT_EQ(infer("Minimum", {1, 9}, {4}), (V{1, 4}));
  EXPECT_EQ(infer("Equal", {1, 9, kU}, {1}), (V{1, 0, kU}));
  EXPECT_EQ(infer("AddV2", {INT32_MAX}, {1}), (V{INT32_MIN}));
  EXPECT_EQ(infer("AddV2", {kU}, {kU}), (V{}));
}

double second_derivative(Tensor (*f)(const Tensor&), double at) {
  const Tensor x = constant(at);
  GradientTape outer;
  outer.watch(x);
  Tensor first;
  {
    GradientTape inner;
    inner.watch(x);
    const Tensor y = f(x);
    first = inner.gradient(y, std::vector<Tensor>{x})[0];
  }
  return Tensor(outer.gradient(first, std::vector<Tensor>{x})[0]).item<double>();
}

TEST(Elementwise, SecondDerivatives) {
  using Function = Tensor (*)(const Tensor&);
  const Function functions[] = {
      sqrt,
      rsqrt,
      reciprocal,
      exp,
      log,
      tanh,
      sigmoid,
      sin,
      square,
      expm1,
      atan,
      erf,
      lgamma,
      nn::elu,
      nn::selu,
      nn::softplus,
      nn::softsign,
      nn::mish,
      [](const Tensor& x) { return nn::gelu(x); },
      [](const Tensor& x) { return nn::gelu(x, {.approximate = true}); },
      [](const Tensor& x) { return nn::silu(x, {.beta = 1.3}); },
      [](const Tensor& x) { return pow(x, 3.5); },
      [](const Tensor& x) { return 2 / (x * x); },
  };
  int which = 0;
  for (Function f : functions) {
    const double x = 0.7, h = 1e-4;
    const auto value = [&](double v) { return f(constant(v)).item<double>(); };
    const double expected = (value(x + h) - 2 * value(x) + value(x - h)) / (h * h);
    EXPECT_NEAR(second_derivative(f, x), expected,
                1e-5 * std::max(1.0, std::fabs(expected)))
        << "function " << which;
    ++which;
  }
  EXPECT_NEAR(second_derivative(nn::elu, -0.5), std::exp(-0.5), 1e-9);
}

TEST(Elementwise, GradientsOfBroadcastOperandsAreSummed) {
  const Tensor x = constant({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}),
               y = constant({10.0, 20.0, 30.0});
  const Tensor s = constant(2.0);
  GradientTape tape;
  for (const Tensor& t : {x, y, s}) tape.watch(t);
  const Tensor z = x * y * s;
  const auto g = tape.gradient(z, std::vector<Tensor>{x, y, s});
  EXPECT_EQ(g[0].dense().to_vector<double>(), (Values<double>{20, 40, 60, 20, 40, 60}));
  EXPECT_EQ(g[1].dense().to_vector<double>(), (Values<double>{10, 14, 18}));
  EXPECT_EQ(g[2].dense().item<double>(), 10 + 40 + 90 + 40 + 100 + 180);
}

TEST(Elementwise, ActivationsMadeOfOthers) {
  const Tensor x = constant({-4.0f, -1.0f, 0.0f, 1.0f, 4.0f});
  const auto near = [](const Tensor& got, Values<float> expected) {
    const auto v = got.to_vector<float>();
    for (size_t i = 0; i < v.size(); ++i) EXPECT_NEAR(v[i], expected[i], 1e-6) << i;
  };
  near(nn::hard_sigmoid(x), {0, 1.0f / 3, 0.5f, 2.0f / 3, 1});
  near(nn::hard_silu(x), {0, -1.0f / 3, 0, 2.0f / 3, 4});
  near(nn::hard_tanh(x), {-1, -1, 0, 1, 1});
  near(nn::soft_shrink(x), {-3.5f, -0.5f, 0, 0.5f, 3.5f});
  near(nn::hard_shrink(x, 2), {-4, 0, 0, 0, 4});
  near(nn::celu(x, 2), {2 * std::expm1(-2.0f), 2 * std::expm1(-0.5f), 0, 1, 4});
  near(log_sigmoid(x),
       {-4.01814993f, -1.31326169f, -0.69314718f, -0.31326169f, -0.01814993f});
  near(nn::crelu(constant({-1.0f, 2.0f})), {0, 2, 1, 0});
}

}  // namespace
}  // namespace tandem

#undef EXPECT_ERROR
