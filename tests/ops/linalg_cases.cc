// Products, solvers and determinants against textbook algorithms in double precision.
#include "ops/linalg_cases.h"

#include <cmath>

#include "tandem/ops/linalg.h"

namespace tandem::testing {

// A fixed generator: decompositions want the same well-conditioned matrices every time.
std::vector<double> matrices(int64_t batch, int64_t rows, int64_t columns,
                             double diagonal) {
  std::vector<double> values;
  uint64_t state = 12345;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const double x = static_cast<double>(state >> 40) / (1 << 24) - 0.5;
        values.push_back(x + (i == j ? diagonal + 0.3 * static_cast<double>(i) : 0));
      }
    }
  }
  return values;
}

In matrix_input(Shape batch, int64_t rows, int64_t columns, double diagonal) {
  const int64_t n = batch.num_elements();
  Shape shape = batch;
  shape.push_back(rows);
  shape.push_back(columns);
  In in{.shape = shape, .fixed = matrices(n, rows, columns, diagonal)};
  // The next numbers of the same generator, so that both parts differ; real diagonals,
  // as self-adjoint matrices have them.
  const std::vector<double> more = matrices(n + 1, rows, columns, 0);
  for (size_t i = 0; i < in.fixed.size(); ++i) {
    const auto at = static_cast<int64_t>(i) % (rows * columns);
    const bool diagonal_element = at / columns == at % columns;
    in.imaginary.push_back(
        diagonal_element ? 0 : more[i + static_cast<size_t>(rows * columns)]);
  }
  return in;
}

int64_t batch_of(const Shape& s) { return s.slice(0, s.rank() - 2).num_elements(); }

Complex* matrix(Ref& r, int64_t i) {
  return r.values.data() + i * r.shape.dim(-1) * r.shape.dim(-2);
}
const Complex* matrix(const Ref& r, int64_t i) {
  return r.values.data() + i * r.shape.dim(-1) * r.shape.dim(-2);
}

// PA = LU in place with partial pivoting; returns the row order and the number of
// exchanges.
std::vector<int64_t> eliminate(std::vector<Complex>& a, int64_t n, int* exchanges) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < n; ++i) order.push_back(i);
  const auto at = [&](int64_t i, int64_t j) -> Complex& {
    return a[static_cast<size_t>(i * n + j)];
  };
  *exchanges = 0;
  for (int64_t k = 0; k < n; ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (std::abs(at(i, k)) > std::abs(at(best, k))) best = i;
    }
    if (best != k) {
      ++*exchanges;
      std::swap(order[static_cast<size_t>(k)], order[static_cast<size_t>(best)]);
      for (int64_t j = 0; j < n; ++j) std::swap(at(k, j), at(best, j));
    }
    for (int64_t i = k + 1; i < n; ++i) {
      at(i, k) /= at(k, k);
      for (int64_t j = k + 1; j < n; ++j) at(i, j) -= at(i, k) * at(k, j);
    }
  }
  return order;
}

namespace {

Complex conj_if(Complex x, bool yes) { return yes ? std::conj(x) : x; }

// Index of the matrix of `from` that belongs to matrix i of a broadcast batch.
int64_t broadcast_matrix(const Shape& from, const Shape& to, int64_t i) {
  const int rank = to.rank() - 2, own = from.rank() - 2;
  int64_t at = 0, step = 1;
  for (int d = rank; d-- > 0;) {
    const int f = d - (rank - own);
    if (f >= 0 && from[f] != 1) at += i % to[d] * step;
    if (f >= 0) step *= from[f];
    i /= to[d];
  }
  return at;
}

Shape broadcast_batch(const Shape& a, const Shape& b) {
  Shape out;
  broadcast_shapes(a.slice(0, a.rank() - 2), b.slice(0, b.rank() - 2), &out);
  return out;
}

}  // namespace

