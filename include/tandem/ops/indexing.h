// Reading and writing by index: gather, scatter, one-hot, masks, partitions, unique
// values. Indices are int32 or int64. An index out of range throws InvalidArgumentError
// that names its position and value, before anything is written.
#pragma once

#include <vector>

#include "tandem/ops/attrs.h"
#include "tandem/tensor.h"
#include "tandem/variable.h"

namespace tandem {

struct GatherAttrs {
  int64_t axis = 0;
  int64_t batch_dims = 0;
  TANDEM_ATTRS(GatherAttrs, axis, batch_dims)
};
/// Slices of `params` along `axis`; with batch_dims and no axis, along the first
/// dimension after them. The gradient along axis 0 is IndexedSlices.
Tensor gather(const Tensor& params, const Tensor& indices, GatherAttrs attrs = {});

/// Leading dimensions that params and indices have in common.
struct BatchDimsAttrs {
  int64_t batch_dims = 0;
  TANDEM_ATTRS(BatchDimsAttrs, batch_dims)
};
/// Slices of `params` at the coordinates in the last dimension of `indices`.
Tensor gather_nd(const Tensor& params, const Tensor& indices, BatchDimsAttrs attrs = {});

/// out[…, j, …] = x[…, indices[…, j, …], …]: one index per element along `axis`; both
/// tensors have one rank and, but for `axis`, the same dimensions. Negative indices count
/// from the end.
Tensor take_along_axis(const Tensor& x, const Tensor& indices, AxisAttrs attrs = {-1});

/// A tensor of that shape with `updates` added up at `indices`, zero elsewhere.
Tensor scatter_nd(const Tensor& indices, const Tensor& updates, const Tensor& shape,
                  BatchDimsAttrs attrs = {});
Tensor scatter_nd(const Tensor& indices, const Tensor& updates, const Shape& shape,
                  BatchDimsAttrs attrs = {});
/// `tensor` with slices replaced by (combined with) `updates`. Of updates with equal
/// indices the last one replaces; all of them add, subtract, take part in the minimum or
/// maximum.
Tensor tensor_scatter_nd_update(const Tensor& tensor, const Tensor& indices,
                                const Tensor& updates);
Tensor tensor_scatter_nd_add(const Tensor& tensor, const Tensor& indices,
                             const Tensor& updates);
Tensor tensor_scatter_nd_sub(const Tensor& tensor, const Tensor& indices,
                             const Tensor& updates);
Tensor tensor_scatter_nd_min(const Tensor& tensor, const Tensor& indices,
                             const Tensor& updates);
Tensor tensor_scatter_nd_max(const Tensor& tensor, const Tensor& indices,
                             const Tensor& updates);

/// on_value where the new axis' position equals the index, else off_value; indices
/// outside [0, depth) give off_value everywhere.
Tensor one_hot(const Tensor& indices, int64_t depth, AxisAttrs attrs = {-1},
               DType dtype = DType::kFloat32);
Tensor one_hot(const Tensor& indices, const Tensor& depth, const Tensor& on_value,
               const Tensor& off_value, AxisAttrs attrs = {-1});

/// Coordinates of the elements that are true (not zero), as int64 [count, rank].
Tensor where(const Tensor& condition);
/// The parts of `tensor` at which `mask` is true; mask's dimensions are tensor's from
/// `axis` on.
Tensor boolean_mask(const Tensor& tensor, const Tensor& mask, AxisAttrs attrs = {});

struct UniqueAttrs {
  DType out_idx = DType::kInt32;
  TANDEM_ATTRS(UniqueAttrs, out_idx)
};
struct UniqueResult {
  Tensor y;      // distinct values in the order in which they first appear
  Tensor idx;    // for each value of x its place in y
  Tensor count;  // how often each appears; only from unique_with_counts
};
/// Distinct values of a vector.
UniqueResult unique(const Tensor& x, UniqueAttrs attrs = {});
UniqueResult unique_with_counts(const Tensor& x, UniqueAttrs attrs = {});
/// Distinct slices along an axis.
UniqueResult unique(const Tensor& x, AxisAttrs axis, UniqueAttrs attrs = {});
UniqueResult unique_with_counts(const Tensor& x, AxisAttrs axis, UniqueAttrs attrs = {});

struct DynamicPartitionAttrs {
  int64_t num_partitions = 1;
  TANDEM_ATTRS(DynamicPartitionAttrs, num_partitions)
};
/// Slices of `data`, each in the list that `partitions` says.
std::vector<Tensor> dynamic_partition(const Tensor& data, const Tensor& partitions,
                                      DynamicPartitionAttrs attrs);
/// The inverse: result[indices[m][i…]] = data[m][i…]; a later one replaces an earlier
/// one. Rows that no index names are zero.
Tensor dynamic_stitch(const std::vector<Tensor>& indices,
                      const std::vector<Tensor>& data);

namespace nn {

struct EmbeddingLookupOptions {
  /// Rows longer than this (2-norm) are scaled down to it; 0: never.
  double max_norm = 0;
};
/// Rows `ids` of the table `params`; the gradient is IndexedSlices.
Tensor embedding_lookup(const Tensor& params, const Tensor& ids,
                        EmbeddingLookupOptions options = {});
/// The same without reading all of the variable.
Tensor embedding_lookup(const Variable& params, const Tensor& ids,
                        EmbeddingLookupOptions options = {});

}  // namespace nn

}  // namespace tandem
