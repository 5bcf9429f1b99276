// MatMul: TensorFlow's MatMul and BatchMatMulV2 in one op; and what follows from it
// directly.
#include <fmt/format.h>

#include "ops/linalg_ops.h"
#include "tandem/ops.h"
#include "tandem/ops/array_layout.h"

namespace tandem {

namespace {

struct Turn {
  bool transpose, conjugate;
};
Turn turn_a(const MatMulAttrs& m) { return {m.transpose_a || m.adjoint_a, m.adjoint_a}; }
Turn turn_b(const MatMulAttrs& m) { return {m.transpose_b || m.adjoint_b, m.adjoint_b}; }

void check_turn(const InferContext& c, bool transpose, bool adjoint, char which) {
  if (!transpose || !adjoint) return;
  throw ValueError(
      fmt::format("{0}: Only one of `transpose_{1}` and `adjoint_{1}` can be True. "
                  "Received `transpose_{1}`=True, `adjoint_{1}`=True.",
                  c.op().name, which));
}

}  // namespace

Shape matmul_shape(const InferContext& c, const MatMulAttrs& m) {
  check_turn(c, m.transpose_a, m.adjoint_a, 'a');
  check_turn(c, m.transpose_b, m.adjoint_b, 'b');
  const Shape &a = c.shape(0), &b = c.shape(1);
  for (int i = 0; i < 2; ++i) {
    if (c.shape(i).has_rank() && c.shape(i).rank() < 2) {
      c.fail(fmt::format(
          "In[{}] ndims must be >= 2, but its shape is {}. Use linalg::matvec, "
          "or expand_dims.",
          i, c.shape(i).debug_str()));
    }
  }
  if (!a.has_rank() || !b.has_rank()) return Shape::unknown();
  const bool ta = turn_a(m).transpose, tb = turn_b(m).transpose;
  const int64_t rows = a.dim(ta ? -1 : -2), inner_a = a.dim(ta ? -2 : -1);
  const int64_t columns_ = b.dim(tb ? -2 : -1), inner_b = b.dim(tb ? -1 : -2);
  if (inner_a != kUnknownDim && inner_b != kUnknownDim && inner_a != inner_b) {
    c.fail(fmt::format(
        "Matrix size-incompatible: In[0]: {}, In[1]: {}{}. The inner dimensions "
        "({} and {}) must be equal.",
        a.debug_str(), b.debug_str(),
        ta || tb ? fmt::format(" (transposed: {}, {})", ta, tb) : "", inner_a, inner_b));
  }
  Shape out;
  if (!broadcast_shapes(a.slice(0, a.rank() - 2), b.slice(0, b.rank() - 2), &out)) {
    c.fail(fmt::format("In[0] and In[1] must have compatible batch dimensions: {} vs. {}",
                       a.debug_str(), b.debug_str()));
  }
  return with_matrix(out, rows, columns_);
}

Cost matmul_cost(const Signature& s, const MatMulAttrs& m) {
  const int64_t k = s.in(0).shape.dim(turn_a(m).transpose ? -2 : -1);
  const double per_term = is_complex(s.in(0).dtype) ? 8 : 2;
  Cost cost = default_cost(s);
  cost.flops = per_term * static_cast<double>(s.out().shape.num_elements()) *
               static_cast<double>(k);
  return cost;
}

namespace {

void infer_matmul(InferContext& c) {
  c.add_output(c.dtype(0), matmul_shape(c, c.attrs<MatMulAttrs>()));
}

struct Operand {
  const Tensor& x;
  Turn turn;
};
// A product of turned operands; a conjugate without a transpose is an op of its own.
Tensor product(Operand a, Operand b) {
  const bool complex = is_complex(a.x.dtype());
  const auto plain_conjugate = [&](const Operand& o) {
    return complex && o.turn.conjugate && !o.turn.transpose;
  };
  const Tensor x = plain_conjugate(a) ? conj(a.x) : a.x;
  const Tensor y = plain_conjugate(b) ? conj(b.x) : b.x;
  const bool ca = complex && a.turn.conjugate, cb = complex && b.turn.conjugate;
  return matmul(x, y,
                {.transpose_a = a.turn.transpose && !ca,
                 .transpose_b = b.turn.transpose && !cb,
                 .adjoint_a = a.turn.transpose && ca,
                 .adjoint_b = b.turn.transpose && cb});
}

bool same_batch(const Shape& a, const Shape& b) {
  if (!a.has_rank() || a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank() - 2; ++i) {
    if (a[i] != b[i] || a[i] == kUnknownDim) return false;
  }
  return true;
}

// With C = A'·B' (' being the turns), dA' = G·B'ᴴ and dB' = A'ᴴ·G; turning back gives the
// products below.
void grad_matmul(GradContext& c) {
  const auto& m = c.attrs<MatMulAttrs>();
  const Tensor &a = c.input(0), &b = c.input(1), g = c.grad();
  const Turn ta = turn_a(m), tb = turn_b(m);
  const bool same = same_batch(a.shape(), b.shape());
  const auto as_is = [](const Tensor& x) { return Operand{x, {false, false}}; };
  if (c.needs(0)) {
    const Tensor da = ta.transpose
                          ? product({b, {tb.transpose, tb.conjugate != !ta.conjugate}},
                                    {g, {true, ta.conjugate}})
                          : product(as_is(g), {b, {!tb.transpose, !tb.conjugate}});
    c.set(0, same ? da : sum_like(da, a));
  }
  if (!c.needs(1)) return;
  // One matrix b for a whole batch: the rows of the batch are contracted in one product.
  const bool fold =
      a.shape().has_rank() && a.rank() > 2 && b.rank() == 2 && !ta.transpose;
  const Tensor x = fold ? flatten_rows(a) : a;
  const Tensor h = fold ? flatten_rows(g) : g;
  const Tensor db = tb.transpose
                        ? product({h, {true, tb.conjugate}},
                                  {x, {ta.transpose, ta.conjugate != !tb.conjugate}})
                        : product({x, {!ta.transpose, !ta.conjugate}}, as_is(h));
  c.set(1, same || fold ? db : sum_like(db, b));
}

Cost cost_matmul(const Signature& s) { return matmul_cost(s, s.attrs.as<MatMulAttrs>()); }

void infer_cross(InferContext& c) {
  const Shape &a = c.shape(0), &b = c.shape(1);
  if (!a.compatible_with(b)) {
    c.fail(fmt::format("Both inputs must be of same shape: {} vs. {}", a.debug_str(),
                       b.debug_str()));
  }
  const Shape both = a.merged_with(b);
  if (both.has_rank()) {
    c.require(both.rank() >= 1, "Input must be at least 1D");
    if (both.dim(-1) != 3 && both.dim(-1) != kUnknownDim) {
      throw FailedPreconditionError(
          fmt::format("Cross: Cross-products are only defined for 3-element vectors, not "
                      "for shape {}.",
                      both.debug_str()));
    }
  }
  c.add_output(c.dtype(0), both);
}

void grad_cross(GradContext& c) {
  if (c.needs(0)) c.set(0, linalg::cross(conj(c.input(1)), c.grad()));
  if (c.needs(1)) c.set(1, linalg::cross(c.grad(), conj(c.input(0))));
}

}  // namespace

void register_matmul_ops(OpTable& table) {
  table.add(
      {.name = "MatMul",
       .doc = "Matrix product over the last two dimensions; leading ones broadcast.",
       .types = {{'T', kFloats | kComplexes | kIndices}},
       .inputs = {{.name = "a"}, {.name = "b"}},
       .outputs = {"product"},
       .attrs = &attrs_type<MatMulAttrs>(),
       .infer = infer_matmul,
       .gradient = grad_matmul,
       .grad_outputs = 0,
       .cost = cost_matmul});
  table.add({.name = "Cross",
             .doc = "Cross product of vectors of 3 along the last dimension.",
             .types = {{'T', kReals}},
             .inputs = {{.name = "a"}, {.name = "b"}},
             .outputs = {"product"},
             .infer = infer_cross,
             .gradient = grad_cross,
             .grad_outputs = 0});
}

Tensor matmul(const Tensor& a, const Tensor& b, MatMulAttrs attrs) {
  static const OpHandle op("MatMul");
  return emit(op, {a, b}, attrs);
}

namespace linalg {

Tensor matvec(const Tensor& a, const Tensor& b, MatMulAttrs attrs) {
  if (attrs.transpose_b || attrs.adjoint_b) {
    throw ValueError(
        "matvec: a vector cannot be transposed. Leave transpose_b and adjoint_b out.");
  }
  return squeeze(matmul(a, expand_dims(b, -1), attrs), {.axis = {-1}});
}

Tensor cross(const Tensor& a, const Tensor& b) {
  static const OpHandle op("Cross");
  return emit(op, {a, b});
}

}  // namespace linalg
}  // namespace tandem
