// Linear algebra beyond single ops: functions, complex gradients, conventions, errors.
#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "ops/values.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using C = std::complex<double>;

std::vector<float> floats(const Tensor& t) { return t.to_vector<float>(); }

void expect_values(const Tensor& got, const std::vector<double>& expected,
                   double tolerance = 1e-9) {
  const testing::Ref r = testing::to_ref(got);
  ASSERT_EQ(r.values.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(r.re(i))) << i;
    } else {
      EXPECT_NEAR(r.re(i), expected[i], tolerance) << i;
    }
  }
}

template <class E, class F>
void expect_error(F&& call, const std::string& phrase) {
  try {
    call();
    ADD_FAILURE() << "no error; expected: " << phrase;
  } catch (const E& e) {
    EXPECT_NE(std::string(e.what()).find(phrase), std::string::npos) << e.what();
  }
}

Tensor random_tensor(const Shape& shape, DType dtype, uint64_t seed) {
  std::mt19937_64 random(seed);
  return testing::to_tensor(testing::make_values({.shape = shape}, dtype, random), dtype);
}

// Differences of a real loss in the real and imaginary direction of every element.
void expect_complex_gradient(const Tensor& x,
                             const std::function<Tensor(const Tensor&)>& f,
                             double tolerance = 1e-5) {
  GradientTape tape;
  tape.watch(x);
  const Tensor loss = f(x);
  const auto [grad] = tape.gradient(loss, {Source(x)});
  const testing::Ref got = testing::to_ref(grad.dense());
  const testing::Ref value = testing::to_ref(x);
  const double h = 1e-6;
  for (size_t i = 0; i < value.values.size(); ++i) {
    const auto moved = [&](C by) {
      testing::Ref r = value;
      r.values[i] += by;
      return f(testing::to_tensor(r, x.dtype())).item<double>();
    };
    const double re = (moved(h) - moved(-h)) / (2 * h);
    const double im =
        is_complex(x.dtype()) ? (moved(C(0, h)) - moved(C(0, -h))) / (2 * h) : 0;
    EXPECT_NEAR(got.values[i].real(), re, tolerance * std::max(1.0, std::abs(re))) << i;
    EXPECT_NEAR(got.values[i].imag(), im, tolerance * std::max(1.0, std::abs(im))) << i;
  }
}

// A real number that depends on the values and phases of x.
Tensor weighed(const Tensor& x, uint64_t seed = 5) {
  const Tensor w = random_tensor(x.shape(), x.dtype(), seed);
  return reduce_sum(square(abs(x - w)));
}

TEST(MatMul, ComplexGradients) {
  const Tensor a = random_tensor({3, 2}, DType::kComplex128, 1);
  const Tensor b = random_tensor({3, 4}, DType::kComplex128, 2);
  const Tensor bt = random_tensor({4, 3}, DType::kComplex128, 3);
  for (bool adjoint_a : {false, true}) {
    const MatMulAttrs one{.transpose_a = !adjoint_a, .adjoint_a = adjoint_a};
    expect_complex_gradient(a,
                            [&](const Tensor& x) { return weighed(matmul(x, b, one)); });
    expect_complex_gradient(b,
                            [&](const Tensor& x) { return weighed(matmul(a, x, one)); });
    for (bool adjoint_b : {false, true}) {
      MatMulAttrs both = one;
      both.transpose_b = !adjoint_b;
      both.adjoint_b = adjoint_b;
      expect_complex_gradient(
          a, [&](const Tensor& x) { return weighed(matmul(x, bt, both)); });
      expect_complex_gradient(
          bt, [&](const Tensor& x) { return weighed(matmul(a, x, both)); });
    }
  }
}

TEST(MatMul, GradientOfGradient) {
  const Tensor a = random_tensor({2, 3}, DType::kFloat64, 1);
  const Tensor b = random_tensor({3, 2}, DType::kFloat64, 2);
  expect_complex_gradient(a, [&](const Tensor& x) {
    GradientTape inner;
    inner.watch(x);
    const Tensor y = reduce_sum(square(matmul(x, b)));
    const auto [g] = inner.gradient(y, {Source(x)});
    return reduce_sum(square(g.dense()));
  });
}

