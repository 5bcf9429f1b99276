// Segments: rows with one id reduced into one row; sorted, unsorted and sparse forms.
#include <fmt/format.h>

#include "ops/reduce_parts.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

// ---- Inference ----------------------------------------------------------------------

void check_ids(const InferContext& c, int ids) {
  c.require(!c.shape(0).has_rank() || c.shape(0).rank() >= 1,
            "input must be at least rank 1");
  c.require(!c.shape(ids).has_rank() || c.shape(ids).rank() == 1,
            fmt::format("segment_ids should be a vector. Its shape is {}",
                        c.shape(ids).debug_str()));
}

// [rows] + the dimensions of `data` from `skip` on.
Shape rows_shape(int64_t rows, const Shape& data, int skip) {
  if (!data.has_rank()) return Shape::unknown();
  Shape out{rows};
  for (int i = skip; i < data.rank(); ++i) out.push_back(data[i]);
  return out;
}

void infer_segment(InferContext& c) {
  check_ids(c, 1);
  const Shape &data = c.shape(0), &ids = c.shape(1);
  if (data.has_rank() && ids.has_rank() && data[0] >= 0 && ids[0] >= 0 &&
      data[0] != ids[0]) {
    c.fail(fmt::format(
        "segment_ids should be the same size as dimension 0 of input. Got {} ids "
        "for shape {}",
        ids[0], data.debug_str()));
  }
  c.add_output(c.dtype(0), rows_shape(kUnknownDim, data, 1));
}

// A number of segments as far as known.
int64_t segment_count(const InferContext& c, int input) {
  const TensorInfo& n = c.input(input);
  c.rank(input, 0);
  if (!n.has_value || n.value.empty() || n.value[0] == kUnknownValue) return kUnknownDim;
  if (n.value[0] < 0) {
    c.fail(fmt::format("Input num_segments == {} must not be negative.", n.value[0]));
  }
  return n.value[0];
}

void infer_unsorted(InferContext& c) {
  const Shape &data = c.shape(0), &ids = c.shape(1);
  const int64_t rows = segment_count(c, 2);
  if (!data.has_rank() || !ids.has_rank()) {
    c.add_output(c.dtype(0), Shape::unknown());
    return;
  }
  if (ids.rank() > data.rank() || !data.slice(0, ids.rank()).compatible_with(ids)) {
    c.fail(fmt::format("data.shape = {} does not start with segment_ids.shape = {}",
                       data.debug_str(), ids.debug_str()));
  }
  c.add_output(c.dtype(0), rows_shape(rows, data, ids.rank()));
}

void infer_sparse_segment(InferContext& c) {
  check_ids(c, 2);
  c.require(!c.shape(1).has_rank() || c.shape(1).rank() == 1,
            "indices should be a vector.");
  if (!c.shape(1).compatible_with(c.shape(2))) {
    c.fail(fmt::format("segment_ids and indices should have same size. Got {} and {}",
                       c.shape(2).debug_str(), c.shape(1).debug_str()));
  }
  const bool given = c.num_inputs() > 3 && c.dtype(3) != DType::kInvalid;
  c.add_output(c.dtype(0),
               rows_shape(given ? segment_count(c, 3) : kUnknownDim, c.shape(0), 1));
}

// ---- Gradients ----------------------------------------------------------------------

Tensor equal_to(const Tensor& x, const Tensor& y) {
  static const OpHandle op("Equal");
  return emit(op, {x, y});
}

// x, whose dimensions are the first of `like`'s, with dimensions of size 1 for the
// others.
Tensor pad_rank(const Tensor& x, const Tensor& like) {
  if (like.shape().has_rank() && x.shape().has_rank()) {
    Tensor y = x;
    for (int i = x.rank(); i < like.rank(); ++i) y = expand_dims(y, -1);
    return y;
  }
  const Tensor size_of_x = shape(x);
  const Tensor rest = slice(shape(like), reshape(rank(x), Shape{1}), constant({-1}));
  return reshape(x, concat({size_of_x, ones_like(rest)}, {0}));
}

Tensor ones_for(const Tensor& ids, DType dtype) { return cast(ones_like(ids), dtype); }

// What the sorted and the unsorted forms do differently.
struct Segments {
  Tensor ids, count;  // count undefined: sorted
  Tensor positive;    // unsorted: which ids count, in the rank of the data

