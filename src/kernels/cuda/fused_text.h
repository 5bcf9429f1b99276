// The text of fused programs with reductions. Three kernels at most: `rows` (one block
// per row: row reductions, then full and row outputs), `columns` and `all` (sums of
// columns and of everything, and full outputs where there are no row reductions) with
// `finish_columns` and `finish_all`, which put the parts together in a fixed order; a sum
// of one part needs neither. `wide_columns` is `columns` by 16 bytes at a time. Pure
// functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "op/fused_program.h"

namespace tandem::cuda {

using FusedKind = FusedInstruction::Kind;

enum class FusedValueForm : uint8_t { kFull, kRow };

/// What the text depends on besides the program.
struct FusedForm {
  std::vector<bool> row_input;    // per input: one element per row
  std::vector<bool> full_output;  // per output: as large as the domain
  int lead = 0, trail = 0;        // dimensions of the row and column index
  int wide = 0;     // columns to a thread in `wide_columns`; 0: there is no such kernel
  int across = 32;  // its threads to a row of the block's 256
  int groups = 1;   // of one launch of `wide_columns` and `finish_columns`
  bool operator==(const FusedForm&) const = default;
};

/// Where things are among the 64-bit words of the argument.
struct FusedWords {
  int inputs, outputs, lead, trail;
  int row_values() const { return inputs + outputs; }  // workspace addresses
  int columns_part() const { return row_values() + 1; }
  int all_part() const { return row_values() + 2; }
  int rows() const { return row_values() + 3; }
  int cols() const { return rows() + 1; }
  int parts() const { return rows() + 2; }
  int flags() const { return rows() + 3; }
  int site() const { return rows() + 4; }
  int guard() const { return rows() + 5; }
  int lead_dims() const { return rows() + 6; }
  int lead_strides(int input) const { return lead_dims() + lead * (1 + input); }
  int trail_dims() const { return lead_dims() + lead * (1 + inputs); }
  int trail_strides(int input) const { return trail_dims() + trail * (1 + input); }
  int total() const { return trail_dims() + trail * (1 + inputs); }
};

std::vector<FusedValueForm> value_forms(const FusedProgram& program,
                                        const FusedForm& form);
/// Instructions of a kind, as value numbers.
std::vector<int32_t> values_of(const FusedProgram& program, FusedInstruction::Kind kind);
bool is_elementwise(const FusedProgram& program);

/// Whether the first kernel over columns (or over everything) writes the other outputs on
/// its way, so that there is no kernel over rows.
bool one_pass(const FusedProgram& program, const FusedForm& form);

std::string fused_text(const FusedProgram& program, const FusedForm& form);

inline constexpr int kMultiWords = 500;
/// Words before the groups: flags, site, guard, number of groups.
inline constexpr int kMultiHead = 4;
/// Words of a group behind its pointers: elements, its first block, its blocks.
inline constexpr int kMultiTail = 3;
/// Elementwise over several groups at once: kernel `multi`. Each group has inputs,
/// outputs and its tail among the words, and as many blocks as it has work for.
/// `words`: of the argument, at most kMultiWords.
std::string multi_text(const FusedProgram& program, uint32_t scalars,
                       int words = kMultiWords);

}  // namespace tandem::cuda