Reference matmul_reference(MatMulAttrs m) {
  return [m](const std::vector<Ref>& in, DType) {
    const bool ta = m.transpose_a || m.adjoint_a, tb = m.transpose_b || m.adjoint_b;
    const Ref &a = in[0], &b = in[1];
    const int64_t rows = a.shape.dim(ta ? -1 : -2), inner = a.shape.dim(ta ? -2 : -1),
                  columns = b.shape.dim(tb ? -2 : -1);
    Shape shape = broadcast_batch(a.shape, b.shape);
    shape.push_back(rows);
    shape.push_back(columns);
    Ref c = zeros_of(shape);
    for (int64_t x = 0; x < batch_of(shape); ++x) {
      const Complex* pa = matrix(a, broadcast_matrix(a.shape, shape, x));
      const Complex* pb = matrix(b, broadcast_matrix(b.shape, shape, x));
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          Complex sum = 0;
          for (int64_t k = 0; k < inner; ++k) {
            sum += conj_if(pa[ta ? k * rows + i : i * inner + k], m.adjoint_a) *
                   conj_if(pb[tb ? j * inner + k : k * columns + j], m.adjoint_b);
          }
          matrix(c, x)[i * columns + j] = sum;
        }
      }
    }
    return std::vector<Ref>{c};
  };
}

