// What a fused program's values look like and when they are computed, for given accesses
// of its inputs. Part of compilation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/fused_geometry.h"
#include "op/fused_program.h"

namespace tandem::cpu {

class FusedForms {
 public:
  enum class Form : uint8_t { kSingle, kRow, kFull };

  FusedForms(const FusedProgram& program, std::span<const Access> access);

  Form form(int32_t value) const { return at(value).form; }
  /// An output depends on it.
  bool used(int32_t value) const { return at(value).used; }
  /// How many row reductions, one after another, have to be done before it.
  int32_t level(int32_t value) const { return at(value).level; }
  /// The pass over a row in which a full value is computed: as late as its users allow.
  int32_t phase(int32_t value) const { return at(value).phase; }
  /// The last pass that reads it.
  int32_t last_phase(int32_t value) const { return at(value).last_phase; }
  int32_t phases() const { return phases_; }
  /// The argument of a reduction over axes of size 1 alone, which changes nothing; -1 for
  /// all other values.
  int32_t same_as(int32_t value) const { return at(value).same_as; }
  /// Used reductions of a value, but those that change nothing.
  const std::vector<int32_t>& reductions_of(int32_t value) const {
    return at(value).reductions;
  }

 private:
  struct Value {
    Form form = Form::kSingle;
    bool used = false;
    int32_t level = 0, phase = 0, last_phase = 0, same_as = -1;
    std::vector<int32_t> reductions;
  };
  const Value& at(int32_t v) const { return values_[static_cast<size_t>(v)]; }
  Value& at(int32_t v) { return values_[static_cast<size_t>(v)]; }
  void find_used(const FusedProgram& program);
  void find_phases(const FusedProgram& program);

  std::vector<Value> values_;
  int32_t phases_ = 1;
};

}  // namespace tandem::cpu