TEST(MatMul, Errors) {
  const auto z = [](Shape s) { return zeros(s); };
  expect_error<InvalidArgumentError>(
      [&] { matmul(z({2, 3}), z({2, 3})); },
      "Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]");
  expect_error<InvalidArgumentError>(
      [&] { matmul(z({2, 2, 3}), z({3, 3, 4})); },
      "must have compatible batch dimensions: [2,2,3] vs. [3,3,4]");
  expect_error<InvalidArgumentError>([&] { matmul(z({3}), z({3, 4})); },
                                     "In[0] ndims must be >= 2");
  expect_error<ValueError>(
      [&] { matmul(z({2, 3}), z({3, 2}), {.transpose_a = true, .adjoint_a = true}); },
      "Only one of `transpose_a` and `adjoint_a` can be True");
  expect_error<InvalidArgumentError>(
      [&] { matmul(constant<int8_t>({{1}}), constant<int8_t>({{1}})); }, "int8");
}

TEST(Linalg, MatVecAndCross) {
  const Tensor a = constant<double>({{1, 2}, {3, 4}});
  expect_values(linalg::matvec(a, constant<double>({5, 6})), {17, 39});
  expect_values(linalg::matvec(a, constant<double>({5, 6}), {.transpose_a = true}),
                {23, 34});
  expect_error<FailedPreconditionError>([&] { linalg::cross(a, a); },
                                        "3-element vectors");
  expect_error<InvalidArgumentError>([&] { linalg::cross(zeros({2, 3}), zeros({3})); },
                                     "Both inputs must be of same shape: [2,3] vs. [3]");
}

TEST(Cholesky, NotPositiveDefiniteGivesNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_values(linalg::cholesky(constant<double>({{-1, 0}, {0, -1}})),
                {nan, 0, nan, nan});
}

TEST(Cholesky, GradientIsSymmetric) {
  // Through x + xᵀ both triangles matter, and the convention cannot be seen.
  const Tensor x = random_tensor({3, 3}, DType::kFloat64, 4);
  const Tensor shift = eye(3, DType::kFloat64) * 6;
  const auto factor = [&](const Tensor& v) {
    return linalg::cholesky(v + linalg::adjoint(v) + shift);
  };
  expect_complex_gradient(x, [&](const Tensor& v) { return weighed(factor(v)); });
  expect_complex_gradient(x, [&](const Tensor& v) {
    GradientTape inner;
    inner.watch(v);
    const Tensor y = weighed(factor(v));
    const auto [g] = inner.gradient(y, {Source(v)});
    return reduce_sum(square(g.dense()));
  });
}

TEST(Cholesky, ComplexGradient) {
  const Tensor x = random_tensor({3, 3}, DType::kComplex128, 4);
  const Tensor shift = cast(eye(3, DType::kFloat64) * 8, DType::kComplex128);
  expect_complex_gradient(x, [&](const Tensor& v) {
    return weighed(linalg::cholesky(v + linalg::adjoint(v) + shift));
  });
}

TEST(Decompositions, ComplexReconstruction) {
  const Tensor a = random_tensor({2, 4, 3}, DType::kComplex128, 6);
  const auto close = [](const Tensor& x, const Tensor& y) {
    EXPECT_LT(reduce_max(abs(x - y)).item<double>(), 1e-12);
  };
  const auto s = linalg::svd(a);
  close(matmul(matmul(s.u, matrix_diag(cast(s.s, a.dtype()))), s.v, {.adjoint_b = true}),
        a);
  const auto q = linalg::qr(a);
  close(matmul(q.q, q.r), a);
  close(matmul(q.q, q.q, {.adjoint_a = true}),
        broadcast_to(eye(3, DType::kComplex128), Shape{2, 3, 3}));
  const Tensor h = matmul(a, a, {.adjoint_a = true});
  const auto e = linalg::eigh(h);
  close(matmul(matmul(e.v, matrix_diag(e.e)), e.v, {.adjoint_b = true}), h);
  const Tensor l = linalg::cholesky(h);
  close(matmul(l, l, {.adjoint_b = true}), h);
  const auto g = linalg::eig(h);
  close(matmul(h, g.v), matmul(g.v, matrix_diag(g.e)));
  const Tensor b = random_tensor({2, 3, 2}, DType::kComplex128, 7);
  const Tensor square_part = slice(a, {0, 0, 0}, {-1, 3, -1});
  close(matmul(square_part, linalg::solve(square_part, b)), b);
  close(matmul(square_part, linalg::solve(square_part, b, {.adjoint = true}),
               {.adjoint_a = true}),
        b);
  close(matmul(square_part, linalg::inv(square_part, {.adjoint = true}),
               {.adjoint_a = true}),
        broadcast_to(eye(3, DType::kComplex128), Shape{2, 3, 3}));
  for (bool lower : {true, false}) {
    for (bool adjoint : {true, false}) {
      const Tensor t = lower ? tril(square_part) : triu(square_part);
      const Tensor x =
          linalg::triangular_solve(square_part, b, {.lower = lower, .adjoint = adjoint});
      close(matmul(t, x, {.adjoint_a = adjoint}), b);
    }
  }
}

