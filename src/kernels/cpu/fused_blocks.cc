#include "kernels/cpu/fused_blocks.h"

#include "kernels/cpu/fused.h"
#include "tandem/ops/activations.h"
#include "tandem/ops/attrs.h"

namespace tandem::cpu {

namespace {

// All that block_params() knows; any other attribute would be lost.
bool attrs_known(const AttrsType* type) {
  return !type || type == &attrs_type<NoAttrs>() ||
         type == &attrs_type<nn::LeakyReluAttrs>() ||
         type == &attrs_type<nn::SiluAttrs>() || type == &attrs_type<nn::GeluAttrs>();
}

// Integer division and powers throw for bad contents; floating-point blocks never do.
bool may_fail(const OpDef& op, DType dtype) {
  return (op.effects & kMayFail) && !is_floating(dtype) && !is_complex(dtype);
}

std::optional<FusedBlocks> cast_blocks(const OpDef& op, AttrsRef attrs, DType from,
                                       DType to) {
  const auto& cast =
      *static_cast<const CastAttrs*>(attrs.data ? attrs.data : op.attrs->defaults);
  const Block block = find_cast_block(from, to, cast.truncate);
  if (!block || cast.dtype != to) return std::nullopt;
  FusedBlocks found{{1, to, 1, {}}, {}};
  found.blocks.variants[0] = block;
  return found;
}

}  // namespace

std::optional<FusedBlocks> fused_blocks(const OpDef& op, AttrsRef attrs,
                                        std::span<const DType> inputs, DType output) {
  if (op.variadic() || inputs.size() != op.inputs.size() || inputs.empty()) {
    return std::nullopt;
  }
  if (op.effects & ~kMayFail) return std::nullopt;
  if (op.name == "Cast") return cast_blocks(op, attrs, inputs[0], output);
  DType type = DType::kInvalid;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == DType::kString || inputs[i] == DType::kInvalid) return std::nullopt;
    const char letter = op.inputs[i].type;
    if (letter == 'T' && type == DType::kInvalid) type = inputs[i];
    // Blocks take operands of one dtype, and conditions.
    if (letter == 'T' ? inputs[i] != type : inputs[i] != DType::kBool) {
      return std::nullopt;
    }
  }
  const ElementwiseBlocks* blocks = find_blocks(op.name, type);
  if (!blocks || !blocks->variants[0] || blocks->out != output ||
      blocks->operands != static_cast<int>(inputs.size()) || !attrs_known(op.attrs) ||
      may_fail(op, type)) {
    return std::nullopt;
  }
  const AttrsRef full =
      attrs.data || !op.attrs ? attrs : AttrsRef{op.attrs->defaults, op.attrs};
  return FusedBlocks{*blocks, block_params(full)};
}

const ReduceLoops* fused_reducer(std::string_view op, DType dtype) {
  if (op == "Sum") return reduce_loops(Reducer::kSum, dtype);
  if (op == "Mean") return reduce_loops(Reducer::kMean, dtype);
  if (op == "Prod") return reduce_loops(Reducer::kProd, dtype);
  if (op == "Max") return reduce_loops(Reducer::kMax, dtype);
  if (op == "Min") return reduce_loops(Reducer::kMin, dtype);
  return nullptr;
}

bool can_fuse(const OpDef& op, AttrsRef attrs, std::span<const DType> inputs,
              DType output) {
  return fused_blocks(op, attrs, inputs, output).has_value();
}

bool can_fuse_reduction(std::string_view op, DType dtype) {
  return fused_reducer(op, dtype) != nullptr;
}

}  // namespace tandem::cpu