  Segments(const GradContext& c, int ids_input) : ids(c.input(ids_input)) {
    if (c.num_inputs() <= ids_input + 1) return;
    static const OpHandle greater_equal("GreaterEqual");
    count = c.input(ids_input + 1);
    positive = pad_rank(emit(greater_equal, {ids, zeros_like(ids)}), c.input(0));
  }
  Tensor sum(const Tensor& rows) const {
    return count.defined() ? unsorted_segment_sum(rows, ids, count)
                           : segment_sum(rows, ids);
  }
  Tensor product(const Tensor& rows) const {
    return count.defined() ? unsorted_segment_prod(rows, ids, count)
                           : segment_prod(rows, ids);
  }
  /// Row ids[i] for each i; 0 for dropped ids.
  Tensor spread(const Tensor& rows) const {
    if (!count.defined()) return gather(rows, ids);
    if (rows.shape().has_rank() && rows.shape()[0] == 0) {  // every id is dropped
      return fill(concat({shape(ids), slice(shape(rows), {1}, {-1})}, {0}),
                  cast(constant(0), rows.dtype()));
    }
    const Tensor found = gather(rows, maximum(ids, zeros_like(ids)));
    return where(positive, found, zeros_like(found));
  }
};

void grad_segment_sum(GradContext& c) { c.set(0, Segments(c, 1).spread(c.grad())); }

void grad_segment_mean(GradContext& c) {
  const Segments segments(c, 1);
  const Tensor g = c.grad();
  const Tensor counts = segments.sum(ones_for(segments.ids, g.dtype()));
  c.set(0, segments.spread(g / pad_rank(counts, g)));
}

// Equal extremes of a segment share its gradient.
void grad_segment_extreme(GradContext& c) {
  static const OpHandle logical_and("LogicalAnd");
  const Segments segments(c, 1);
  const Tensor& x = c.input(0);
  Tensor chosen = equal_to(x, segments.spread(c.output(0)));
  if (segments.positive.defined())
    chosen = emit(logical_and, {chosen, segments.positive});
  const Tensor number = segments.sum(cast(chosen, x.dtype()));
  const Tensor share = segments.spread(c.grad() / number);
  c.set(0, where(chosen, share, zeros_like(share)));
}

// The product of the others: of the elements that are not zero where x is, else out / x.
void grad_segment_prod(GradContext& c) {
  static const OpHandle greater("Greater");
  const Segments segments(c, 1);
  const Tensor x = conj(c.input(0));
  const Tensor out = conj(c.output(0));
  const Tensor one = ones_like(x);
  const Tensor zero = equal_to(x, zeros_like(x));
  const Tensor zeros = segments.sum(cast(zero, DType::kInt32));
  Tensor g = c.grad();
  g = where(emit(greater, {zeros, ones_like(zeros)}), zeros_like(g), g);
  const Tensor safe = where(zero, one, x);
  const Tensor others =
      where(zero, segments.spread(segments.product(safe)), segments.spread(out) / safe);
  c.set(0, segments.spread(g) * others);
}

void grad_sparse_segment(GradContext& c, bool mean) {
  const Tensor &indices = c.input(1), &ids = c.input(2);
  Tensor g = c.grad();
  if (mean) {
    const Tensor rows = slice(shape(g), {0}, {1});
    const Tensor counts =
        unsorted_segment_sum(ones_for(ids, g.dtype()), ids, reshape(rows, Shape{}));
    g = g / pad_rank(maximum(counts, ones_like(counts)), g);
  }
  const Tensor rows = reshape(slice(c.shape_of_input(0), {0}, {1}), Shape{});
  c.set(0, unsorted_segment_sum(gather(g, ids), indices, rows));
}
void grad_sparse_sum(GradContext& c) { grad_sparse_segment(c, false); }
void grad_sparse_mean(GradContext& c) { grad_sparse_segment(c, true); }

// ---- Definitions --------------------------------------------------------------------

OpDef segment(const char* name, const char* doc, DTypeMask types,
              void (*gradient)(GradContext&), uint32_t grad_inputs,
              uint32_t grad_outputs) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {{'T', types}, {'I', kIndices}};
  def.inputs = {{.name = "data"}, {.name = "segment_ids", .type = 'I'}};
  def.infer = infer_segment;
  def.gradient = gradient;
  def.grad_inputs = grad_inputs;
  def.grad_outputs = grad_outputs;
  def.dynamic = true;
  def.effects = kMayFail;
  return def;
}

OpDef unsorted(const char* name, const char* doc, DTypeMask types,
               void (*gradient)(GradContext&), uint32_t grad_inputs,
               uint32_t grad_outputs) {
  OpDef def = segment(name, doc, types, gradient, grad_inputs, grad_outputs);
  def.types.push_back({'N', kIndices});
  def.inputs.push_back({.name = "num_segments", .type = 'N', .host = true});
  def.infer = infer_unsorted;
  def.dynamic = false;
  return def;
}

OpDef sparse(const char* name, const char* doc, void (*gradient)(GradContext&)) {
  OpDef def = segment(name, doc, kFloats, gradient, 6, 0);
  def.types = {{'T', kFloats}, {'I', kIndices}, {'S', kIndices}, {'N', kIndices}};
  def.inputs = {{.name = "data"},
                {.name = "indices", .type = 'I'},
                {.name = "segment_ids", .type = 'S'},
                {.name = "num_segments", .type = 'N', .host = true, .optional = true}};
  def.infer = infer_sparse_segment;
  return def;
}

}  // namespace

