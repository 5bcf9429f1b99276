// BroadcastTo, BroadcastLike, Tile, Repeat and its gradient.
#include <fmt/format.h>

#include "op/emitter.h"
#include "ops/array_common.h"
#include "ops/expected_shape.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

void check_broadcast(const InferContext& c, const Shape& in, const Shape& out) {
  if (!in.has_rank() || !out.has_rank()) return;
  if (in.rank() > out.rank()) {
    c.fail(fmt::format(
        "Rank of input ({}) must be no greater than rank of output shape ({}).",
        in.rank(), out.rank()));
  }
  for (int i = 0; i < in.rank(); ++i) {
    const int64_t from = in[i], to = out[i + out.rank() - in.rank()];
    if (from == to || from == 1 || from == kUnknownDim || to == kUnknownDim) continue;
    throw InvalidArgumentError(fmt::format(
        "{0}: Incompatible shapes: {1} vs. {2} [Op:{0}]. Only dimensions of size 1 "
        "are repeated.",
        c.op().name, in.debug_str(), out.debug_str()));
  }
}

// A vector whose elements are all the same known number stays known.
void repeat_value(const TensorInfo& in, TensorInfo& out) {
  if (!in.has_value || !out.shape.is_known() || out.shape.rank() > 1) return;
  const int64_t n = out.shape.num_elements();
  if (in.value.empty() || n > kMaxHostValues) return;
  PartialValue value;
  for (int64_t i = 0; i < n; ++i) {
    value.push_back(in.value[static_cast<size_t>(i) % in.value.size()]);
  }
  set_value(out, std::move(value));
}

void infer_broadcast_to(InferContext& c) {
  if (c.input(1).has_value) {
    for (int64_t v : c.input(1).value) {
      if (v < 0 && v != kUnknownValue)
        c.fail(fmt::format("Dimension {} must be >= 0", v));
    }
  }
  const Shape out = c.shape_from_value(1);
  check_broadcast(c, c.shape(0), out);
  repeat_value(c.input(0), c.add_output(c.dtype(0), out));
}
void infer_broadcast_like(InferContext& c) {
  check_broadcast(c, c.shape(0), c.shape(1));
  repeat_value(c.input(0), c.add_output(c.dtype(0), c.shape(1)));
}
void grad_broadcast(GradContext& c) { c.set(0, sum_like(c.grad(), c.input(0))); }

std::optional<int64_t> view_same_shape(const Signature& s) {
  if (s.in(0).shape == s.out().shape) return 0;
  return std::nullopt;
}

void infer_tile(InferContext& c) {
  const auto multiples = partial_ints(c.input(1));
  const Shape& in = c.shape(0);
  if (c.shape(1).has_rank() && c.shape(1).rank() != 1) {
    c.fail(fmt::format("Expected multiples to be 1-D, but got shape {}",
                       c.shape(1).debug_str()));
  }
  if (!in.has_rank()) {
    c.add_output(c.dtype(0),
                 multiples ? Shape::unknown_of_rank(static_cast<int>(multiples->size()))
                           : Shape::unknown());
    return;
  }
  if (multiples && static_cast<int>(multiples->size()) != in.rank()) {
    c.fail(fmt::format(
        "Expected multiples argument to be a vector of length {} but got length {}",
        in.rank(), multiples->size()));
  }
  Shape out = Shape::unknown_of_rank(in.rank());
  for (int i = 0; multiples && i < in.rank(); ++i) {
    const int64_t m = (*multiples)[static_cast<size_t>(i)];
    if (m == kUnknownValue) continue;
    if (m < 0) c.fail(fmt::format("Expected multiples[{}] >= 0, but got {}", i, m));
    int64_t n;
    if (in[i] == kUnknownDim) continue;
    if (__builtin_mul_overflow(in[i], m, &n)) {
      c.fail(
          fmt::format("dimension {} has {} elements, which cannot be repeated {} times",
                      i, in[i], m));
    }
    out.set(i, n);
  }
  repeat_value(c.input(0), c.add_output(c.dtype(0), out));
}
// The copies of one axis after the other become a dimension of their own and are summed.
void grad_tile(GradContext& c) {
  const int rank = c.input(0).shape().rank();
  Tensor g = c.grad();
  if (rank == 0) {
    c.set(0, g);
    return;
  }
  const DType type = c.input(1).dtype();
  const Tensor sizes = c.shape_of_input(0, type);
  const auto interleaved = [&](const Tensor& a, const Tensor& b) {
    return reshape(stack({a, b}, {.axis = 1}), {-1});
  };
  if (2 * rank <= kMaxRank) {
    Ints axes;
    for (int i = 0; i < rank; ++i) axes.push_back(2 * i);
    c.set(0, reduce_sum(reshape(g, interleaved(c.input(1), sizes)), {.axis = axes}));
    return;
  }
  for (int i = 0; i < rank; ++i) {
    const Tensor done = slice(sizes, {0}, {i});
    const Tensor here = interleaved(slice(c.input(1), {i}, {1}), slice(sizes, {i}, {1}));
    const Tensor rest = slice(shape(g, {type}), {i + 1}, {-1});
    g = reduce_sum(reshape(g, concat({done, here, rest}, {.axis = 0})), {.axis = {i}});
  }
  c.set(0, g);
}

