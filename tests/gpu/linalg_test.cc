// Linear algebra on a real GPU: sizes beyond those of the op table's cases, errors that
// are found in contents, and steps of a compiled function that cannot be captured.
#include "tandem/ops/linalg.h"

#include <cmath>
#include <limits>

#include "gpu/gpu.h"
#include "kernels/cuda/cusolver.h"
#include "kernels/cuda/dense_blas.h"
#include "tandem/error.h"
#include "tandem/function.h"

namespace tandem::testing {
namespace {

class CudaLinalg : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    if (!cuda::solver() || !cuda::dense_blas()) {
      GTEST_SKIP() << "libcusolver.so.12 or libcublas.so.13 cannot be loaded";
    }
  }
};

Tensor double_noise(const Shape& shape, int64_t seed) {
  std::vector<double> values(static_cast<size_t>(shape.num_elements()));
  uint64_t state = static_cast<uint64_t>(seed) * 6364136223846793005u + 1;
  for (double& v : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = static_cast<double>(state >> 40) / (1 << 23) - 1.0;
  }
  return reshape(constant(values), shape);
}
Tensor positive(const Shape& shape, int64_t seed) {
  const Tensor a = double_noise(shape, seed);
  const Tensor gram = matmul(a, a, {.adjoint_b = true});
  return matrix_set_diag(gram, matrix_diag_part(gram) + 1.0);
}
/// Largest difference, as one number of the host's.
double apart(const Tensor& a, const Tensor& b) {
  return reduce_max(abs(a - b)).item<double>();
}
bool on_gpu(const Tensor& t) { return t.device().find("GPU:0") != std::string::npos; }

TEST_F(CudaLinalg, FactorsMultiplyToTheMatrix) {
  const DeviceScope scope("/GPU:0");
  for (const Shape& shape : {Shape{300, 300}, Shape{3, 600, 600}, Shape{5, 7, 7}}) {
    const Tensor a = double_noise(shape, 1), p = positive(shape, 2);
    const Tensor l = linalg::cholesky(p);
    EXPECT_TRUE(on_gpu(l));
    EXPECT_LT(apart(matmul(l, l, {.adjoint_b = true}), p), 1e-9);
    const linalg::Qr qr = linalg::qr(a);
    EXPECT_TRUE(on_gpu(qr.q));
    EXPECT_LT(apart(matmul(qr.q, qr.r), a), 1e-10);
    const linalg::Eig e = linalg::eigh(p);
    EXPECT_TRUE(on_gpu(e.e));
    EXPECT_LT(apart(matmul(e.v * expand_dims(e.e, -2), e.v, {.adjoint_b = true}), p),
              1e-9);
    const linalg::Svd s = linalg::svd(a);
    EXPECT_TRUE(on_gpu(s.s));
    EXPECT_LT(apart(matmul(s.u * expand_dims(s.s, -2), s.v, {.adjoint_b = true}), a),
              1e-9);
  }
}

TEST_F(CudaLinalg, SolutionsSolve) {
  const DeviceScope scope("/GPU:0");
  for (const Shape& shape : {Shape{600, 600}, Shape{20, 200, 200}, Shape{9, 5, 5}}) {
    const Tensor a = positive(shape, 3);
    const Tensor b = double_noise(shape, 4);
    const Tensor x = linalg::solve(a, b);
    EXPECT_TRUE(on_gpu(x));
    EXPECT_LT(apart(matmul(a, x), b), 1e-6);
    EXPECT_LT(apart(matmul(linalg::inv(a), b), x), 1e-6);
    const Tensor l = linalg::cholesky(a);
    const Tensor y = linalg::triangular_solve(l, b);
    EXPECT_TRUE(on_gpu(y));
    EXPECT_LT(apart(matmul(l, y), b), 1e-8);
    const Tensor halves = reduce_sum(log(matrix_diag_part(l)), {.axis = {-1}});
    EXPECT_LT(apart(linalg::slogdet(a).log_abs_determinant, halves * 2.0), 1e-6);
  }
}

TEST_F(CudaLinalg, ASingularMatrixIsAnErrorOfTheNextRead) {
  const DeviceScope scope("/GPU:0");
  const Tensor singular = reshape(constant(Floats{1, 2, 2, 4}), Shape{2, 2});
  const Tensor inverse = linalg::inv(singular);
  try {
    floats(inverse);
    FAIL() << "nothing was thrown";
  } catch (const InvalidArgumentError& e) {
    EXPECT_NE(std::string(e.what()).find("Input is not invertible. (Pivot 1 of matrix 0"),
              std::string::npos)
        << e.what();
  }
  const Tensor good = reshape(constant(Floats{2, 0, 0, 4}), Shape{2, 2});
  EXPECT_EQ(floats(linalg::inv(good)), (Floats{0.5, 0, 0, 0.25}));
  // Known to be singular, a matrix still has a determinant.
  EXPECT_EQ(floats(linalg::det(singular)), (Floats{0}));
}

TEST_F(CudaLinalg, WhatIsNotPositiveHasNoFactor) {
  const DeviceScope scope("/GPU:0");
  for (int64_t n : {2, 200}) {
    const Tensor bad = reshape(double_noise({n * n}, 5), Shape{n, n}) * 10.0;
    const Tensor both = stack({positive({n, n}, 6), bad});
    const std::vector<double> l = linalg::cholesky(both).to_vector<double>();
    const auto size = static_cast<size_t>(n * n);
    EXPECT_FALSE(std::isnan(l[0]));
    EXPECT_TRUE(std::isnan(l[size]));
    EXPECT_EQ(l[size + 1], 0);
  }
}

// The inverse is captured, the singular values are made between two captured parts.
TEST_F(CudaLinalg, AFunctionIsCutAroundWhatCannotBeCaptured) {
  const Function step([](const std::vector<Argument>& given) {
    const DeviceScope scope("/GPU:0");
    const Tensor a = std::get<Tensor>(given[0].value());
    const Tensor p = matmul(a, a, {.adjoint_b = true}) + linalg::inv(a + a);
    const Tensor s = linalg::svd(p).s;
    return std::vector<Tensor>{reduce_sum(tanh(s)) +
                               linalg::slogdet(p).log_abs_determinant};
  });
  for (int64_t seed : {7, 8, 9}) {
    const Tensor a = positive({40, 40}, seed);
    const Tensor got = step({Argument(a)})[0];
    EXPECT_TRUE(on_gpu(got));
    const DeviceScope scope("/CPU:0");
    const Tensor p = matmul(a, a, {.adjoint_b = true}) + linalg::inv(a + a);
    const Tensor expected =
        reduce_sum(tanh(linalg::svd(p).s)) + linalg::slogdet(p).log_abs_determinant;
    EXPECT_NEAR(got.item<double>(), expected.item<double>(), 1e-8);
  }
}

}  // namespace
}  // namespace tandem::testing
