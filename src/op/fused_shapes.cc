// Validation and inference of fused programs: both ask the inference of each op.
#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "op/fused_program.h"
#include "tandem/error.h"

namespace tandem {

namespace {

using Kind = FusedInstruction::Kind;

constexpr std::array<std::string_view, 5> kReducers = {"Max", "Mean", "Min", "Prod",
                                                       "Sum"};

[[noreturn]] void fail(const FusedProgram& p, int32_t value, const std::string& what) {
  const auto& i = p.instructions[static_cast<size_t>(value - p.num_inputs)];
  throw InvalidArgumentError(
      fmt::format("fused program: instruction {} ({}): {}", value, i.op, what));
}

TensorInfo info_of(DType dtype, const Shape& shape) {
  TensorInfo info;
  info.dtype = dtype;
  info.shape = shape;
  return info;
}

// dtype and shape of an elementwise instruction's result.
TensorInfo infer_elementwise(const FusedProgram& p, const FusedInstruction& i,
                             std::span<const Shape> shapes) {
  const OpDef& op = OpTable::get().at(i.op);
  std::vector<TensorInfo> inputs;
  for (int32_t a : i.arguments) {
    inputs.push_back(info_of(p.dtype(a), shapes[static_cast<size_t>(a)]));
  }
  const AttrsRef given = i.attrs.ref();
  const AttrsRef attrs =
      given.data || !op.attrs ? given : AttrsRef{op.attrs->defaults, op.attrs};
  InferContext context(op, attrs, inputs);
  infer_call(context);
  return context.outputs().at(0);
}

Shape reduced_shape(const FusedProgram& p, int32_t value, Kind kind, const Shape& shape) {
  if (kind == Kind::kAllReduce) return {};
  if (!shape.has_rank()) {
    return kind == Kind::kColumnReduce ? Shape::unknown_of_rank(p.row_axes)
                                       : Shape::unknown();
  }
  if (shape.rank() < p.row_axes) {
    fail(p, value,
         fmt::format("reduces over or down to {} axes, but its argument has shape {}",
                     p.row_axes, shape.debug_str()));
  }
  const int outer = shape.rank() - p.row_axes;
  if (kind == Kind::kColumnReduce) return shape.slice(outer, shape.rank());
  Shape kept = shape;
  for (int d = outer; d < shape.rank(); ++d) kept.set(d, 1);
  return kept;
}

void check_op(const FusedProgram& p, int32_t value, const FusedInstruction& i) {
  if (i.kind != Kind::kElementwise) {
    if (std::find(kReducers.begin(), kReducers.end(), i.op) == kReducers.end()) {
      fail(p, value, "only Max, Mean, Min, Prod and Sum reduce in fused programs");
    }
    if (i.arguments.size() != 1) fail(p, value, "a reduction has one argument");
    if (p.dtype(i.arguments[0]) != i.dtype) {
      fail(p, value,
           fmt::format("reduces {} to {}; reductions keep the dtype",
                       dtype_name(p.dtype(i.arguments[0])), dtype_name(i.dtype)));
    }
    return;
  }
  const OpDef* op = OpTable::get().find(i.op);
  if (!op) fail(p, value, "there is no such op");
  if (op->inputs.size() != i.arguments.size() || op->variadic() ||
      op->outputs.size() != 1) {
    fail(p, value,
         fmt::format("has {} arguments, which an elementwise op of that name "
                     "does not take",
                     i.arguments.size()));
  }
  const AttrsRef attrs = i.attrs.ref();
  if (attrs.data && attrs.type != op->attrs)
    fail(p, value, "has another op's attributes");
}

}  // namespace

void FusedProgram::validate() const {
  if (num_inputs != static_cast<int32_t>(input_dtypes.size()) || row_axes < 0) {
    throw InvalidArgumentError(
        fmt::format("fused program: {} inputs with {} dtypes, {} row axes", num_inputs,
                    input_dtypes.size(), row_axes));
  }
  const std::vector<Shape> unknown(static_cast<size_t>(num_values()), Shape::unknown());
  for (int32_t value = num_inputs; value < num_values(); ++value) {
    const FusedInstruction& i = instructions[static_cast<size_t>(value - num_inputs)];
    for (int32_t a : i.arguments) {
      if (a < 0 || a >= value) {
        fail(*this, value, fmt::format("argument {} does not come before it", a));
      }
      if (a < num_inputs) continue;
      const Kind kind = instructions[static_cast<size_t>(a - num_inputs)].kind;
      if (kind == Kind::kColumnReduce || kind == Kind::kAllReduce) {
        fail(*this, value,
             fmt::format("argument {} is a column or all reduction; those "
                         "can only be outputs",
                         a));
      }
    }
    check_op(*this, value, i);
    if (i.kind != Kind::kElementwise) continue;
    const DType inferred = infer_elementwise(*this, i, unknown).dtype;
    if (inferred != i.dtype) {
      fail(*this, value,
           fmt::format("gives {}, not {}", dtype_name(inferred), dtype_name(i.dtype)));
    }
  }
  if (outputs.empty()) throw InvalidArgumentError("fused program: there is no output");
  for (int32_t o : outputs) {
    if (o < num_inputs || o >= num_values()) {
      throw InvalidArgumentError(fmt::format(
          "fused program: output {} is not the result of an instruction ({} to {})", o,
          num_inputs, num_values() - 1));
    }
  }
}

Shape fused_domain(std::span<const Shape> inputs) {
  Shape domain;
  for (const Shape& shape : inputs) {
    Shape both;
    if (!broadcast_shapes(domain, shape, &both)) {
      throw InvalidArgumentError(
          fmt::format("fused program: Incompatible shapes: {} vs. {}. Dimensions must be "
                      "equal or 1, counted from the last.",
                      domain.debug_str(), shape.debug_str()));
    }
    domain = both;
  }
  return domain;
}

std::vector<Shape> fused_value_shapes(const FusedProgram& p,
                                      std::span<const Shape> inputs) {
  if (inputs.size() != static_cast<size_t>(p.num_inputs)) {
    throw InvalidArgumentError(fmt::format("fused program: {} inputs are given, not {}",
                                           inputs.size(), p.num_inputs));
  }
  fused_domain(inputs);  // throws when there is none
  std::vector<Shape> shapes(inputs.begin(), inputs.end());
  shapes.resize(static_cast<size_t>(p.num_values()));
  for (int32_t value = p.num_inputs; value < p.num_values(); ++value) {
    const auto& i = p.instructions[static_cast<size_t>(value - p.num_inputs)];
    Shape& shape = shapes[static_cast<size_t>(value)];
    if (i.kind == Kind::kElementwise) {
      shape = infer_elementwise(p, i, shapes).shape;
    } else {
      shape =
          reduced_shape(p, value, i.kind, shapes[static_cast<size_t>(i.arguments[0])]);
    }
  }
  return shapes;
}

std::vector<Shape> fused_output_shapes(const FusedProgram& p,
                                       std::span<const Shape> inputs) {
  const std::vector<Shape> shapes = fused_value_shapes(p, inputs);
  std::vector<Shape> result;
  for (int32_t o : p.outputs) result.push_back(shapes[static_cast<size_t>(o)]);
  return result;
}

}  // namespace tandem
