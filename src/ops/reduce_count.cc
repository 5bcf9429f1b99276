// Counts: bincount, histograms, variance and the small functions over reductions.
#include <fmt/format.h>

#include "ops/reduce_parts.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

int64_t known_scalar(const TensorInfo& info) {
  const bool known = info.has_value && info.value.size() == 1;
  return known && info.value[0] != kUnknownValue ? info.value[0] : kUnknownDim;
}

void infer_bincount(InferContext& c) {
  const Shape &x = c.shape(0), &weights = c.shape(2);
  c.require(!x.has_rank() || x.rank() <= 2,
            fmt::format("Shape must be at most rank 2 but is rank {}", x.rank()));
  c.require(!c.shape(1).has_rank() || c.shape(1).rank() == 0,
            fmt::format("Shape must be rank 0 but is rank {}", c.shape(1).rank()));
  const TensorInfo& size = c.input(1);
  if (size.has_value && size.value[0] != kUnknownValue && size.value[0] < 0) {
    c.fail(fmt::format("size ({}) must be non-negative", size.value[0]));
  }
  if (x.is_known() && weights.is_known() && weights.num_elements() != 0 &&
      !(x == weights)) {
    c.fail(fmt::format(
        "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in "
        "which case it acts as all weights equal to 1. Received {}",
        weights.debug_str()));
  }
  if (!x.has_rank()) {
    c.add_output(c.dtype(2), Shape::unknown());
    return;
  }
  Shape out;
  if (x.rank() == 2) out.push_back(x[0]);
  out.push_back(known_scalar(size));
  c.add_output(c.dtype(2), out);
}

// Each weight counted in one bin; those of dropped values get nothing.
void grad_bincount(GradContext& c) {
  static const OpHandle less("Less");
  const Tensor& x = c.input(0);
  const Tensor& weights = c.input(2);
  const Shape& shape_of_weights = weights.shape();
  const bool none = shape_of_weights.is_known() ? weights.num_elements() == 0
                                                : shape_of_weights.rank() != x.rank();
  if (none || c.attrs<BincountAttrs>().binary_output) {
    c.set(2, zeros_like(weights));
    return;
  }
  const Tensor size = c.input(1);
  const Tensor inside = emit(less, {x, size});
  const Tensor bin = where(inside, x, zeros_like(x));
  const int64_t batch = x.rank() == 2 ? 1 : 0;
  Tensor g = gather(c.grad(), bin, {.axis = batch, .batch_dims = batch});
  g = where(inside, g, zeros_like(g));
  if (!shape_of_weights.is_known()) {  // they may be empty
    const Tensor sizes = c.shape_of_input(2);
    g = slice(g, zeros_like(sizes), sizes);
  }
  c.set(2, g);
}

void infer_histogram(InferContext& c) {
  const DType out = c.attrs<HistogramAttrs>().dtype;
  c.require(out == DType::kInt32 || out == DType::kInt64,
            "Value for attr 'dtype' is not in the list of allowed values: int32, int64");
  const Shape& range = c.shape(1);
  c.require(!range.has_rank() || (range.rank() == 1 && (range[0] == 2 || range[0] < 0)),
            "value_range should be a vector of 2 elements.");
  c.rank(2, 0);
  const TensorInfo& bins = c.input(2);
  const int64_t n = known_scalar(bins);
  if (bins.has_value && bins.value[0] != kUnknownValue && n <= 0) {
    c.fail(fmt::format("nbins should be a positive number, but got '{}'", n));
  }
  c.add_output(out, {n});
}

}  // namespace

