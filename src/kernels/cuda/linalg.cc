#include "kernels/cuda/linalg.h"

#include <limits>

#include <fmt/format.h>

namespace tandem::cuda {

std::string linalg_text(DType dtype) {
  return std::string(device_text("prelude.cuh")) +
         fmt::format("typedef {} T;\ntypedef {} R;\n", type_text(dtype),
                     type_text(real_dtype(dtype))) +
         std::string(device_text("linalg.cuh"));
}

Function linalg_function(const Signature& s, const char* entry) {
  return find_function(s.device, "linalg", linalg_text(s.in(0).dtype), entry);
}

Matrices matrices_of(const Shape& shape) {
  Matrices m;
  m.rows = shape.dim(-2);
  m.cols = shape.dim(-1);
  for (int d = 0; d < shape.rank() - 2; ++d) m.batch *= shape[d];
  return m;
}

bool countable(const Matrices& m) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  // Workspaces are a few times as large as a matrix.
  return m.batch <= kMost && m.elements() <= kMost / 8;
}

std::byte* region_base(const LaunchArgs& a) {
  const auto at = reinterpret_cast<uintptr_t>(a.workspace);
  return reinterpret_cast<std::byte*>((at + Regions::kStep - 1) / Regions::kStep *
                                      Regions::kStep);
}

LayOut LayOut::straight(const Matrices& m) {
  LayOut l;
  l.batch = m.batch;
  l.rows = m.rows;
  l.cols = m.cols;
  l.out_matrix = l.in_matrix = m.elements();
  l.out_row = l.in_row = m.cols;
  l.in_col = 1;
  return l;
}

LayOut LayOut::from_columns(const Matrices& m, int64_t in_rows, int64_t in_matrix) {
  LayOut l = straight(m);
  l.in_matrix = in_matrix;
  l.in_row = 1;
  l.in_col = in_rows;
  return l;
}

void lay_out(const Function& f, const StreamContext& stream, const LayOut& m,
             const void* in, void* out, const int32_t* marks) {
  const int64_t total = m.batch * m.rows * m.cols;
  if (total == 0) return;
  launch(f, stream, grid_for(f, total), in, out, marks, m);
}

BatchSteps BatchSteps::plain(int64_t batch, int64_t step) {
  BatchSteps b;
  b.rank = 1;
  b.size[0] = batch;
  b.step[0] = step;
  return b;
}

BatchSteps BatchSteps::broadcast(const Shape& from, const Shape& to) {
  BatchSteps b;
  b.rank = to.rank() - 2;
  const int missing = to.rank() - from.rank();
  int64_t step = from.dim(-1) * from.dim(-2);
  for (int d = b.rank - 1; d >= 0; --d) {
    b.size[d] = to[d];
    if (d < missing) continue;
    if (from[d - missing] != 1) b.step[d] = step;
    step *= from[d - missing];
  }
  return b;
}

int64_t BatchSteps::offset(int64_t b) const {
  int64_t at = 0;
  for (int d = rank - 1; d >= 0; --d) {
    at += b % size[d] * step[d];
    b /= size[d];
  }
  return at;
}

void point_at(const Function& f, const StreamContext& stream, void* list,
              const void* base, int64_t batch, const BatchSteps& steps) {
  if (batch == 0) return;
  launch(f, stream, grid_for(f, batch), list, base, batch, steps);
}

std::shared_ptr<ErrorSite> pivot_site(std::string words) {
  return std::make_shared<ErrorSite>([words = std::move(words)](const Report& r) {
    return fmt::format("{} (Pivot {} of matrix {} is 0.)", words, r.value, r.position);
  });
}

std::shared_ptr<ErrorSite> matrix_site(std::string words) {
  return std::make_shared<ErrorSite>([words = std::move(words)](const Report& r) {
    return fmt::format("{} (Matrix {}.)", words, r.position);
  });
}

void check_marks(const Function& f, const LaunchArgs& a, const int32_t* marks,
                 int64_t batch, const ErrorSite& site) {
  if (batch == 0) return;
  launch(f, *a.stream, grid_for(f, batch), marks, batch, flags_of(a), site.id());
}

void register_linalg(Kernels& kernels) {
  register_cholesky(kernels);
  register_eigh(kernels);
  register_lu(kernels);
  register_lu_solve(kernels);
  register_qr(kernels);
  register_svd(kernels);
  register_triangular(kernels);
}

}  // namespace tandem::cuda