TEST(Decompositions, ComplexGradients) {
  const Tensor x = random_tensor({3, 3}, DType::kComplex128, 8);
  expect_complex_gradient(
      x, [&](const Tensor& v) { return reduce_sum(square(linalg::svdvals(v))); });
  // Phases of singular vectors are free: a function of u·vᴴ does not see them.
  expect_complex_gradient(
      x,
      [&](const Tensor& v) {
        const auto d = linalg::svd(v);
        return weighed(matmul(d.u, d.v, {.adjoint_b = true}));
      },
      1e-4);
  expect_complex_gradient(
      x, [&](const Tensor& v) { return reduce_sum(square(abs(linalg::det(v)))); });
  expect_complex_gradient(
      x, [&](const Tensor& v) { return weighed(linalg::inv(v)); }, 1e-4);
  expect_complex_gradient(
      x, [&](const Tensor& v) { return weighed(linalg::eigvals(v)); }, 1e-4);
}

TEST(Decompositions, NotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor bad = constant<float>({{nan, 1}, {1, 2}});
  expect_error<InvalidArgumentError>(
      [&] { linalg::eigh(bad); }, "Self-adjoint eigen decomposition was not successful");
  expect_error<InvalidArgumentError>([&] { linalg::eig(bad); },
                                     "Eigen decomposition was not successful");
  expect_values(linalg::svd(bad).s, {nan, nan});
}

TEST(Solvers, Errors) {
  const auto z = [](Shape s) { return zeros(s); };
  expect_error<InvalidArgumentError>([&] { linalg::inv(z({2, 2})); },
                                     "Input is not invertible.");
  expect_error<InvalidArgumentError>([&] { linalg::solve(z({2, 2}), z({2, 1})); },
                                     "Input matrix is not invertible.");
  expect_error<InvalidArgumentError>([&] { linalg::lu(z({2, 2})); },
                                     "Input is not invertible.");
  expect_error<InvalidArgumentError>([&] { linalg::inv(z({2, 3})); },
                                     "Input matrix must be square.");
  expect_error<InvalidArgumentError>([&] { linalg::cholesky(z({2})); },
                                     "Input tensor 0 must have rank >= 2, got 1");
  expect_error<InvalidArgumentError>([&] { linalg::solve(z({3, 2, 2}), z({2, 1})); },
                                     "All input tensors must have the same rank.");
  expect_error<InvalidArgumentError>([&] { linalg::solve(eye(2), z({3, 1})); },
                                     "Input matrix and rhs are incompatible.");
  expect_error<InvalidArgumentError>([&] { linalg::triangular_solve(eye(2), z({3, 1})); },
                                     "In[0] mismatch In[1] shape: 2 vs. 3");
}

