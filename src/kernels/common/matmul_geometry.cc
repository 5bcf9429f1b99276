#include "kernels/common/matmul_geometry.h"

#include <algorithm>

namespace tandem {

namespace {

int64_t batch_dim(const Shape& s, int i, int rank) {
  const int at = i - (rank - (s.rank() - 2));
  return at < 0 ? 1 : s[at];
}

std::vector<BatchDim> merge_batch(const Shape& a, const Shape& b, const Shape& out) {
  std::vector<BatchDim> dims;
  const int rank = out.rank() - 2;
  for (int i = 0; i < rank; ++i) {
    if (out[i] == 1) continue;
    const BatchDim d{out[i], batch_dim(a, i, rank) != 1, batch_dim(b, i, rank) != 1};
    if (!dims.empty() && dims.back().in_a == d.in_a && dims.back().in_b == d.in_b) {
      dims.back().size *= d.size;
    } else {
      dims.push_back(d);
    }
  }
  return dims;
}

// Where the matrices of one operand begin. Regular (a stride) when it has all or none of
// the dims.
void place(const std::vector<BatchDim>& dims, bool BatchDim::* has, int64_t matrix,
           int64_t batch, int64_t& stride, std::vector<int64_t>& offsets) {
  const auto with =
      std::count_if(dims.begin(), dims.end(), [&](const BatchDim& d) { return d.*has; });
  stride = with == 0 ? 0 : matrix;
  if (with == 0 || with == static_cast<std::ptrdiff_t>(dims.size())) return;
  offsets.resize(static_cast<size_t>(batch));
  for (int64_t i = 0; i < batch; ++i) {
    int64_t rest = i, at = 0, step = matrix;
    for (size_t d = dims.size(); d-- > 0;) {
      if (dims[d].*has) {
        at += rest % dims[d].size * step;
        step *= dims[d].size;
      }
      rest /= dims[d].size;
    }
    offsets[static_cast<size_t>(i)] = at;
  }
}

}  // namespace

MatMulGeometry matmul_geometry(const Signature& s, const MatMulAttrs& attrs) {
  const Shape &a = s.in(0).shape, &b = s.in(1).shape, &out = s.out().shape;
  MatMulGeometry p;
  p.transpose_a = attrs.transpose_a || attrs.adjoint_a;
  p.transpose_b = attrs.transpose_b || attrs.adjoint_b;
  p.conjugate_a = attrs.adjoint_a && is_complex(s.in(0).dtype);
  p.conjugate_b = attrs.adjoint_b && is_complex(s.in(0).dtype);
  p.m = out.dim(-2);
  p.n = out.dim(-1);
  p.k = a.dim(p.transpose_a ? -2 : -1);
  p.batch_dims = merge_batch(a, b, out);
  for (const BatchDim& d : p.batch_dims) p.batch *= d.size;
  // One matrix b for all rows of a: the batch is just more rows.
  if (p.batch_dims.size() == 1 && !p.batch_dims[0].in_b && !p.transpose_a) {
    p.m *= p.batch;
    p.batch = 1;
    p.batch_dims.clear();
  }
  p.lda = std::max<int64_t>(1, a.dim(-1));
  p.ldb = std::max<int64_t>(1, b.dim(-1));
  if (p.batch > 1) {
    place(p.batch_dims, &BatchDim::in_a, p.m * p.k, p.batch, p.a_stride, p.a_offsets);
    place(p.batch_dims, &BatchDim::in_b, p.k * p.n, p.batch, p.b_stride, p.b_offsets);
  }
  return p;
}

}  // namespace tandem