// Repeat: counts[i] copies of slice i; a scalar count holds for all.
int64_t total_count(const InferContext& c, int input, int64_t n) {
  const auto counts = known_ints(c.input(input));
  if (!counts) return kUnknownDim;
  int64_t total = 0;
  bool fits = true;
  for (int64_t v : *counts) {
    fits &= !__builtin_add_overflow(total, std::max<int64_t>(v, 0), &total);
  }
  if (c.shape(input).rank() == 0 || counts->size() == 1) {
    if (n == kUnknownDim) return kUnknownDim;
    fits &= !__builtin_mul_overflow(n, total, &total);
  }
  c.require(fits, "the sum of repeats does not fit in 64 bits");
  return total;
}
void check_counts(const InferContext& c, int64_t n) {
  const Shape& counts = c.shape(1);
  if (!counts.has_rank()) return;
  if (counts.rank() > 1) {
    c.fail(fmt::format("repeats must be a scalar or a vector, got shape {}",
                       counts.debug_str()));
  }
  // Negative counts among others are none, as in TensorFlow.
  if (counts.rank() == 0) {
    const auto known = known_ints(c.input(1));
    if (known && (*known)[0] < 0) {
      c.fail(fmt::format("Expected repeats >= 0, but got {}", (*known)[0]));
    }
  }
  if (counts.rank() == 1 && counts[0] > 1 && n != kUnknownDim && counts[0] != n) {
    c.fail(fmt::format(
        "Dimensions {} and {} are not compatible: repeats must have one count "
        "per element of the axis",
        n, counts[0]));
  }
}
void infer_repeat(InferContext& c) {
  if (!c.shape(0).has_rank()) {
    c.add_output(c.dtype(0), Shape::unknown());
    return;
  }
  c.rank_at_least(0, 1);
  Shape out = c.shape(0);
  const int axis = c.axis(c.attrs<AxisAttrs>().axis, out.rank());
  check_counts(c, out[axis]);
  out.set(axis, total_count(c, 1, out[axis]));
  c.add_output(c.dtype(0), out);
}
void infer_repeat_grad(InferContext& c) {
  const Shape& like = c.shape(2);
  if (like.has_rank()) {
    c.rank_at_least(2, 1);
    const int axis = c.axis(c.attrs<AxisAttrs>().axis, like.rank());
    check_counts(c, like[axis]);
    Shape repeated = like;
    repeated.set(axis, total_count(c, 1, like[axis]));
    expect_shape(c, 0, repeated);
  }
  c.add_output(c.dtype(0), like);
}
void grad_repeat(GradContext& c) {
  static const OpHandle op("RepeatGrad");
  c.set(0, emit(op, {c.grad(), c.input(1), c.input(0)}, c.attrs<AxisAttrs>()));
}
void grad_repeat_grad(GradContext& c) {
  c.set(0, repeat(c.grad(), c.input(1), c.attrs<AxisAttrs>()));
}

}  // namespace

