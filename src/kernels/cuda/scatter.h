// Row numbers of coordinates, and the scatter that state and indexing kernels share.
#pragma once

#include "kernels/cuda/index_words.h"
#include "kernels/cuda/program.h"

namespace tandem::cuda {

/// The layout is known to device/scatter.cuh.
struct NdArgs {
  int64_t depth = 0, per_batch = 1, batch_rows = 0;
  int64_t limits[kMaxRank] = {};
};
struct NdIndex {
  Function function;
  NdArgs args;
  int64_t count = 0, num_rows = 0, row = 0;
  std::shared_ptr<ErrorSite> site;
};
NdIndex make_nd_index(const Signature& s, int indices, const Shape& params,
                      int batch_dims, const std::string& into);
void run_nd_rows(const NdIndex& nd, const LaunchArgs& a, const void* indices,
                 int64_t* rows);

/// The layout is known to device/scatter.cuh.
struct ScatterArgs {
  void* out = nullptr;
  const void* updates = nullptr;
  const int64_t* rows = nullptr;
  int64_t groups = 1, per_index = 1, count = 0, num_rows = 0, row = 1, stride = 1;
  CUdeviceptr flags = 0;
  int64_t writes_state = 0;
};
struct ScatterPlan {
  Function rows, scatter, divisors;
  bool ordered = false;
  ScatterArgs args;
  int64_t indices = 0, limit = 0;
  int64_t updates = 0;  // elements
  std::shared_ptr<ErrorSite> site;
  size_t workspace_bytes = 0;  // row numbers
};
/// `op` is the combination: "UPDATE", "ADD", …
std::string scatter_text(const std::string& op, DType dtype, DType index);
/// Finds the scatter kernel for T; `ordered` when atomics do not do or must not.
void find_scatter(const Signature& s, const std::string& op, DType dtype, DType index,
                  ScatterPlan& p);
void run_scatter(const ScatterPlan& p, const LaunchArgs& a, void* out,
                 const void* updates, const int64_t* rows);

inline int64_t dim_product(const Shape& shape, int from, int to) {
  int64_t n = 1;
  for (int i = from; i < to; ++i) n *= shape[i];
  return n;
}

}  // namespace tandem::cuda
