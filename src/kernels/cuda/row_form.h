// How softmax and its kin keep a contiguous row while they compute with it, so that it is
// read from memory once: in the registers of a team of threads (device/row_team.cuh), or
// in a block's shared memory (device/row_shared.cuh). Longer rows are read again
// (device/rows.cuh). Pure but for plan_rows; any thread.
#pragma once

#include <optional>
#include <string>

#include "kernels/cuda/program.h"

namespace tandem::cuda {

struct RowForm {
  int team = 0, chunks = 0;  // threads of a row, 16 bytes for each; 0: not in registers
  size_t shared = 0;         // bytes of a block; 0: not in shared memory
  unsigned threads = 256;
  int resident = 1;  // blocks that a multiprocessor has room for
  bool is_kept() const { return team > 0 || shared > 0; }
  bool operator==(const RowForm&) const = default;
};
/// For rows of n elements, of which `tensors` are kept at a time. Lengths that are close
/// to each other share a form, and so a program.
RowForm row_form(DType dtype, int64_t n, int tensors, int arch);
/// The program of a form that keeps rows; `kernels`: the file under device/ that has the
/// kernels.
std::string kept_rows_text(DType dtype, const RowForm& form, const char* kernels);

/// A kernel that keeps rows, and its grid.
struct RowKernel {
  Function function;
  Grid grid;
};
/// Nothing where rows of this length are not kept.
std::optional<RowKernel> plan_rows(const Signature& s, DType dtype, int64_t rows,
                                   int64_t n, int tensors, const char* kernels,
                                   const char* entry);

}  // namespace tandem::cuda
