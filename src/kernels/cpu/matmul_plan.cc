#include "kernels/cpu/matmul_plan.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"

namespace tandem::cpu {

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

MatMulPlan plan_product(const Signature& s, const MatMulAttrs& attrs) {
  const Shape &a = s.in(0).shape, &b = s.in(1).shape, &out = s.out().shape;
  MatMulPlan p;
  p.transpose_a = attrs.transpose_a || attrs.adjoint_a;
  p.transpose_b = attrs.transpose_b || attrs.adjoint_b;
  p.conjugate_a = attrs.adjoint_a && is_complex(s.in(0).dtype);
  p.conjugate_b = attrs.adjoint_b && is_complex(s.in(0).dtype);
  p.threads = s.threads;
  p.element = dtype_size(s.out().dtype);
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

MatMulPlan plan_matmul(const Signature& s) {
  return plan_product(s, s.attrs.as<MatMulAttrs>());
}

bool finish_trivial(const MatMulPlan& p, void* out) {
  if (p.empty()) return true;
  if (p.k > 0) return false;
  std::memset(out, 0, static_cast<size_t>(p.batch * p.m * p.n) * p.element);
  return true;
}

void parallel_tiles(const MatMulPlan& p, double flops_per_us,
                    FnRef<void(const MatMulTile&)> body) {
  const double us = p.flops() / flops_per_us;
  if (p.batch >= 2 * p.threads || us < 40 || p.threads == 1) {
    const auto grain = static_cast<int64_t>(std::max(1.0, 20 / std::max(us, 1e-3)));
    parallel_for(p.batch, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body({i, 0, p.m, 0, p.n});
    });
    return;
  }
  // Few large products: each is cut along its longer side, at multiples of 16.
  const bool by_rows = p.m >= p.n;
  const int64_t length = by_rows ? p.m : p.n;
  const auto wanted = std::min<int64_t>(p.threads, static_cast<int64_t>(us / 20));
  const int64_t share = (length + wanted - 1) / wanted;
  const int64_t step = (share + 15) / 16 * 16;
  const int64_t cuts = (length + step - 1) / step;
  parallel_for(p.batch * cuts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t from = i % cuts * step, size = std::min(step, length - from);
      body(by_rows ? MatMulTile{i / cuts, from, size, 0, p.n}
                   : MatMulTile{i / cuts, 0, p.m, from, size});
    }
  });
}

}  // namespace tandem::cpu