TEST(Solvers, SingularDeterminants) {
  const auto s = linalg::slogdet(zeros({2, 2}));
  EXPECT_EQ(s.sign.item<float>(), 0);
  EXPECT_EQ(s.log_abs_determinant.item<float>(), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(linalg::det(zeros({2, 2})).item<float>(), 0);
}

TEST(Solvers, Functions) {
  const Tensor a = constant<double>({{4, 1}, {1, 3}}), b = constant<double>({{1}, {2}});
  const std::vector<double> x = {1.0 / 11, 7.0 / 11};
  expect_values(linalg::cholesky_solve(linalg::cholesky(a), b), x);
  expect_values(linalg::lstsq(a, b), x);
  expect_values(linalg::logdet(a), {std::log(11.0)});
  expect_values(linalg::trace(a), {7});
  expect_values(linalg::matrix_power(a, 3), {4 * 17 + 7, 17 + 21, 4 * 7 + 10, 7 + 30});
  expect_values(linalg::matrix_power(a, 0), {1, 0, 0, 1});
  expect_values(matmul(linalg::matrix_power(a, -2), linalg::matrix_power(a, 2)),
                {1, 0, 0, 1});
  // TensorFlow 2.21: lstsq(ones(2, 3) + eye(2, 3), ones(2, 1), l2_regularizer=0.1)
  const Tensor wide = constant<double>({{2, 1, 1}, {1, 2, 1}});
  expect_values(linalg::lstsq(wide, constant<double>({{1}, {1}}), 0.1),
                {0.27027026, 0.2702703, 0.18018018}, 1e-7);
  expect_values(linalg::pinv(ones({2, 3}, DType::kFloat64)),
                std::vector<double>(6, 1.0 / 6));
  EXPECT_EQ(linalg::matrix_rank(ones({3, 3})).item<int32_t>(), 1);
  EXPECT_EQ(linalg::matrix_rank(eye(4)).item<int32_t>(), 4);
}

TEST(Norm, Orders) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = constant<double>({{3, -4, 0}, {1, 2, -2}});
  expect_values(norm(x), {std::sqrt(34.0)});
  expect_values(norm(x, {.axis = {1}}), {5, 3});
  expect_values(norm(x, {.order = 1, .axis = {1}}), {7, 5});
  expect_values(norm(x, {.order = inf, .axis = {1}}), {4, 2});
  expect_values(norm(x, {.order = 3}), {std::cbrt(27.0 + 64 + 1 + 8 + 8)});
  expect_values(norm(x, {.order = 1, .axis = {0, 1}}), {6});
  expect_values(norm(x, {.order = inf, .axis = {-2, -1}}), {7});
  expect_values(norm(x, {.frobenius = true, .axis = {0, 1}}), {std::sqrt(34.0)});
  expect_values(norm(ones({2, 3}, DType::kFloat64), {.order = 2, .axis = {0, 1}}),
                {std::sqrt(6.0)});
  EXPECT_EQ(norm(x, {.axis = {1}, .keepdims = true}).shape(), (Shape{2, 1}));
  EXPECT_EQ(norm(x, {.keepdims = true}).shape(), (Shape{1, 1}));
  const Tensor batch = random_tensor({2, 3, 4}, DType::kFloat64, 3);
  EXPECT_EQ(norm(batch, {.order = 2, .axis = {2, 0}}).shape(), (Shape{3}));
  EXPECT_EQ(norm(batch, {.order = 2, .axis = {0, 2}, .keepdims = true}).shape(),
            (Shape{1, 3, 1}));
  expect_error<ValueError>([&] { norm(x, {.order = 3, .axis = {0, 1}}); },
                           "supported matrix norm");
  expect_error<ValueError>([&] { norm(x, {.order = -1}); }, "supported vector norm");
  expect_error<ValueError>([&] { norm(x, {.frobenius = true}); },
                           "supported vector norm");
  expect_error<ValueError>([&] { norm(x, {.axis = {1, 1}}); },
                           "tuple of 2 unique integers");
}

TEST(Clip, ByNorm) {
  const Tensor x = constant<double>({3, 4});
  expect_values(clip_by_norm(x, constant(1.0)), {0.6, 0.8});
  expect_values(clip_by_norm(x, constant(10.0)), {3, 4});
  expect_values(clip_by_norm(zeros({2}, DType::kFloat64), constant(2.0)), {0, 0});
  expect_values(clip_by_norm(constant<double>({{3, 4}, {0.3, 0.4}}), constant(1.0), {1}),
                {0.6, 0.8, 0.3, 0.4});
}

TEST(Clip, ByGlobalNorm) {
  const IndexedSlices slices{constant<float>({{4.f}}), constant<int32_t>({2}),
                             constant<int32_t>({5, 1})};
  const std::vector<Gradient> list = {constant<float>({3.f}), Gradient(), slices};
  EXPECT_EQ(global_norm(list).item<float>(), 5);
  const auto [clipped, total] = clip_by_global_norm(list, constant(1.f));
  EXPECT_EQ(total.item<float>(), 5);
  EXPECT_NEAR(floats(clipped[0].dense())[0], 0.6, 1e-6);
  EXPECT_FALSE(clipped[1].defined());
  EXPECT_NEAR(floats(clipped[2].slices().values)[0], 0.8, 1e-6);
  const auto [spoiled, infinite] = clip_by_global_norm(
      {constant<float>({std::numeric_limits<float>::infinity()}), constant<float>({1.f})},
      constant(1.f));
  EXPECT_TRUE(std::isnan(floats(spoiled[1].dense())[0]));
}

}  // namespace
}  // namespace tandem
