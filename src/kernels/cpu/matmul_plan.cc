#include "kernels/cpu/matmul_plan.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"

namespace tandem::cpu {

MatMulPlan plan_product(const Signature& s, const MatMulAttrs& attrs) {
  MatMulPlan p{matmul_geometry(s, attrs)};
  p.threads = s.threads;
  p.element = dtype_size(s.out().dtype);
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
