// What the definitions of elementwise ops share: inference with values of small integers,
// builders of table entries, and helpers of gradients.
#pragma once

#include "op/emitter.h"
#include "op/op_def.h"
#include "tandem/ops.h"

namespace tandem {

class OpTable;
void register_activation_ops(OpTable& table);
void register_elementwise_arith_ops(OpTable& table);
void register_elementwise_cast_ops(OpTable& table);
void register_elementwise_compare_ops(OpTable& table);
void register_elementwise_math_ops(OpTable& table);
void register_elementwise_select_ops(OpTable& table);
void register_elementwise_special_ops(OpTable& table);

namespace elementwise {

// ---- Inference
// ---------------------------------------------------------------------------------
/// dtype and shape of the input.
void infer_unary(InferContext& c);
/// The inputs' dtype, shapes broadcast.
void infer_binary(InferContext& c);
void infer_ternary(InferContext& c);
/// The same with a bool result.
void infer_unary_bool(InferContext& c);
void infer_binary_bool(InferContext& c);
/// Complex in, its real dtype out.
void infer_unary_real(InferContext& c);

/// A function on known integers; false when the result is not known.
using Fold1 = bool (*)(int64_t x, int64_t* out);
using Fold2 = bool (*)(int64_t x, int64_t y, int64_t* out);
/// Sets the values of output 0 as far as the inputs' values are known.
void fold(InferContext& c, Fold1 f);
void fold(InferContext& c, Fold2 f);
inline bool fold_same(int64_t x, int64_t* r) { return *r = x, true; }
template <Fold1 f>
void infer_unary_fold(InferContext& c) {
  infer_unary(c);
  fold(c, f);
}
template <Fold2 f>
void infer_binary_fold(InferContext& c) {
  infer_binary(c);
  fold(c, f);
}
template <Fold2 f>
void infer_compare_fold(InferContext& c) {
  infer_binary_bool(c);
  fold(c, f);
}

// ---- Entries
// -----------------------------------------------------------------------------------
using GradientFn = void (*)(GradContext&);

/// Bytes of all operands and `kFlops` operations per element of the output.
template <int kFlops>
Cost cost(const Signature& s) {
  Cost c = default_cost(s);
  if (s.out().shape.is_known()) {
    c.flops = kFlops * static_cast<double>(s.out().shape.num_elements());
  }
  return c;
}

/// How a gradient uses the forward call: bit masks as in OpDef.
struct Reads {
  uint32_t inputs = 0;
  uint32_t outputs = 0;
};
inline constexpr Reads kReadsNothing{0, 0}, kReadsX{1, 0}, kReadsY{2, 0},
    kReadsInputs{~0u, 0}, kReadsOutput{0, 1}, kReadsAll{~0u, 1};

inline constexpr DTypeMask kFloatsAndComplex = kFloats | kComplexes;

OpDef unary(const char* name, const char* doc, DTypeMask types, const char* expression);
OpDef binary(const char* name, const char* doc, DTypeMask types, const char* expression);
/// Adds the gradient to an entry. Null: gradients stop here.
OpDef with_gradient(OpDef def, Reads reads, GradientFn gradient);
OpDef without_gradient(OpDef def);
OpDef with_infer(OpDef def, void (*infer)(InferContext&));
OpDef with_cost(OpDef def, Cost (*cost)(const Signature&));

// ---- Helpers of gradients
// ----------------------------------------------------------------------
/// g summed down to the shape of `like`; g itself when the shapes are known to agree.
Tensor sum_to(const Tensor& g, const Tensor& like);

}  // namespace elementwise
}  // namespace tandem
