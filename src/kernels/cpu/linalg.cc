#include "base/parallel.h"
#include "kernels/cpu/lapack.h"
#include "kernels/cpu/math_libraries.h"
#include "kernels/cpu/matmul_plan.h"
#include "kernels/register.h"
#include "tandem/error.h"

namespace tandem::cpu {

MatrixBatch matrix_batch(const Signature& s, int i) {
  const Shape& shape = s.in(i).shape;
  MatrixBatch b;
  b.rows = shape.dim(-2);
  b.columns = shape.dim(-1);
  for (int d = 0; d < shape.rank() - 2; ++d) b.batch *= shape[d];
  if (b.rows > INT32_MAX / 2 || b.columns > INT32_MAX / 2) {
    throw InvalidArgumentError(s.op->name + ": matrices of shape " + shape.debug_str() +
                               " are too large for LAPACK");
  }
  b.parts = static_cast<int>(std::clamp<int64_t>(b.batch, 1, s.threads));
  return b;
}

void for_each_matrix(const MatrixBatch& b, double cost, void* workspace,
                     FnRef<void(int64_t, std::byte*)> body) {
  // LAPACK does about 2 flops a nanosecond on small matrices, and a call takes about 0.2
  // µs.
  const auto grain = static_cast<int64_t>(std::max(1.0, 20e3 / (cost / 2 + 200)));
  auto* scratch = static_cast<std::byte*>(workspace);
  parallel_parts(b.batch, grain, b.parts, [&](int part, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      body(i, scratch + b.part_bytes * static_cast<size_t>(part));
    }
  });
}

void register_linalg_kernels(KernelRegistry& registry) {
  prepare_math_libraries();
  // Preferred first: tiny products without a library, then the libraries.
  register_matmul_plain(registry);
  register_matmul_tiles(registry);
  register_matmul_onednn(registry);
  register_matmul_blas(registry);
  register_cross_kernel(registry);
  register_factor_kernels(registry);
  register_solve_kernels(registry);
  register_qr_svd_kernels(registry);
  register_eigen_kernels(registry);
}

}  // namespace tandem::cpu
