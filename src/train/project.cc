#include "train/project.h"

#include "tandem/ops.h"

namespace tandem::layers {

Tensor project(const Tensor& x, const Tensor& kernel) {
  if (x.rank() == 2) return matmul(x, kernel);
  if (!x.shape().is_known()) return tensordot(x, kernel, 1);
  Shape out = x.shape();
  out.set(out.rank() - 1, kernel.dim(-1));
  return reshape(matmul(reshape(x, {-1, x.dim(-1)}), kernel), out);
}

}  // namespace tandem::layers
