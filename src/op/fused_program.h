// FusedProgram: what one fused kernel computes, as data (the attribute of the ops `Fused`
// and `FusedMulti`). Fusion passes write it, CPU and NVRTC kernels read it. A value type;
// any thread.
//
// A program runs over a domain: the shape to which all its inputs broadcast (NumPy
// rules). Values are numbered: the inputs first, then one per instruction. Instructions
// compute what the ops of their names compute on the shapes of their arguments:
// elementwise ones broadcast, row reductions keep their axes with size 1. So every value
// has a shape of its own, and by it a form:
//   full    one element per element of the domain
//   row     the last `row_axes` axes have size 1, the others are the domain's (a row
//           reduction, an input that broadcasts along them, and what is computed of such)
//   single  one element (a learning rate, and what is computed of such)
//   column  all axes but the last `row_axes` are reduced away; only as an output
//   scalar  everything is reduced away; only as an output
// Elementwise instructions name ops of the table by name with their attributes; they
// compute in the dtypes that the op's own kernels would, so that a fused program gives
// the bits of the unfused ops wherever no reduction is involved.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "op/op_def.h"

namespace tandem {

struct FusedInstruction {
  enum class Kind : uint8_t { kElementwise, kRowReduce, kColumnReduce, kAllReduce };
  Kind kind = Kind::kElementwise;
  /// An elementwise op of the table ("Mul", "Cast"); for reductions "Sum", "Max", "Min",
  /// "Prod" or "Mean".
  std::string op;
  Attrs attrs;  // of elementwise ops that have some; empty: the op's defaults
  DType dtype = DType::kInvalid;  // of the result
  std::vector<int32_t> arguments;
};

struct FusedProgram {
  int32_t num_inputs = 0;
  int32_t row_axes = 0;  // trailing axes that row and column forms are about
  std::vector<DType> input_dtypes;
  std::vector<FusedInstruction> instructions;
  std::vector<int32_t> outputs;  // values, inputs not among them

  int32_t num_values() const {
    return num_inputs + static_cast<int32_t>(instructions.size());
  }
  DType dtype(int32_t value) const {
    return value < num_inputs
               ? input_dtypes[static_cast<size_t>(value)]
               : instructions[static_cast<size_t>(value - num_inputs)].dtype;
  }
  /// One line; equal programs have equal text, whatever the shapes they will run on:
  /// "in float32,float32 rows 1; 2=Mul(0,1):float32; 3=row Sum(2):float32; out 2,3".
  /// Reductions are marked row, column or all; attributes follow the op's name as JSON:
  /// "1=LeakyRelu{"alpha": 0.2}(0):float32".
  std::string text() const;
  /// Throws InvalidArgumentError for text that is none. parse(p.text()) is p.
  static FusedProgram parse(const std::string& text);
  /// Throws InvalidArgumentError that names the instruction: arguments must come before
  /// it and fit its op, results of column and all reductions are nobody's argument,
  /// outputs are results of instructions.
  void validate() const;
};

/// Attributes of `Fused` (inputs: the program's; outputs: its outputs, full: the domain's
/// shape, row: the domain's with trailing axes of size 1, column: the trailing axes,
/// scalar: []) and of `FusedMulti` (the same program over `groups` independent groups of
/// inputs, group after group; outputs group after group; each group has a domain of its
/// own, its reductions too). An output may be given the memory of a full input of the
/// same size in bytes.
struct FusedAttrs {
  std::string program;
  int64_t groups = 1;
  TANDEM_ATTRS(FusedAttrs, program, groups)
};

/// Shapes of all values of a valid program for the given input shapes (known or partly
/// known). Throws InvalidArgumentError when they do not broadcast.
std::vector<Shape> fused_value_shapes(const FusedProgram& program,
                                      std::span<const Shape> inputs);
/// The same for the program's outputs alone.
std::vector<Shape> fused_output_shapes(const FusedProgram& program,
                                       std::span<const Shape> inputs);
/// The shape to which all inputs broadcast.
Shape fused_domain(std::span<const Shape> inputs);

}  // namespace tandem