void register_count_ops(OpTable& table) {
  const DTypeMask numbers =
      mask(DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64);
  table.add({.name = "DenseBincount",
             .doc = "How often each small integer occurs, for a vector or for each row.",
             .types = {{'T', numbers}, {'I', kIndices}},
             .inputs = {{.name = "input", .type = 'I'},
                        {.name = "size", .type = 'I', .host = true},
                        {.name = "weights"}},
             .attrs = &attrs_type<BincountAttrs>(),
             .infer = infer_bincount,
             .gradient = grad_bincount,
             .grad_inputs = 3,
             .grad_outputs = 0,
             .effects = kMayFail});
  table.add({.name = "HistogramFixedWidth",
             .doc = "Counts of values in bins of equal width.",
             .types = {{'T', numbers}, {'N', mask(DType::kInt32)}},
             .inputs = {{.name = "values"},
                        {.name = "value_range"},
                        {.name = "nbins", .type = 'N', .host = true}},
             .attrs = &attrs_type<HistogramAttrs>(),
             .infer = infer_histogram,
             .differentiable = false,
             .effects = kMayFail});
}

Tensor bincount(const Tensor& values, const BincountOptions& options) {
  static const OpHandle op("DenseBincount");
  static const OpHandle greater("Greater");
  if (options.binary_output && options.weights.defined()) {
    throw ValueError(
        "Arguments `binary_output` and `weights` are mutually exclusive. Please specify "
        "only "
        "one.");
  }
  Tensor x = values;
  if (x.dtype() != DType::kInt32 && x.dtype() != DType::kInt64)
    x = cast(x, DType::kInt32);
  Tensor weights = options.weights;
  if (!options.per_row) {
    x = reshape(x, Shape{-1});
    if (weights.defined()) weights = reshape(weights, Shape{-1});
  }
  // One more than the largest value; 0 without values.
  const Tensor none = zeros_like(size(x, {x.dtype()}));
  const Tensor some = emit(greater, {size(x, {x.dtype()}), none});
  Tensor bins = where(some, reduce_max(x) + Scalar(1), none);
  // A negative value is an error of the op; its size must not be one before.
  bins = maximum(bins, none);
  if (options.minlength >= 0) {
    bins = maximum(bins, scalar(static_cast<long>(options.minlength), x.dtype()));
  }
  if (options.maxlength >= 0) {
    bins = minimum(bins, scalar(static_cast<long>(options.maxlength), x.dtype()));
  }
  if (!weights.defined()) weights = zeros(Shape{0}, options.dtype);
  return emit(op, {x, bins, weights}, BincountAttrs{options.binary_output});
}

Tensor histogram_fixed_width(const Tensor& values, const Tensor& value_range,
                             int64_t nbins, HistogramAttrs attrs) {
  static const OpHandle op("HistogramFixedWidth");
  return emit(op, {values, value_range, scalar(static_cast<long>(nbins), DType::kInt32)},
              attrs);
}

Tensor reduce_variance(const Tensor& x, ReduceAttrs attrs) {
  static const OpHandle real("Real"), conj("Conj");
  if (!is_floating(x.dtype()) && !is_complex(x.dtype())) {
    throw InvalidArgumentError(fmt::format(
        "reduce_variance: Input must be either real or complex. Received integer "
        "type {}. Cast it to a floating-point dtype.",
        dtype_name(x.dtype())));
  }
  if (!is_complex(x.dtype())) return mean_variance(x, attrs).variance;
  ReduceAttrs kept = attrs;
  kept.keepdims = true;
  const Tensor difference = x - reduce_mean(x, kept);
  return reduce_mean(emit(real, {difference * emit(conj, {difference})}), attrs);
}
Tensor reduce_std(const Tensor& x, ReduceAttrs attrs) {
  return sqrt(reduce_variance(x, attrs));
}

Tensor count_nonzero(const Tensor& x, ReduceAttrs attrs, DType dtype) {
  static const OpHandle not_equal("NotEqual");
  const Tensor nothing =
      x.dtype() == DType::kString ? constant("") : cast(constant(0), x.dtype());
  return reduce_sum(cast(emit(not_equal, {x, nothing}), dtype), attrs);
}
Tensor zero_fraction(const Tensor& x) {
  static const OpHandle equal("Equal");
  return reduce_mean(
      cast(emit(equal, {x, cast(constant(0), x.dtype())}), DType::kFloat32));
}

}  // namespace tandem