void register_segment_ops(OpTable& table) {
  table.add(segment("SegmentSum", "Sums of rows with equal, sorted ids.", kNumbers,
                    grad_segment_sum, 2, 0));
  table.add(segment("SegmentMean", "Means of rows with equal, sorted ids.", kNumbers,
                    grad_segment_mean, 2, 0));
  table.add(segment("SegmentProd", "Products of rows with equal, sorted ids.", kNumbers,
                    grad_segment_prod, 3, 1));
  table.add(segment("SegmentMin", "Smallest of rows with equal, sorted ids.", kReals,
                    grad_segment_extreme, 3, 1));
  table.add(segment("SegmentMax", "Largest of rows with equal, sorted ids.", kReals,
                    grad_segment_extreme, 3, 1));
  table.add(unsorted("UnsortedSegmentSum", "Sums of rows with equal ids.", kNumbers,
                     grad_segment_sum, 6, 0));
  table.add(unsorted("UnsortedSegmentProd", "Products of rows with equal ids.", kNumbers,
                     grad_segment_prod, 7, 1));
  table.add(unsorted("UnsortedSegmentMin", "Smallest of rows with equal ids.", kReals,
                     grad_segment_extreme, 7, 1));
  table.add(unsorted("UnsortedSegmentMax", "Largest of rows with equal ids.", kReals,
                     grad_segment_extreme, 7, 1));
  table.add(sparse("SparseSegmentSum", "SegmentSum of chosen rows.", grad_sparse_sum));
  table.add(sparse("SparseSegmentMean", "SegmentMean of chosen rows.", grad_sparse_mean));
}

#define TANDEM_SEGMENT(function, name)                             \
  Tensor function(const Tensor& data, const Tensor& segment_ids) { \
    static const OpHandle op(name);                                \
    return emit(op, {data, segment_ids});                          \
  }
TANDEM_SEGMENT(segment_sum, "SegmentSum")
TANDEM_SEGMENT(segment_mean, "SegmentMean")
TANDEM_SEGMENT(segment_prod, "SegmentProd")
TANDEM_SEGMENT(segment_min, "SegmentMin")
TANDEM_SEGMENT(segment_max, "SegmentMax")
#undef TANDEM_SEGMENT

#define TANDEM_SEGMENT(function, name)                           \
  Tensor function(const Tensor& data, const Tensor& segment_ids, \
                  const Tensor& num_segments) {                  \
    static const OpHandle op(name);                              \
    return emit(op, {data, segment_ids, num_segments});          \
  }
TANDEM_SEGMENT(unsorted_segment_sum, "UnsortedSegmentSum")
TANDEM_SEGMENT(unsorted_segment_prod, "UnsortedSegmentProd")
TANDEM_SEGMENT(unsorted_segment_min, "UnsortedSegmentMin")
TANDEM_SEGMENT(unsorted_segment_max, "UnsortedSegmentMax")
#undef TANDEM_SEGMENT

namespace {

// Rows per segment, at least 1, in the rank of `sums`.
Tensor row_counts(const Tensor& ids, const Tensor& count, const Tensor& sums) {
  const Tensor n = unsorted_segment_sum(ones_for(ids, sums.dtype()), ids, count);
  return pad_rank(maximum(n, ones_like(n)), sums);
}

}  // namespace

Tensor unsorted_segment_mean(const Tensor& data, const Tensor& segment_ids,
                             const Tensor& num_segments) {
  const Tensor sums = unsorted_segment_sum(data, segment_ids, num_segments);
  return sums / row_counts(segment_ids, num_segments, sums);
}
Tensor unsorted_segment_sqrt_n(const Tensor& data, const Tensor& segment_ids,
                               const Tensor& num_segments) {
  const Tensor sums = unsorted_segment_sum(data, segment_ids, num_segments);
  return sums / sqrt(row_counts(segment_ids, num_segments, sums));
}

Tensor sparse_segment_sum(const Tensor& data, const Tensor& indices,
                          const Tensor& segment_ids, const Tensor& num_segments) {
  static const OpHandle op("SparseSegmentSum");
  return emit(op, {data, indices, segment_ids, num_segments});
}
Tensor sparse_segment_mean(const Tensor& data, const Tensor& indices,
                           const Tensor& segment_ids, const Tensor& num_segments) {
  static const OpHandle op("SparseSegmentMean");
  return emit(op, {data, indices, segment_ids, num_segments});
}
Tensor sparse_segment_sqrt_n(const Tensor& data, const Tensor& indices,
                             const Tensor& segment_ids, const Tensor& num_segments) {
  const Tensor sums = sparse_segment_sum(data, indices, segment_ids, num_segments);
  const Tensor rows = reshape(slice(shape(sums), {0}, {1}), Shape{});
  return sums / sqrt(row_counts(segment_ids, rows, sums));
}

}  // namespace tandem