namespace {

const std::vector<DType> kFew = {DType::kFloat32, DType::kFloat64};
const std::vector<DType> kProductTypes = {
    DType::kFloat32,   DType::kFloat64,    DType::kFloat16, DType::kBFloat16,
    DType::kComplex64, DType::kComplex128, DType::kInt32,   DType::kInt64};

OpCase product_case(const char* name, Shape a, Shape b, MatMulAttrs m = {},
                    std::vector<DType> dtypes = kFew) {
  return {.op = "MatMul",
          .name = name,
          .inputs = {{.shape = a}, {.shape = b}},
          .attrs = Attrs(attrs_ref(m)),
          .dtypes = std::move(dtypes),
          .reference = matmul_reference(m),
          .tolerance = 1e-4};
}

void add_matrix_products(CaseList& cases) {
  cases.push_back(product_case("plain", {5, 7}, {7, 9}, {}, kProductTypes));
  cases.push_back(
      product_case("transpose_a", {7, 5}, {7, 9}, {.transpose_a = true}, kProductTypes));
  cases.push_back(
      product_case("transpose_b", {5, 7}, {9, 7}, {.transpose_b = true}, kProductTypes));
  cases.push_back(product_case(
      "both", {7, 5}, {9, 7}, {.transpose_a = true, .transpose_b = true}, kProductTypes));
  cases.push_back(
      product_case("adjoint_a", {7, 5}, {7, 9}, {.adjoint_a = true}, kProductTypes));
  cases.push_back(
      product_case("adjoint_b", {5, 7}, {9, 7}, {.adjoint_b = true}, kProductTypes));
  cases.push_back(product_case("adjoint_transpose", {7, 5}, {9, 7},
                               {.transpose_b = true, .adjoint_a = true}, kProductTypes));
  cases.push_back(product_case("tiny", {2, 3}, {3, 2}, {}, kProductTypes));
  cases.push_back(product_case("batch", {4, 3, 5}, {4, 5, 6}, {}, kProductTypes));
  cases.push_back(product_case("batch_turned", {2, 2, 5, 9}, {2, 2, 6, 5},
                               {.transpose_a = true, .transpose_b = true},
                               kProductTypes));
  cases.push_back(product_case("broadcast_b", {3, 2, 4, 5}, {5, 6}, {}, kProductTypes));
  cases.push_back(product_case("broadcast_a", {5, 4}, {3, 5, 6}, {.transpose_a = true},
                               kProductTypes));
  cases.push_back(
      product_case("broadcast_both", {3, 1, 4, 9}, {1, 2, 9, 5}, {}, kProductTypes));
  cases.push_back(product_case("broadcast_ranks", {2, 1, 3, 4, 9}, {5, 1, 9, 5}));
  cases.push_back(product_case("broadcast_turned", {2, 3, 5, 4}, {6, 5},
                               {.transpose_a = true, .transpose_b = true}));
  const std::vector<DType> with_integers = {DType::kFloat32, DType::kFloat64,
                                            DType::kInt32, DType::kInt64};
  cases.push_back(product_case("row", {1, 130}, {130, 33}, {}, with_integers));
  cases.push_back(product_case("row_turned", {1, 130}, {33, 130}, {.transpose_b = true}));
  cases.push_back(product_case("column", {33, 130}, {130, 1}, {}, with_integers));
  cases.push_back(product_case("long_column", {5, 1030}, {1030, 2}, {}, with_integers));
  cases.push_back(product_case("column_turned", {130, 33}, {130, 1},
                               {.transpose_a = true}, with_integers));
  cases.push_back(product_case("column_strided", {130, 33}, {1, 130},
                               {.transpose_a = true, .transpose_b = true},
                               with_integers));
  for (const bool turned : {false, true}) {
    OpCase c = turned ? product_case("many_tiles_turned", {2, 33, 70}, {2, 130, 33},
                                     {.transpose_a = true, .transpose_b = true})
                      : product_case("many_tiles", {2, 70, 33}, {3, 1, 33, 130});
    c.dtypes = {DType::kInt32, DType::kInt64};
    c.check_gradient = false;
    cases.push_back(std::move(c));
  }
  cases.push_back(product_case("no_inner", {3, 0}, {0, 4}, {}, kProductTypes));
  cases.push_back(product_case("no_rows", {0, 3}, {3, 4}));
  cases.push_back(product_case("no_batch", {0, 2, 3}, {3, 4}));
  // Larger than one block, not a multiple of any; cut over threads.
  OpCase large = product_case("large", {131, 147}, {147, 139}, {}, kProductTypes);
  large.inputs[0].low = large.inputs[1].low = -1;
  large.inputs[0].high = large.inputs[1].high = 1;
  large.check_gradient = false;
  cases.push_back(large);
  large.name = "large_turned";
  large.inputs[0].shape = {147, 131};
  large.inputs[1].shape = {139, 147};
  large.attrs = Attrs(attrs_ref(MatMulAttrs{.transpose_a = true, .transpose_b = true}));
  large.reference = matmul_reference({.transpose_a = true, .transpose_b = true});
  cases.push_back(large);
}

void add_cross(CaseList& cases) {
  OpCase c{.op = "Cross",
           .inputs = {{.shape = {4, 3}}, {.shape = {4, 3}}},
           .dtypes = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                      DType::kInt8, DType::kInt32, DType::kInt64, DType::kInt16}};
  c.reference = [](const std::vector<Ref>& in, DType) {
    Ref out = zeros_of(in[0].shape);
    for (size_t i = 0; i < out.values.size(); i += 3) {
      const auto *a = &in[0].values[i], *b = &in[1].values[i];
      for (size_t k = 0; k < 3; ++k) {
        const size_t p = (k + 1) % 3, q = (k + 2) % 3;
        out.values[i + k] = a[p] * b[q] - a[q] * b[p];
      }
    }
    return std::vector<Ref>{out};
  };
  cases.push_back(c);
  c.name = "empty";
  c.inputs[0].shape = c.inputs[1].shape = {0, 3};
  cases.push_back(c);
}

// x with op(a)·x = b by elimination.
void solve_into(const Complex* a, bool adjoint, int64_t n, const Complex* b,
                int64_t columns, Complex* x) {
  std::vector<Complex> lu(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      lu[static_cast<size_t>(i * n + j)] =
          adjoint ? std::conj(a[j * n + i]) : a[i * n + j];
    }
  }
  int exchanges;
  const std::vector<int64_t> order = eliminate(lu, n, &exchanges);
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t i = 0; i < n; ++i) {
      Complex sum = b[order[static_cast<size_t>(i)] * columns + c];
      for (int64_t j = 0; j < i; ++j) {
        sum -= lu[static_cast<size_t>(i * n + j)] * x[j * columns + c];
      }
      x[i * columns + c] = sum;
    }
    for (int64_t i = n; i-- > 0;) {
      Complex sum = x[i * columns + c];
      for (int64_t j = i + 1; j < n; ++j) {
        sum -= lu[static_cast<size_t>(i * n + j)] * x[j * columns + c];
      }
      x[i * columns + c] = sum / lu[static_cast<size_t>(i * n + i)];
    }
  }
}