void register_array_broadcast_ops(OpTable& table) {
  table.add({.name = "BroadcastTo",
             .doc = "Repeats dimensions of size 1 to reach a shape.",
             .types = {{'T', kAnyDType}, {'I', kIndices}},
             .inputs = {{.name = "input"}, {.name = "shape", .type = 'I', .host = true}},
             .infer = infer_broadcast_to,
             .gradient = grad_broadcast,
             .grad_inputs = 0,
             .grad_outputs = 0,
             .view = view_same_shape});
  table.add(
      {.name = "BroadcastLike",
       .doc = "Repeats dimensions of size 1 to reach the shape of another tensor.",
       .types = {{'T', kAnyDType}, {'L', ~0u}},
       .inputs = {{.name = "input"}, {.name = "like", .type = 'L', .shape_only = true}},
       .infer = infer_broadcast_like,
       .gradient = grad_broadcast,
       .grad_inputs = 0,
       .grad_outputs = 0,
       .view = view_same_shape});
  table.add(
      {.name = "Tile",
       .doc = "Repeats a tensor along each dimension.",
       .types = {{'T', kAnyDType}, {'I', kIndices}},
       .inputs = {{.name = "input"}, {.name = "multiples", .type = 'I', .host = true}},
       .infer = infer_tile,
       .gradient = grad_tile,
       .grad_inputs = 2,
       .grad_outputs = 0,
       .view = view_same_shape});
  table.add(
      {.name = "Repeat",
       .doc = "Repeats each slice along an axis as often as a count says.",
       .types = {{'T', kAnyDType}, {'I', kIndices}},
       .inputs = {{.name = "input"}, {.name = "repeats", .type = 'I', .host = true}},
       .attrs = &attrs_type<AxisAttrs>(),
       .infer = infer_repeat,
       .gradient = grad_repeat,
       .grad_inputs = 2,
       .grad_outputs = 0});
  table.add({.name = "RepeatGrad",
             .doc = "Sums the copies that Repeat made of each slice.",
             .types = {{'T', kNumbers}, {'I', kIndices}},
             .inputs = {{.name = "grad"},
                        {.name = "repeats", .type = 'I', .host = true},
                        {.name = "input", .shape_only = true}},
             .attrs = &attrs_type<AxisAttrs>(),
             .infer = infer_repeat_grad,
             .gradient = grad_repeat_grad,
             .grad_inputs = 2,
             .grad_outputs = 0});
}

Tensor broadcast_to(const Tensor& x, const Tensor& shape) {
  static const OpHandle op("BroadcastTo");
  return emit(op, {x, shape});
}
Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  return broadcast_to(x, host_vector(shape.dims()));
}
Tensor broadcast_like(const Tensor& x, const Tensor& like) {
  static const OpHandle op("BroadcastLike");
  return emit(op, {x, like});
}
Tensor tile(const Tensor& x, const Tensor& multiples) {
  static const OpHandle op("Tile");
  return emit(op, {x, multiples});
}
Tensor tile(const Tensor& x, const Ints& multiples) {
  return tile(x, host_vector(multiples));
}
Tensor repeat(const Tensor& x, const Tensor& repeats, AxisAttrs attrs) {
  static const OpHandle op("Repeat");
  return emit(op, {x, repeats}, attrs);
}
Tensor repeat(const Tensor& x, int64_t repeats, AxisAttrs attrs) {
  return repeat(x, host_vector(Ints{repeats}), attrs);
}
Tensor repeat(const Tensor& x, const Tensor& repeats) {
  return repeat(reshape(x, {-1}), repeats, AxisAttrs{0});
}
Tensor repeat(const Tensor& x, int64_t repeats) {
  return repeat(reshape(x, {-1}), repeats, AxisAttrs{0});
}

}  // namespace tandem
