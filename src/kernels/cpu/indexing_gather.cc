// GatherV2, ResourceGather, GatherNd, TakeAlongAxis. dtypes: all, by element size.
#include <algorithm>
#include <atomic>
#include <cstring>

#include <fmt/format.h>

#include "base/parallel.h"
#include "kernels/cpu/indexing_common.h"
#include "kernels/cpu/indexing_families.h"
#include "tandem/error.h"
#include "tandem/ops/indexing.h"

namespace tandem::cpu {

namespace {

// ---- GatherV2
// ---------------------------------------------------------------------------------
// params [batch, outer, axis, row], indices [batch, n] → [batch, outer, n, row].
struct GatherPlan {
  IndexCheck check;
  DType dtype = DType::kInvalid;
  int64_t groups = 0;  // batch * outer
  int64_t outer = 0;
  int64_t axis = 0;
  int64_t n = 0;
  int64_t row = 0;
};

GatherPlan make_gather(const Signature& s, int axis, int batch_dims) {
  const Shape& params = s.in(0).shape;
  const Shape& indices = s.in(1).shape;
  GatherPlan p;
  p.check = {.op = s.op->name.c_str(),
             .dtype = s.in(1).dtype,
             .shape = indices,
             .limit = params[axis]};
  p.dtype = s.in(0).dtype;
  p.outer = dim_product(params, batch_dims, axis);
  p.groups = dim_product(params, 0, axis);
  p.axis = params[axis];
  p.n = dim_product(indices, batch_dims, indices.rank());
  p.row = dim_product(params, axis + 1, params.rank());
  return p;
}

GatherPlan prepare_gather(const Signature& s) {
  const auto& attrs = s.attrs.as<GatherAttrs>();
  const int rank = s.in(0).shape.rank();
  const int rank_indices = s.in(1).shape.rank();
  const auto axis = static_cast<int>(attrs.axis < 0 ? attrs.axis + rank : attrs.axis);
  const auto batch_dims = static_cast<int>(
      attrs.batch_dims < 0 ? attrs.batch_dims + rank_indices : attrs.batch_dims);
  return make_gather(s, axis, batch_dims);
}
GatherPlan prepare_resource_gather(const Signature& s) { return make_gather(s, 0, 0); }

// Rows [begin, end) of the output, counted over all groups.
template <class I, class Copy>
void gather_range(const GatherPlan& p, const I* indices, int64_t begin, int64_t end,
                  Copy&& copy) {
  int64_t group = begin / p.n;
  int64_t j = begin % p.n;
  for (int64_t r = begin; r < end; ++group, j = 0) {
    const I* index = indices + group / p.outer * p.n;
    const int64_t base = group * p.axis;
    const int64_t stop = std::min(p.n, j + (end - r));
    copy(r, base, index + j, stop - j);
    r += stop - j;
  }
}

template <class E, class I>
void gather_elements(const GatherPlan& p, const E* params, const I* indices, E* out) {
  parallel_for(p.groups * p.n, copy_grain(8 + p.row * static_cast<int64_t>(sizeof(E))),
               [&](int64_t begin, int64_t end) {
                 gather_range(p, indices, begin, end,
                              [&](int64_t r, int64_t base, const I* index, int64_t n) {
                                for (int64_t k = 0; k < n; ++k) {
                                  std::copy_n(params + (base + index[k]) * p.row, p.row,
                                              out + (r + k) * p.row);
                                }
                              });
               });
}

template <class E, class I>
void gather_single(const GatherPlan& p, const E* params, const I* indices, E* out) {
  parallel_for(p.groups * p.n, copy_grain(8 + static_cast<int64_t>(sizeof(E))),
               [&](int64_t begin, int64_t end) {
                 gather_range(p, indices, begin, end,
                              [&](int64_t r, int64_t base, const I* index, int64_t n) {
                                const E* from = params + base;
                                for (int64_t k = 0; k < n; ++k)
                                  out[r + k] = from[index[k]];
                              });
               });
}

template <class I>
void gather_bytes(const GatherPlan& p, const std::byte* params, const I* indices,
                  std::byte* out) {
  const size_t bytes = static_cast<size_t>(p.row) * dtype_size(p.dtype);
  parallel_for(
      p.groups * p.n, copy_grain(static_cast<int64_t>(bytes) + 16),
      [&](int64_t begin, int64_t end) {
        gather_range(
            p, indices, begin, end,
            [&](int64_t r, int64_t base, const I* index, int64_t n) {
              constexpr int64_t kAhead = 8;
              const std::byte* from = params + static_cast<size_t>(base) * bytes;
              std::byte* to = out + static_cast<size_t>(r) * bytes;
              for (int64_t k = 0; k < n; ++k, to += bytes) {
                if (k + kAhead < n) {
                  __builtin_prefetch(from +
                                     static_cast<size_t>(index[k + kAhead]) * bytes);
                }
                std::memcpy(to, from + static_cast<size_t>(index[k]) * bytes, bytes);
              }
            });
      });
}

void launch_gather(const GatherPlan& p, const LaunchArgs& a) {
  check_indices(p.check, a.in<void>(1));
  if (p.groups * p.n == 0 || p.row == 0) return;
  by_index(p.check.dtype, [&]<class I>(std::type_identity<I>) {
    if (p.row > 1 && p.dtype != DType::kString) {
      gather_bytes(p, a.in<std::byte>(0), a.in<I>(1), a.out<std::byte>());
      return;
    }
    by_element(p.dtype, [&]<class E>(std::type_identity<E>) {
      if (p.row == 1) {
        gather_single(p, a.in<E>(0), a.in<I>(1), a.out<E>());
      } else {
        gather_elements(p, a.in<E>(0), a.in<I>(1), a.out<E>());
      }
    });
  });
}

// ---- GatherNd
// ---------------------------------------------------------------------------------
struct GatherNdPlan {
  NdIndex nd;
  DType dtype = DType::kInvalid;
  size_t workspace_bytes = 0;  // row numbers
};

GatherNdPlan prepare_gather_nd(const Signature& s) {
  GatherNdPlan p;
  p.nd = make_nd_index(s, 1, s.in(0).shape,
                       static_cast<int>(s.attrs.as<BatchDimsAttrs>().batch_dims));
  p.nd.into = "param shape";
  p.dtype = s.in(0).dtype;
  p.workspace_bytes = static_cast<size_t>(p.nd.count) * sizeof(int64_t);
  return p;
}

void launch_gather_nd(const GatherNdPlan& p, const LaunchArgs& a) {
  auto* rows = static_cast<int64_t*>(a.workspace);
  nd_rows(p.nd, a.in<void>(1), rows);
  gather_rows(p.dtype, a.out<void>(), a.in<void>(0), rows, p.nd.count, p.nd.row);
}

// ---- TakeAlongAxis
// ----------------------------------------------------------------------------
struct TakePlan {
  IndexCheck check;
  DType dtype = DType::kInvalid;
  int64_t outer = 0, axis = 0, n = 0, inner = 0;
};

TakePlan prepare_take(const Signature& s) {
  const Shape& x = s.in(0).shape;
  const int64_t a = s.attrs.as<AxisAttrs>().axis;
  const auto axis = static_cast<int>(a < 0 ? a + x.rank() : a);
  TakePlan p;
  p.check = {.op = s.op->name.c_str(),
             .dtype = s.in(1).dtype,
             .shape = s.in(1).shape,
             .limit = x[axis]};
  p.dtype = s.in(0).dtype;
  p.outer = dim_product(x, 0, axis);
  p.axis = x[axis];
  p.n = s.in(1).shape[axis];
  p.inner = dim_product(x, axis + 1, x.rank());
  return p;
}

template <class E, class I>
void take(const TakePlan& p, const E* x, const I* indices, E* out) {
  const int64_t per_outer = p.n * p.inner;
  std::atomic<bool> bad{false};
  // Lines of `inner` elements: a line reads one index per element.
  parallel_for(p.outer * p.n, std::max<int64_t>(1, 8192 / p.inner),
               [&](int64_t begin, int64_t end) {
                 for (int64_t line = begin; line < end; ++line) {
                   const int64_t o = line * p.inner / per_outer;
                   const E* from = x + o * p.axis * p.inner;
                   const I* index = indices + line * p.inner;
                   E* to = out + line * p.inner;
                   for (int64_t i = 0; i < p.inner; ++i) {
                     int64_t k = index[i];
                     k += k < 0 ? p.axis : 0;
                     if (static_cast<uint64_t>(k) >= static_cast<uint64_t>(p.axis)) {
                       bad.store(true, std::memory_order_relaxed);
                       return;
                     }
                     to[i] = from[k * p.inner + i];
                   }
                 }
               });
  if (!bad) return;
  for (int64_t at = 0;; ++at) {
    const auto k = static_cast<int64_t>(indices[at]);
    if (k < -p.axis || k >= p.axis) {
      throw InvalidArgumentError(
          fmt::format("{}: indices has the value {}, which is not in [{}, {})",
                      p.check.op, k, -p.axis, p.axis));
    }
  }
}

void launch_take(const TakePlan& p, const LaunchArgs& a) {
  if (p.outer * p.n * p.inner == 0) return;
  by_index(p.check.dtype, [&]<class I>(std::type_identity<I>) {
    by_element(p.dtype, [&]<class E>(std::type_identity<E>) {
      take(p, a.in<E>(0), a.in<I>(1), a.out<E>());
    });
  });
}

}  // namespace

void register_gather_kernels(KernelRegistry& r) {
  r.add(make_kernel<prepare_gather, launch_gather>("GatherV2", "cpu.gather"));
  r.add(make_kernel<prepare_resource_gather, launch_gather>("ResourceGather",
                                                            "cpu.resource_gather"));
  r.add(make_kernel<prepare_gather_nd, launch_gather_nd>("GatherNd", "cpu.gather_nd"));
  r.add(make_kernel<prepare_take, launch_take>("TakeAlongAxis", "cpu.take_along_axis"));
}

}  // namespace tandem::cpu
