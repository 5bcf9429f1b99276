// Writes the text of one fused program with reductions (fused_text.h says which kernels
// there are). The parts for rows are in fused_text.cc, those for columns and for
// everything in fused_columns_text.cc. Lives while a text is written; one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/cuda/fused_text.h"

namespace tandem::cuda {

class FusedWriter {
 public:
  FusedWriter(const FusedProgram& p, const FusedForm& form)
      : p_(p),
        form_(form),
        forms_(value_forms(p, form)),
        w_{p.num_inputs, static_cast<int>(p.outputs.size()), form.lead, form.trail} {}
  std::string text() const;

 private:
  using RowReduction = std::function<std::string(int32_t)>;

  std::string storage(int32_t v) const;
  bool row(int32_t v) const;
  const FusedInstruction& instruction(int32_t v) const;
  std::string compute(int32_t v) const;
  std::string initial(int32_t v) const;
  /// The reduction's argument in the type of its result.
  std::string argument(int32_t v) const;
  std::string finished(int32_t v, const std::string& sum, const std::string& n) const;
  /// Values that `targets` need, themselves included; stops at reductions.
  std::vector<bool> needed(const std::vector<int32_t>& targets) const;
  std::string offset_function(const char* name, int rank, int dims, bool lead) const;
  std::string pointers() const;
  /// Row inputs and row-form instructions, reductions by `reduce`, at the row's scope.
  std::string row_scope(const std::vector<bool>& need, const RowReduction& reduce) const;
  std::string line(int32_t v) const;
  /// Full inputs and full-form instructions of one element, inside a loop over columns.
  std::string column_scope(const std::vector<bool>& need) const;
  std::string report() const;
  std::string rows_kernel() const;
  std::string row_reduction(int32_t v) const;
  /// Row reductions are kept for the kernels over columns: 16 bytes each.
  std::string kept_row_values() const;
  std::string stores(bool full) const;
  /// One element in the kernels over columns: everything the reductions need, and the
  /// full outputs where `writes`.
  std::string element(const std::vector<int32_t>& reductions, bool writes) const;
  /// The value of a reduction over columns or over everything.
  bool reduced(int32_t v) const;

  std::string columns_kernel(const std::vector<int32_t>& reductions) const;
  /// The same with form_.wide columns to a thread, for form_.groups groups.
  std::string wide_columns_kernel(const std::vector<int32_t>& reductions) const;
  /// A block per 32 columns, 32 threads to a column.
  std::string finish_columns(const std::vector<int32_t>& reductions) const;
  std::string all_kernel(const std::vector<int32_t>& reductions) const;
  /// One block.
  std::string finish_all(const std::vector<int32_t>& reductions) const;
  std::string starts(const std::vector<int32_t>& reductions) const;
  std::string part_place(int32_t v, size_t k, int part_word, const char* width,
                         const char* at) const;
  /// What a block has added up goes to the parts, or is the result if there is one part.
  std::string partial(int32_t v, size_t k, int part_word, const char* width,
                      const char* at, const char* n) const;
  /// A thread's share of the parts, in order, as s{v}.
  std::string share(int32_t v, size_t k, int part_word, const char* width, const char* at,
                    const char* first, const char* by) const;
  /// A finished reduction into every output that is it.
  std::string results(int32_t v, const char* at, const char* n) const;

  const FusedProgram& p_;
  const FusedForm& form_;
  const std::vector<FusedValueForm> forms_;
  const FusedWords w_;
};

/// A function of two values of the reduction's type.
const char* combine_text(const std::string& op);

}  // namespace tandem::cuda
