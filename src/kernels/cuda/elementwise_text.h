// The text of elementwise programs: one loop over the domain that reads the inputs,
// computes the instructions one after the other and writes the outputs. Two forms: flat
// (inputs are contiguous or one element; elements come in vectors of 16 bytes), and
// strided (inputs broadcast in any way). Pure functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "op/fused_program.h"

namespace tandem::cuda {

struct ElementwiseForm {
  bool strided = false;
  int rank = 0;             // strided: dimensions left after merging
  bool wide_index = false;  // more elements than 31 bits count
  uint32_t scalars = 0;     // flat: inputs that are one element
};

/// Elements of a vector in the flat form.
int vector_elements(const FusedProgram& program, const ElementwiseForm& form);

/// Kernels `any` and (flat) `vectors`, each with one argument: words in the order of
/// ElementwiseWords.
std::string elementwise_text(const FusedProgram& program, const ElementwiseForm& form);

/// Where things are among the 64-bit words of the argument: inputs, outputs, then these.
struct ElementwiseWords {
  int inputs, outputs;
  int count() const { return inputs + outputs; }
  int flags() const { return count() + 1; }
  int site() const { return count() + 2; }
  int guard() const { return count() + 3; }
  int dims() const { return count() + 4; }
  int strides(int input, int rank) const { return dims() + rank * (1 + input); }
  int total(int rank) const { return dims() + rank * (1 + inputs); }
};

/// The statements that compute every elementwise instruction from values v0, v1, …;
/// `skip(i)`-style selection is by `wanted` (empty: all). Each line ends in a newline.
std::string instruction_lines(const FusedProgram& program,
                              const std::vector<bool>& wanted = {});
bool program_needs_special(const FusedProgram& program);
/// The program of one op.
FusedProgram single_program(const OpDef& op, AttrsRef attrs,
                            const std::vector<DType>& inputs, DType output);

}  // namespace tandem::cuda
