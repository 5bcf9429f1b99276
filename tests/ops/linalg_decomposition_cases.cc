// Decompositions: where factors are unique they are compared, else what they multiply to.
#include <cmath>

#include <gtest/gtest.h>

#include "ops/linalg_cases.h"
#include "ops/values.h"
#include "tandem/ops/linalg.h"

namespace tandem::testing {

namespace {

// Products of plain matrices for the checks below.
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<Complex> v = {};
  Complex& at(int64_t i, int64_t j) { return v[static_cast<size_t>(i * columns + j)]; }
  Complex at(int64_t i, int64_t j) const {
    return v[static_cast<size_t>(i * columns + j)];
  }
};

Matrix matrix_of(const Ref& r, int64_t i) {
  const int64_t rows = r.shape.dim(-2), columns = r.shape.dim(-1);
  return {rows, columns, {matrix(r, i), matrix(r, i) + rows * columns}};
}

Matrix multiplied(const Matrix& a, const Matrix& b, bool adjoint_b = false) {
  Matrix c{a.rows, adjoint_b ? b.rows : b.columns};
  c.v.resize(static_cast<size_t>(c.rows * c.columns));
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.columns; ++j) {
      for (int64_t k = 0; k < a.columns; ++k) {
        c.at(i, j) += a.at(i, k) * (adjoint_b ? std::conj(b.at(j, k)) : b.at(k, j));
      }
    }
  }
  return c;
}

Matrix adjoint_of(const Matrix& a) {
  Matrix t{a.columns, a.rows, std::vector<Complex>(a.v.size())};
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < a.columns; ++j) t.at(j, i) = std::conj(a.at(i, j));
  }
  return t;
}

void expect_near(const Matrix& got, const Matrix& expected, double tolerance) {
  ASSERT_EQ(got.rows, expected.rows);
  ASSERT_EQ(got.columns, expected.columns);
  for (size_t i = 0; i < got.v.size(); ++i) {
    ASSERT_LE(std::abs(got.v[i] - expected.v[i]), tolerance) << "element " << i;
  }
}

void expect_orthonormal(const Matrix& q, double tolerance) {
  const Matrix g = multiplied(adjoint_of(q), q);
  for (int64_t i = 0; i < g.rows; ++i) {
    for (int64_t j = 0; j < g.columns; ++j) {
      ASSERT_LE(std::abs(g.at(i, j) - Complex(i == j)), tolerance) << i << ", " << j;
    }
  }
}

double tolerance_of(const Tensor& t) {
  return real_dtype(t.dtype()) == DType::kFloat64 ? 1e-11 : 2e-4;
}

// Matrix i of an input made by matrix_input, as a dtype has it.
Matrix input_matrix(const In& in, int64_t i, DType dtype) {
  const int64_t rows = in.shape.dim(-2), columns = in.shape.dim(-1);
  const bool both = is_complex(dtype) && !in.imaginary.empty();
  Matrix m{rows, columns};
  for (int64_t k = 0; k < rows * columns; ++k) {
    const auto at = static_cast<size_t>(i * rows * columns + k);
    m.v.emplace_back(in.fixed[at], both ? in.imaginary[at] : 0);
  }
  return m;
}

// a·aᴴ + I/2 of a fixed matrix, made unsymmetric above the diagonal, which is not read.
// The real parts alone are positive definite too.
In positive_input(Shape batch, int64_t n) {
  In in = matrix_input(batch, n, n, 1);
  std::vector<double> values, imaginary;
  for (int64_t b = 0; b < batch.num_elements(); ++b) {
    const Matrix a = input_matrix(in, b, DType::kComplex128), s = multiplied(a, a, true);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        values.push_back(j > i ? 7 : s.at(i, j).real() + (i == j ? 0.5 : 0));
        imaginary.push_back(j > i ? -3 : i == j ? 0 : s.at(i, j).imag());
      }
    }
  }
  in.fixed = values;
  in.imaginary = imaginary;
  return in;
}

