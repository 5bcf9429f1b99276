// Transposed operands of matrix products become attributes: the kernel reads the operand
// the other way round. The terms are the same; a library may add them in another order,
// so the last bits of floating-point products may change.
#include "graph/passes/simplify.h"
#include "ops/array_transpose.h"
#include "tandem/ops/linalg.h"

namespace tandem {

namespace {

// A Transpose that exchanges the last two dimensions and does nothing else.
bool turns_matrices(const Node& n, const Shape& shape, bool* conjugate) {
  if (!n.is_op("Transpose") || !shape.has_rank() || shape.rank() < 2) return false;
  const auto& attrs = n.attrs.ref().as<TransposeAttrs>();
  const Ints perm = full_permutation(attrs, shape.rank());
  const int rank = shape.rank();
  for (int i = 0; i < rank; ++i) {
    const int want = i == rank - 2 ? rank - 1 : i == rank - 1 ? rank - 2 : i;
    if (perm[static_cast<size_t>(i)] != want) return false;
  }
  *conjugate = attrs.conjugate;
  return true;
}

// Turning what is turned already; a conjugate without a transposition has no attribute.
bool turn(bool conjugate, bool& transpose, bool& adjoint) {
  if (!conjugate) {
    if (adjoint) return false;
    transpose = !transpose;
    return true;
  }
  if (transpose) return false;
  adjoint = !adjoint;
  return true;
}

ValueRef transposed_operands(Rewrite& r) {
  MatMulAttrs attrs = r.attrs<MatMulAttrs>();
  std::vector<ValueRef> inputs = r.inputs;
  const bool complex = is_complex(r.out().dtype);
  bool changed = false;
  for (size_t i : {0u, 1u}) {
    bool conjugate = false;
    if (!turns_matrices(r.maker(i), r.in(i).shape, &conjugate)) continue;
    if (!turn(conjugate && complex, i ? attrs.transpose_b : attrs.transpose_a,
              i ? attrs.adjoint_b : attrs.adjoint_a)) {
      continue;
    }
    inputs[i] = r.maker(i).inputs[0];
    changed = true;
  }
  return changed ? r.emit("MatMul", inputs, attrs_ref(attrs)) : ValueRef{};
}

}  // namespace

void add_matmul_rules(Rules& rules) { rules["MatMul"] = {transposed_operands}; }

}  // namespace tandem
