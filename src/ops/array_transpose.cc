// Transpose (also conjugating) and InvertPermutation.
#include "ops/array_transpose.h"

#include <fmt/format.h>

#include "op/emitter.h"
#include "ops/array_common.h"
#include "tandem/ops.h"

namespace tandem {

Ints full_permutation(const TransposeAttrs& attrs, int rank) {
  Ints perm;
  for (int i = 0; i < rank; ++i) {
    const int64_t p =
        attrs.perm.empty() ? rank - 1 - i : attrs.perm[static_cast<size_t>(i)];
    perm.push_back(p < 0 ? p + rank : p);
  }
  return perm;
}

namespace {

void infer_transpose(InferContext& c) {
  const auto& a = c.attrs<TransposeAttrs>();
  const Shape& in = c.shape(0);
  if (!in.has_rank()) {
    c.add_output(c.dtype(0), a.perm.empty() ? Shape::unknown()
                                            : Shape::unknown_of_rank(
                                                  static_cast<int>(a.perm.size())));
    return;
  }
  if (!a.perm.empty() && static_cast<int>(a.perm.size()) != in.rank()) {
    c.fail(fmt::format(
        "transpose expects a vector of size {}. But input(1) is a vector of size {}",
        in.rank(), a.perm.size()));
  }
  const Ints perm = full_permutation(a, in.rank());
  uint32_t seen = 0;
  Shape out;
  for (int64_t p : perm) {
    if (p < 0 || p >= in.rank()) {
      c.fail(fmt::format("{} is out of range [0 .. {})", p, in.rank()));
    }
    seen |= 1u << p;
    out.push_back(in[static_cast<int>(p)]);
  }
  for (int i = 0; i < in.rank(); ++i) {
    if (!(seen >> i & 1u)) {
      c.fail(fmt::format("{} is missing from {{{}}}.", i, fmt::join(perm, ",")));
    }
  }
  TensorInfo& info = c.add_output(c.dtype(0), out);
  if (c.input(0).has_value) set_value(info, c.input(0).value);
}

void grad_transpose(GradContext& c) {
  const auto& a = c.attrs<TransposeAttrs>();
  Ints back;
  if (!a.perm.empty()) {
    const Ints perm = full_permutation(a, static_cast<int>(a.perm.size()));
    back = perm;
    for (size_t i = 0; i < perm.size(); ++i) {
      back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
    }
  }
  c.set(0, transpose(c.grad(), {back, a.conjugate}));
}

// Nothing moves when the dimensions that are not 1 keep their order.
std::optional<int64_t> view_transpose(const Signature& s) {
  const auto& a = s.attrs.as<TransposeAttrs>();
  if (a.conjugate && is_complex(s.in(0).dtype)) return std::nullopt;
  const Shape& in = s.in(0).shape;
  int64_t last = -1;
  for (int64_t p : full_permutation(a, in.rank())) {
    if (in[static_cast<int>(p)] == 1) continue;
    if (p < last) return std::nullopt;
    last = p;
  }
  return 0;
}

void infer_invert(InferContext& c) {
  if (c.shape(0).has_rank() && c.shape(0).rank() != 1) {
    c.fail("invert_permutation expects a 1D vector.");
  }
  TensorInfo& out = c.add_output(c.dtype(0), c.shape(0));
  const auto p = c.input(0).has_value ? known_ints(c.input(0)) : std::nullopt;
  if (!p) return;
  PartialValue q(p->size(), kUnknownValue);
  const auto n = static_cast<int64_t>(p->size());
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = (*p)[static_cast<size_t>(i)];
    if (at >= 0 && at < n) q[static_cast<size_t>(at)] = i;
  }
  set_value(out, std::move(q));
}

}  // namespace

void register_array_transpose_ops(OpTable& table) {
  table.add({.name = "Transpose",
             .doc = "Permutes dimensions; conjugates when asked to.",
             .inputs = {{.name = "x"}},
             .outputs = {"y"},
             .attrs = &attrs_type<TransposeAttrs>(),
             .infer = infer_transpose,
             .gradient = grad_transpose,
             .grad_inputs = 0,
             .grad_outputs = 0,
             .view = view_transpose});
  table.add({.name = "InvertPermutation",
             .doc = "The inverse of a permutation.",
             .types = {{'T', kIndices}},
             .inputs = {{.name = "x"}},
             .outputs = {"y"},
             .infer = infer_invert,
             .differentiable = false,
             .effects = kMayFail});
}

Tensor transpose(const Tensor& x, TransposeAttrs attrs) {
  static const OpHandle op("Transpose");
  return emit(op, {x}, attrs);
}
Tensor matrix_transpose(const Tensor& x, bool conjugate) {
  const int rank = x.shape().rank();
  if (rank < 2) {
    throw ValueError(
        fmt::format("Argument `a` should be a (batch) matrix with rank >= 2. "
                    "Received `a` with shape {}.",
                    x.shape().str()));
  }
  Ints perm;
  for (int i = 0; i < rank; ++i) perm.push_back(i);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return transpose(x, {perm, conjugate});
}
Tensor invert_permutation(const Tensor& p) {
  static const OpHandle op("InvertPermutation");
  return emit(op, {p});
}

}  // namespace tandem