Matrix symmetric_from_lower(Matrix a) {
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = i + 1; j < a.columns; ++j) a.at(i, j) = std::conj(a.at(j, i));
  }
  return a;
}

void add_cholesky(CaseList& cases, const char* name, Shape batch, int64_t n) {
  OpCase c{.op = "Cholesky", .name = name, .inputs = {positive_input(batch, n)}};
  c.dtypes = kMatrixDTypes;
  c.tolerance = 1e-4;
  // By convention the gradient is symmetric although one triangle is read; see
  // tests/cpu/ops/linalg_test.cc.
  c.check_gradient = false;
  c.reference = [n](const std::vector<Ref>& in, DType) {
    Ref l = zeros_of(in[0].shape);
    for (int64_t b = 0; b < batch_of(l.shape); ++b) {
      const Complex* a = matrix(in[0], b);
      Complex* p = matrix(l, b);
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
          Complex sum = a[i * n + j];
          for (int64_t k = 0; k < j; ++k) sum -= p[i * n + k] * std::conj(p[j * n + k]);
          p[i * n + j] = i == j ? std::sqrt(sum) : sum / p[j * n + j];
        }
      }
    }
    return std::vector<Ref>{l};
  };
  cases.push_back(c);
}

// Against the definition: half(L⁻ᴴ·Φ(Lᴴ·G)·L⁻¹ + its adjoint), Φ the lower triangle with
// half the diagonal; inverses by elimination on unit vectors.
void add_cholesky_grad(CaseList& cases) {
  OpCase c{.op = "CholeskyGrad",
           .inputs = {matrix_input({2}, 4, 4, 2), {.shape = {2, 4, 4}}}};
  c.dtypes = kMatrixDTypes;
  c.tolerance = 1e-4;
  c.reference = [](const std::vector<Ref>& in, DType) {
    Ref out = zeros_of(in[0].shape);
    for (int64_t b = 0; b < 2; ++b) {
      Matrix l = matrix_of(in[0], b);
      const Matrix g = matrix_of(in[1], b);
      for (int64_t i = 0; i < 4; ++i) {
        for (int64_t j = i + 1; j < 4; ++j) l.at(i, j) = 0;
      }
      Matrix inverse{4, 4, std::vector<Complex>(16)};
      for (int64_t c2 = 0; c2 < 4; ++c2) {
        for (int64_t i = 0; i < 4; ++i) {
          Complex sum = i == c2 ? 1 : 0;
          for (int64_t j = 0; j < i; ++j) sum -= l.at(i, j) * inverse.at(j, c2);
          inverse.at(i, c2) = sum / l.at(i, i);
        }
      }
      Matrix p = multiplied(adjoint_of(l), g);
      for (int64_t i = 0; i < 4; ++i) {
        p.at(i, i) *= 0.5;
        for (int64_t j = i + 1; j < 4; ++j) p.at(i, j) = 0;
      }
      const Matrix s = multiplied(multiplied(adjoint_of(inverse), p), inverse);
      for (int64_t i = 0; i < 4; ++i) {
        for (int64_t j = 0; j < 4; ++j) {
          matrix(out, b)[i * 4 + j] = 0.5 * (s.at(i, j) + std::conj(s.at(j, i)));
        }
      }
    }
    return std::vector<Ref>{out};
  };
  cases.push_back(c);
}

