// Reductions over axes, scans, segments and counts. Sums of float16 and bfloat16 add up
// in float32. Results do not depend on the number of threads.
#pragma once

#include "tandem/ops/attrs.h"
#include "tandem/tensor.h"

namespace tandem {

// ---- Reductions over axes -----------------------------------------------------------

struct ReduceAttrs {
  Ints axis = {};  // empty: all axes (unless no_axes)
  bool keepdims = false;
  bool no_axes = false;  // an explicit empty list: reduce nothing
  TANDEM_ATTRS(ReduceAttrs, axis, keepdims, no_axes)
};
/// Sum and product of elements; 0 and 1 of none. Integers wrap around.
Tensor reduce_sum(const Tensor& x, ReduceAttrs attrs = {});
Tensor reduce_prod(const Tensor& x, ReduceAttrs attrs = {});
/// Arithmetic mean; of integers rounded toward zero, of no elements NaN.
Tensor reduce_mean(const Tensor& x, ReduceAttrs attrs = {});
/// Largest and smallest element; NaN when one is. Of none: the lowest and highest value
/// of the dtype. Equal extremes share the gradient.
Tensor reduce_max(const Tensor& x, ReduceAttrs attrs = {});
Tensor reduce_min(const Tensor& x, ReduceAttrs attrs = {});
/// Logical or, and.
Tensor reduce_any(const Tensor& x, ReduceAttrs attrs = {});
Tensor reduce_all(const Tensor& x, ReduceAttrs attrs = {});
/// sqrt(sum(|x|²)).
Tensor reduce_euclidean_norm(const Tensor& x, ReduceAttrs attrs = {});
/// log(sum(exp(x))) without overflow.
Tensor reduce_logsumexp(const Tensor& x, ReduceAttrs attrs = {});

/// Mean and population variance in one pass over the data.
struct MeanVariance {
  Tensor mean;
  Tensor variance;
};
MeanVariance mean_variance(const Tensor& x, ReduceAttrs attrs = {});
/// Population variance, and its square root. Real for complex x.
Tensor reduce_variance(const Tensor& x, ReduceAttrs attrs = {});
Tensor reduce_std(const Tensor& x, ReduceAttrs attrs = {});

/// Number of elements that are not zero (for strings: not empty).
Tensor count_nonzero(const Tensor& x, ReduceAttrs attrs = {},
                     DType dtype = DType::kInt64);
/// Share of elements that are zero, as float32.
Tensor zero_fraction(const Tensor& x);
/// sum(x²) / 2.
Tensor l2_loss(const Tensor& x);

/// x summed down to the shape of `like`, the inverse of broadcasting; only the shape of
/// `like` is looked at (op SumLike). What gradients of broadcasting ops use.
Tensor sum_like(const Tensor& x, const Tensor& like);

struct ArgAttrs {
  int64_t axis = 0;
  DType output_type = DType::kInt64;
  TANDEM_ATTRS(ArgAttrs, axis, output_type)
};
/// Index of the largest (smallest) element along an axis, the first of equals; NaNs do
/// not count.
Tensor argmax(const Tensor& x, ArgAttrs attrs = {});
Tensor argmin(const Tensor& x, ArgAttrs attrs = {});

// ---- Scans --------------------------------------------------------------------------

struct ScanAttrs {
  int64_t axis = 0;
  bool exclusive = false;  // element i is the result of those before it
  bool reverse = false;    // from the last element to the first
  TANDEM_ATTRS(ScanAttrs, axis, exclusive, reverse)
};
/// Running sum, product and log(sum(exp)) along an axis.
Tensor cumsum(const Tensor& x, ScanAttrs attrs = {});
Tensor cumprod(const Tensor& x, ScanAttrs attrs = {});
Tensor cumulative_logsumexp(const Tensor& x, ScanAttrs attrs = {});

struct RecurrenceAttrs {
  int64_t axis = 0;
  bool reverse = false;
  TANDEM_ATTRS(RecurrenceAttrs, axis, reverse)
};
/// y[i] = a[i] * y[i - 1] + b[i] along an axis, y before the first element being 0:
/// moving averages, discounted sums, gradients of running products. a and b have one
/// shape.
Tensor linear_recurrence(const Tensor& a, const Tensor& b, RecurrenceAttrs attrs = {});
/// y[i] = x[i - 1] along an axis (x[i + 1] with `reverse`), 0 at the end that is left
/// open.
Tensor shift_by_one(const Tensor& x, RecurrenceAttrs attrs = {});

// ---- Segments -----------------------------------------------------------------------

/// Rows of `data` with one id are reduced into the row of that number. `segment_ids` [n]
/// is sorted; the result has as many rows as the last id says. Rows without an id are 0
/// (1 for the product).
Tensor segment_sum(const Tensor& data, const Tensor& segment_ids);
Tensor segment_mean(const Tensor& data, const Tensor& segment_ids);
Tensor segment_prod(const Tensor& data, const Tensor& segment_ids);
Tensor segment_min(const Tensor& data, const Tensor& segment_ids);
Tensor segment_max(const Tensor& data, const Tensor& segment_ids);

/// The same for ids in any order. data.shape starts with segment_ids.shape; negative ids
/// are dropped. Rows without an id are 0, 1, the highest and the lowest finite value for
/// sum, product, min and max.
Tensor unsorted_segment_sum(const Tensor& data, const Tensor& segment_ids,
                            const Tensor& num_segments);
Tensor unsorted_segment_prod(const Tensor& data, const Tensor& segment_ids,
                             const Tensor& num_segments);
Tensor unsorted_segment_min(const Tensor& data, const Tensor& segment_ids,
                            const Tensor& num_segments);
Tensor unsorted_segment_max(const Tensor& data, const Tensor& segment_ids,
                            const Tensor& num_segments);
/// Sums divided by the number of rows, and by its square root.
Tensor unsorted_segment_mean(const Tensor& data, const Tensor& segment_ids,
                             const Tensor& num_segments);
Tensor unsorted_segment_sqrt_n(const Tensor& data, const Tensor& segment_ids,
                               const Tensor& num_segments);

/// segment_sum of the rows `indices` of `data`, without gathering them first; mean
/// divides by the number of rows, sqrt_n by its square root. With `num_segments` (may be
/// undefined) the result has that many rows.
Tensor sparse_segment_sum(const Tensor& data, const Tensor& indices,
                          const Tensor& segment_ids, const Tensor& num_segments = {});
Tensor sparse_segment_mean(const Tensor& data, const Tensor& indices,
                           const Tensor& segment_ids, const Tensor& num_segments = {});
Tensor sparse_segment_sqrt_n(const Tensor& data, const Tensor& indices,
                             const Tensor& segment_ids, const Tensor& num_segments = {});

// ---- Counts -------------------------------------------------------------------------

struct BincountAttrs {
  bool binary_output = false;
  TANDEM_ATTRS(BincountAttrs, binary_output)
};
struct BincountOptions {
  Tensor weights = {};          // undefined: every value counts 1
  int64_t minlength = -1;       // at least so many bins; -1: no bound
  int64_t maxlength = -1;       // at most so many: larger values are left out
  DType dtype = DType::kInt32;  // of the counts when there are no weights
  bool per_row = false;         // TensorFlow's axis=-1: bins for each row of a matrix
  bool binary_output = false;   // 1 where a value is there at all
};
/// How often each of 0, 1, 2 … occurs among integers.
Tensor bincount(const Tensor& values, const BincountOptions& options = {});

struct HistogramAttrs {
  DType dtype = DType::kInt32;
  TANDEM_ATTRS(HistogramAttrs, dtype)
};
/// Counts of values in `nbins` equal bins over value_range = [low, high]; what lies
/// outside counts in the first or last bin.
Tensor histogram_fixed_width(const Tensor& values, const Tensor& value_range,
                             int64_t nbins = 100, HistogramAttrs attrs = {});

}  // namespace tandem