void add_solve(CaseList& cases, const char* name, Shape batch, int64_t n, int64_t columns,
               bool adjoint) {
  OpCase c;
  c.op = "MatrixSolve";
  c.name = name;
  Shape rhs = batch;
  rhs.push_back(n);
  rhs.push_back(columns);
  c.inputs = {matrix_input(batch, n, n, 3), {.shape = rhs}};
  c.attrs = Attrs(attrs_ref(linalg::AdjointAttrs{adjoint}));
  c.dtypes = kMatrixDTypes;
  c.tolerance = 1e-4;
  c.reference = [=](const std::vector<Ref>& in, DType) {
    Ref x = zeros_of(in[1].shape);
    for (int64_t i = 0; i < batch_of(in[0].shape); ++i) {
      solve_into(matrix(in[0], i), adjoint, n, matrix(in[1], i), columns, matrix(x, i));
    }
    return std::vector<Ref>{x};
  };
  cases.push_back(c);
}

void add_inverse(CaseList& cases, const char* name, Shape batch, int64_t n,
                 bool adjoint) {
  OpCase c{.op = "MatrixInverse", .name = name, .inputs = {matrix_input(batch, n, n, 3)}};
  c.attrs = Attrs(attrs_ref(linalg::AdjointAttrs{adjoint}));
  c.dtypes = kMatrixDTypes;
  c.tolerance = 1e-4;
  c.reference = [=](const std::vector<Ref>& in, DType) {
    Ref x = zeros_of(in[0].shape);
    std::vector<Complex> eye(static_cast<size_t>(n * n));
    for (int64_t i = 0; i < n; ++i) eye[static_cast<size_t>(i * n + i)] = 1;
    for (int64_t i = 0; i < batch_of(in[0].shape); ++i) {
      solve_into(matrix(in[0], i), adjoint, n, eye.data(), n, matrix(x, i));
    }
    return std::vector<Ref>{x};
  };
  cases.push_back(c);
}

// Only one triangle of the matrix is read: the other one holds random numbers.
void add_triangular(CaseList& cases, const char* name, Shape a_batch, Shape b_batch,
                    linalg::TriangularSolveAttrs attrs, int64_t n = 4,
                    int64_t columns = 3) {
  OpCase c;
  c.op = "MatrixTriangularSolve";
  c.name = name;
  Shape rhs = b_batch;
  rhs.push_back(n);
  rhs.push_back(columns);
  c.inputs = {matrix_input(a_batch, n, n, 2), {.shape = rhs}};
  c.attrs = Attrs(attrs_ref(attrs));
  c.dtypes = kMatrixDTypes;
  c.tolerance = 1e-4;
  c.reference = [=](const std::vector<Ref>& in, DType) {
    Shape shape = broadcast_batch(in[0].shape, in[1].shape);
    shape.push_back(n);
    shape.push_back(columns);
    Ref x = zeros_of(shape);
    for (int64_t i = 0; i < batch_of(shape); ++i) {
      const Complex* a = matrix(in[0], broadcast_matrix(in[0].shape, shape, i));
      std::vector<Complex> half(a, a + n * n);
      for (int64_t r = 0; r < n; ++r) {
        for (int64_t q = 0; q < n; ++q) {
          if (attrs.lower ? q > r : q < r) half[static_cast<size_t>(r * n + q)] = 0;
        }
      }
      solve_into(half.data(), attrs.adjoint, n,
                 matrix(in[1], broadcast_matrix(in[1].shape, shape, i)), columns,
                 matrix(x, i));
    }
    return std::vector<Ref>{x};
  };
  cases.push_back(c);
}