void add_qr(CaseList& cases, const char* name, Shape batch, int64_t rows, int64_t columns,
            bool full) {
  OpCase c{.op = "Qr", .name = name, .inputs = {matrix_input(batch, rows, columns, 1)}};
  c.attrs = Attrs(attrs_ref(linalg::QrAttrs{full}));
  c.up_to_signs = true;
  c.dtypes = kMatrixDTypes;
  c.check_gradient = !(full && rows > columns);
  const In in = c.inputs[0];
  c.check = [=](const std::vector<Tensor>& out) {
    const Ref q = to_ref(out[0]), r = to_ref(out[1]);
    const int64_t width = full ? rows : std::min(rows, columns);
    for (int64_t b = 0; b < batch_of(in.shape); ++b) {
      const Matrix qm = matrix_of(q, b), rm = matrix_of(r, b);
      ASSERT_EQ(qm.columns, width);
      expect_orthonormal(qm, tolerance_of(out[0]));
      expect_near(multiplied(qm, rm), input_matrix(in, b, out[0].dtype()),
                  tolerance_of(out[0]));
      for (int64_t i = 0; i < rm.rows; ++i) {
        for (int64_t j = 0; j < std::min(i, rm.columns); ++j) ASSERT_EQ(rm.at(i, j), 0.0);
      }
    }
  };
  cases.push_back(c);
}

void add_svd(CaseList& cases, const char* name, Shape batch, int64_t rows,
             int64_t columns, linalg::SvdAttrs attrs) {
  OpCase c{.op = "Svd", .name = name, .inputs = {matrix_input(batch, rows, columns, 1)}};
  c.attrs = Attrs(attrs_ref(attrs));
  c.up_to_signs = true;
  c.dtypes = kMatrixDTypes;
  c.check_gradient = !(attrs.full_matrices && std::abs(rows - columns) > 1);
  c.grad_tolerance = 1e-4;
  const In in = c.inputs[0];
  c.check = [=](const std::vector<Tensor>& out) {
    const Ref s = to_ref(out[0]), u = to_ref(out[1]), v = to_ref(out[2]);
    const int64_t least = std::min(rows, columns);
    const double tolerance = tolerance_of(out[0]);
    for (int64_t b = 0; b < batch_of(in.shape); ++b) {
      double squares = 0, frobenius = 0;
      for (int64_t k = 0; k < least; ++k) {
        const double x = s.re(static_cast<size_t>(b * least + k));
        squares += x * x;
        if (k > 0) {
          ASSERT_LE(x, s.re(static_cast<size_t>(b * least + k - 1)));
        }
      }
      const Matrix a = input_matrix(in, b, out[1].dtype());
      for (Complex x : a.v) frobenius += std::norm(x);
      ASSERT_NEAR(squares, frobenius, tolerance * std::max(20.0, 0.1 * frobenius));
      if (!attrs.compute_uv) continue;
      const Matrix um = matrix_of(u, b), vm = matrix_of(v, b);
      ASSERT_EQ(um.columns, attrs.full_matrices ? rows : least);
      ASSERT_EQ(vm.columns, attrs.full_matrices ? columns : least);
      expect_orthonormal(um, tolerance);
      expect_orthonormal(vm, tolerance);
      Matrix middle{um.columns, vm.columns};
      middle.v.resize(static_cast<size_t>(um.columns * vm.columns));
      for (int64_t k = 0; k < least; ++k) {
        middle.at(k, k) = s.re(static_cast<size_t>(b * least + k));
      }
      expect_near(multiplied(multiplied(um, middle), vm, true), a, tolerance);
    }
  };
  cases.push_back(c);
}

void add_eigh(CaseList& cases, const char* name, Shape batch, int64_t n, bool vectors) {
  OpCase c{
      .op = "SelfAdjointEigV2", .name = name, .inputs = {matrix_input(batch, n, n, 1)}};
  c.attrs = Attrs(attrs_ref(linalg::EigAttrs{vectors}));
  c.up_to_signs = true;
  c.dtypes = kMatrixDTypes;
  c.grad_tolerance = 1e-4;
  const In in = c.inputs[0];
  c.check = [=](const std::vector<Tensor>& out) {
    const Ref e = to_ref(out[0]), v = to_ref(out[1]);
    for (int64_t b = 0; b < batch_of(in.shape); ++b) {
      const Matrix a = symmetric_from_lower(input_matrix(in, b, out[0].dtype()));
      Complex trace = 0, sum = 0;
      for (int64_t k = 0; k < n; ++k) {
        trace += a.at(k, k);
        const auto i = static_cast<size_t>(b * n + k);
        sum += e.values[i];
        if (k > 0) {
          ASSERT_GE(e.re(i), e.re(i - 1));
        }
      }
      ASSERT_LE(std::abs(trace - sum), 10 * tolerance_of(out[0]));
      if (!vectors) continue;
      const Matrix vm = matrix_of(v, b);
      expect_orthonormal(vm, tolerance_of(out[0]));
      Matrix scaled = vm;
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t k = 0; k < n; ++k) {
          scaled.at(i, k) *= e.values[static_cast<size_t>(b * n + k)];
        }
      }
      expect_near(multiplied(a, vm), scaled, tolerance_of(out[0]));
    }
  };
  cases.push_back(c);
}

void add_eig(CaseList& cases, const char* name, Shape batch, int64_t n, bool vectors) {
  // Zero diagonals: some eigenvalues are complex.
  OpCase c{.op = "Eig", .name = name, .inputs = {matrix_input(batch, n, n, 0)}};
  c.inputs[0].imaginary.clear();
  c.attrs = Attrs(attrs_ref(linalg::EigAttrs{vectors}));
  c.dtypes = kMatrixDTypes;
  c.check_gradient = false;  // complex results; see tests/cpu/ops/linalg_test.cc
  const In in = c.inputs[0];
  c.check = [=](const std::vector<Tensor>& out) {
    const Ref e = to_ref(out[0]), v = to_ref(out[1]);
    for (int64_t b = 0; b < batch_of(in.shape); ++b) {
      const Matrix a = input_matrix(in, b, DType::kFloat64);
      Complex trace = 0, sum = 0;
      for (int64_t k = 0; k < n; ++k) {
        trace += a.at(k, k);
        sum += e.values[static_cast<size_t>(b * n + k)];
      }
      ASSERT_LE(std::abs(trace - sum), 10 * tolerance_of(out[0]));
      if (!vectors) continue;
      const Matrix vm = matrix_of(v, b);
      Matrix scaled = vm;
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t k = 0; k < n; ++k) {
          scaled.at(i, k) *= e.values[static_cast<size_t>(b * n + k)];
        }
      }
      expect_near(multiplied(a, vm), scaled, tolerance_of(out[0]));
    }
  };
  cases.push_back(c);
}

void add_lu(CaseList& cases, const char* name, Shape batch, int64_t n, DType index) {
  OpCase c{.op = "Lu", .name = name, .inputs = {matrix_input(batch, n, n, 0)}};
  c.inputs[0].imaginary.clear();  // libraries compare complex numbers in several ways
  c.attrs = Attrs(attrs_ref(linalg::LuAttrs{index}));
  c.dtypes = kMatrixDTypes;
  c.tolerance = 1e-3;
  c.check_gradient = false;
  c.reference = [n](const std::vector<Ref>& in, DType) {
    Ref lu = in[0], p = zeros_of(in[0].shape.slice(0, in[0].shape.rank() - 1));
    for (int64_t b = 0; b < batch_of(lu.shape); ++b) {
      std::vector<Complex> a(matrix(lu, b), matrix(lu, b) + n * n);
      int exchanges;
      const std::vector<int64_t> order = eliminate(a, n, &exchanges);
      std::copy(a.begin(), a.end(), matrix(lu, b));
      for (int64_t i = 0; i < n; ++i) {
        p.values[static_cast<size_t>(b * n + i)] =
            static_cast<double>(order[static_cast<size_t>(i)]);
      }
    }
    return std::vector<Ref>{lu, p};
  };
  cases.push_back(c);
}