void add_determinants(CaseList& cases, const char* name, Shape batch, int64_t n) {
  OpCase c{
      .op = "MatrixDeterminant", .name = name, .inputs = {matrix_input(batch, n, n, 1)}};
  c.dtypes = kMatrixDTypes;
  c.tolerance = 1e-4;
  const auto determinant = [n](const Ref& a, int64_t i) {
    std::vector<Complex> lu(matrix(a, i), matrix(a, i) + n * n);
    int exchanges;
    eliminate(lu, n, &exchanges);
    Complex det = exchanges % 2 ? -1 : 1;
    for (int64_t k = 0; k < n; ++k) det *= lu[static_cast<size_t>(k * n + k)];
    return det;
  };
  c.reference = [=](const std::vector<Ref>& in, DType) {
    Ref out = zeros_of(in[0].shape.slice(0, in[0].shape.rank() - 2));
    for (int64_t i = 0; i < out.n(); ++i) {
      out.values[static_cast<size_t>(i)] = determinant(in[0], i);
    }
    return std::vector<Ref>{out};
  };
  // Of large matrices only the logarithm is a float.
  if (n < 100) cases.push_back(c);
  c.check_gradient = n < 100;
  c.op = "LogMatrixDeterminant";
  c.reference = [=](const std::vector<Ref>& in, DType) {
    Ref sign = zeros_of(in[0].shape.slice(0, in[0].shape.rank() - 2)), logs = sign;
    for (int64_t i = 0; i < sign.n(); ++i) {
      const Complex det = determinant(in[0], i);
      sign.values[static_cast<size_t>(i)] = det / std::abs(det);
      logs.values[static_cast<size_t>(i)] = std::log(std::abs(det));
    }
    return std::vector<Ref>{sign, logs};
  };
  cases.push_back(c);
}

}  // namespace

void add_linalg_cases(CaseList& cases) {
  add_matrix_products(cases);
  add_cross(cases);
  add_solve(cases, "plain", {}, 5, 3, false);
  add_solve(cases, "adjoint", {2, 3}, 4, 2, true);
  add_solve(cases, "empty", {2}, 0, 3, false);
  add_solve(cases, "blocked", {}, 70, 2, false);
  add_solve(cases, "large", {2}, 140, 3, false);
  add_solve(cases, "large_adjoint", {}, 135, 2, true);
  add_solve(cases, "no_columns", {2}, 3, 0, false);
  add_inverse(cases, "plain", {}, 5, false);
  add_inverse(cases, "adjoint", {3}, 4, true);
  add_inverse(cases, "large", {2}, 140, false);
  add_inverse(cases, "large_adjoint", {}, 135, true);
  add_inverse(cases, "empty", {}, 0, false);
  add_inverse(cases, "one", {2}, 1, false);
  add_triangular(cases, "lower", {}, {}, {});
  add_triangular(cases, "upper", {3}, {3}, {.lower = false});
  add_triangular(cases, "lower_adjoint", {2}, {2}, {.adjoint = true});
  add_triangular(cases, "upper_adjoint", {}, {}, {.lower = false, .adjoint = true});
  add_triangular(cases, "broadcast", {3, 1}, {2}, {});
  add_triangular(cases, "broadcast_a", {}, {2, 2}, {.lower = false});
  add_triangular(cases, "vector", {}, {}, {}, 6, 1);
  add_triangular(cases, "large", {2}, {1}, {.lower = false, .adjoint = true}, 260, 2);
  add_triangular(cases, "empty", {2}, {2}, {}, 0, 3);
  add_determinants(cases, "plain", {}, 4);
  add_determinants(cases, "batch", {2, 3}, 3);
  add_determinants(cases, "large", {2}, 130);
  add_determinants(cases, "empty", {2}, 0);
  add_decomposition_cases(cases);
}

}  // namespace tandem::testing