// Rows of the product of both triangles are the input's rows in the order given.
void add_lu_complex(CaseList& cases, const char* name, Shape batch, int64_t n) {
  OpCase c{.op = "Lu", .name = name, .inputs = {matrix_input(batch, n, n, 0)}};
  c.dtypes = {DType::kComplex64, DType::kComplex128};
  c.check_gradient = false;
  const In in = c.inputs[0];
  c.check = [=](const std::vector<Tensor>& out) {
    const Ref lu = to_ref(out[0]), order = to_ref(out[1]);
    for (int64_t b = 0; b < batch_of(in.shape); ++b) {
      Matrix lower = matrix_of(lu, b), upper = lower, expected = lower;
      const Matrix a = input_matrix(in, b, out[0].dtype());
      for (int64_t i = 0; i < n; ++i) {
        const auto from = static_cast<int64_t>(order.re(static_cast<size_t>(b * n + i)));
        ASSERT_TRUE(from >= 0 && from < n);
        for (int64_t j = 0; j < n; ++j) {
          (j < i ? upper : lower).at(i, j) = i == j ? 1 : 0;
          expected.at(i, j) = a.at(from, j);
        }
      }
      expect_near(multiplied(lower, upper), expected, tolerance_of(out[0]));
    }
  };
  cases.push_back(c);
}

}  // namespace

void add_decomposition_cases(CaseList& cases) {
  add_cholesky(cases, "plain", {}, 5);
  add_cholesky(cases, "batch", {2, 3}, 3);
  add_cholesky(cases, "empty", {2}, 0);
  add_cholesky(cases, "blocked", {}, 60);
  add_cholesky(cases, "blocked_batch", {3}, 40);
  add_cholesky_grad(cases);
  add_qr(cases, "square", {}, 4, 4, false);
  add_qr(cases, "tall", {2}, 5, 3, false);
  add_qr(cases, "tall_full", {2}, 5, 3, true);
  add_qr(cases, "wide", {}, 3, 5, false);
  add_qr(cases, "wide_full", {2}, 3, 5, true);
  add_qr(cases, "empty", {}, 3, 0, false);
  add_qr(cases, "empty_full", {2}, 3, 0, true);
  add_qr(cases, "blocked", {}, 70, 50, false);
  add_qr(cases, "blocked_full", {2}, 45, 35, true);
  add_svd(cases, "square", {}, 4, 4, {});
  add_svd(cases, "tall", {2}, 5, 3, {});
  add_svd(cases, "wide", {2}, 3, 5, {});
  add_svd(cases, "tall_full", {}, 4, 3, {.full_matrices = true});
  add_svd(cases, "wide_full", {2}, 3, 4, {.full_matrices = true});
  add_svd(cases, "long_full", {}, 7, 3, {.full_matrices = true});
  add_svd(cases, "values", {2}, 3, 4, {.compute_uv = false});
  add_svd(cases, "blocked", {2}, 40, 36, {});
  add_svd(cases, "blocked_wide", {}, 33, 45, {});
  add_svd(cases, "blocked_full", {}, 37, 36, {.full_matrices = true});
  add_svd(cases, "blocked_values", {2}, 30, 40, {.compute_uv = false});
  add_svd(cases, "empty", {}, 0, 3, {});
  add_svd(cases, "empty_full", {2}, 0, 3, {.full_matrices = true});
  add_eigh(cases, "plain", {}, 4, true);
  add_eigh(cases, "batch", {2, 2}, 3, true);
  add_eigh(cases, "values", {2}, 4, false);
  add_eigh(cases, "blocked", {2}, 40, true);
  add_eigh(cases, "blocked_values", {}, 50, false);
  add_eigh(cases, "empty", {2}, 0, true);
  add_eig(cases, "plain", {}, 4, true);
  add_eig(cases, "batch", {3}, 3, true);
  add_eig(cases, "values", {2}, 5, false);
  add_eig(cases, "empty", {}, 0, true);
  add_lu(cases, "plain", {}, 5, DType::kInt32);
  add_lu(cases, "batch", {2, 2}, 3, DType::kInt64);
  add_lu(cases, "blocked", {2}, 140, DType::kInt32);
  add_lu_complex(cases, "complex", {2}, 6);
  add_lu_complex(cases, "complex_blocked", {}, 131);
  add_lu(cases, "empty", {2}, 0, DType::kInt32);
}

}  // namespace tandem::testing
