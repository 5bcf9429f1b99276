#include "kernels/cuda/fused_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/cuda/elementwise_text.h"
#include "kernels/cuda/expression.h"
#include "kernels/cuda/fused_writer.h"
#include "kernels/cuda/program.h"

namespace tandem::cuda {

std::vector<int32_t> values_of(const FusedProgram& p, FusedKind kind) {
  std::vector<int32_t> values;
  for (size_t k = 0; k < p.instructions.size(); ++k) {
    if (p.instructions[k].kind == kind) {
      values.push_back(p.num_inputs + static_cast<int32_t>(k));
    }
  }
  return values;
}

bool is_elementwise(const FusedProgram& p) {
  return values_of(p, FusedKind::kElementwise).size() == p.instructions.size();
}

std::vector<FusedValueForm> value_forms(const FusedProgram& p, const FusedForm& form) {
  std::vector<FusedValueForm> forms;
  for (int32_t i = 0; i < p.num_inputs; ++i) {
    forms.push_back(form.row_input[static_cast<size_t>(i)] ? FusedValueForm::kRow
                                                           : FusedValueForm::kFull);
  }
  for (const FusedInstruction& instruction : p.instructions) {
    bool row = instruction.kind != FusedKind::kElementwise;
    if (!row) {
      row = std::all_of(instruction.arguments.begin(), instruction.arguments.end(),
                        [&](int32_t a) {
                          return forms[static_cast<size_t>(a)] == FusedValueForm::kRow;
                        });
    }
    forms.push_back(row ? FusedValueForm::kRow : FusedValueForm::kFull);
  }
  return forms;
}

bool one_pass(const FusedProgram& p, const FusedForm& form) {
  const auto columns = values_of(p, FusedKind::kColumnReduce);
  const auto all = values_of(p, FusedKind::kAllReduce);
  if (!values_of(p, FusedKind::kRowReduce).empty() || (columns.empty() && all.empty())) {
    return false;
  }
  for (size_t k = 0; k < p.outputs.size(); ++k) {
    const auto is = [&](int32_t v) { return v == p.outputs[k]; };
    if (!form.full_output[k] && std::none_of(columns.begin(), columns.end(), is) &&
        std::none_of(all.begin(), all.end(), is)) {
      return false;
    }
  }
  return true;
}

const char* combine_text(const std::string& op) {
  if (op == "Max") return "[](auto a, auto b) { return f_maximum(a, b); }";
  if (op == "Min") return "[](auto a, auto b) { return f_minimum(a, b); }";
  if (op == "Prod") return "[](auto a, auto b) { return f_mul(a, b); }";
  return "[](auto a, auto b) { return f_add(a, b); }";
}

std::string FusedWriter::storage(int32_t v) const { return type_text(p_.dtype(v)); }

bool FusedWriter::row(int32_t v) const {
  return forms_[static_cast<size_t>(v)] == FusedValueForm::kRow;
}

const FusedInstruction& FusedWriter::instruction(int32_t v) const {
  return p_.instructions[static_cast<size_t>(v - p_.num_inputs)];
}

std::string FusedWriter::compute(int32_t v) const {
  return fmt::format("compute_of<{}>::type", storage(v));
}

std::string FusedWriter::initial(int32_t v) const {
  const std::string& op = instruction(v).op;
  if (op == "Max") return fmt::format("lowest_of<{}>()", compute(v));
  if (op == "Min") return fmt::format("highest_of<{}>()", compute(v));
  return fmt::format("{}({})", compute(v), op == "Prod" ? 1 : 0);
}

std::string FusedWriter::argument(int32_t v) const {
  return fmt::format("({})v{}", compute(v), instruction(v).arguments[0]);
}

std::string FusedWriter::finished(int32_t v, const std::string& sum,
                                  const std::string& n) const {
  if (instruction(v).op == "Mean") {
    return fmt::format("rounded<{}>(mean_of({}, {}))", storage(v), sum, n);
  }
  return fmt::format("rounded<{}>({})", storage(v), sum);
}

std::vector<bool> FusedWriter::needed(const std::vector<int32_t>& targets) const {
  std::vector<bool> need(static_cast<size_t>(p_.num_values()), false);
  for (int32_t t : targets) need[static_cast<size_t>(t)] = true;
  for (int32_t v = p_.num_values() - 1; v >= p_.num_inputs; --v) {
    if (!need[static_cast<size_t>(v)] || instruction(v).kind != FusedKind::kElementwise) {
      continue;
    }
    for (int32_t a : instruction(v).arguments) need[static_cast<size_t>(a)] = true;
  }
  return need;
}

std::string FusedWriter::offset_function(const char* name, int rank, int dims,
                                         bool lead) const {
  std::string text = fmt::format(
      "inline void {}(const Args& a, i64 at, i64* to) {{\n  for (int i = 0; i < {}; "
      "++i) to[i] = 0;\n",
      name, std::max(1, p_.num_inputs));
  for (int d = rank - 1; d >= 0; --d) {
    text += d > 0 ? fmt::format(
                        "  {{ const i64 size = (i64)a.w[{}], c = at % size; at "
                        "/= size;\n",
                        dims + d)
                  : "  { const i64 c = at;\n";
    for (int32_t i = 0; i < p_.num_inputs; ++i) {
      text += fmt::format("    to[{}] += c * (i64)a.w[{}];\n", i,
                          (lead ? w_.lead_strides(i) : w_.trail_strides(i)) + d);
    }
    text += "  }\n";
  }
  return text + "}\n";
}

std::string FusedWriter::pointers() const {
  std::string text = fmt::format("  if (stopped(a.w[{}])) return;\n", w_.guard());
  for (int32_t i = 0; i < p_.num_inputs; ++i) {
    text += fmt::format("  const {0}* p{1} = (const {0}*)a.w[{1}];\n", storage(i), i);
  }
  for (size_t k = 0; k < p_.outputs.size(); ++k) {
    text += fmt::format("  {0}* q{1} = ({0}*)a.w[{2}];\n", storage(p_.outputs[k]), k,
                        w_.inputs + static_cast<int>(k));
  }
  text += fmt::format("  const i64 rows = (i64)a.w[{}], cols = (i64)a.w[{}];\n",
                      w_.rows(), w_.cols());
  return text + fmt::format("  int fail = 0;\n  i64 at[{0}], in[{0}];\n",
                            std::max(1, p_.num_inputs));
}

std::string FusedWriter::row_scope(const std::vector<bool>& need,
                                   const RowReduction& reduce) const {
  std::string text;
  for (int32_t i = 0; i < p_.num_inputs; ++i) {
    if (row(i) && need[static_cast<size_t>(i)]) {
      text += fmt::format("    const {0} v{1} = get(p{1}[at[{1}]]);\n", compute(i), i);
    }
  }
  for (int32_t v = p_.num_inputs; v < p_.num_values(); ++v) {
    if (!row(v) || !need[static_cast<size_t>(v)]) continue;
    if (instruction(v).kind == FusedKind::kRowReduce) {
      text += reduce(v);
    } else if (instruction(v).kind == FusedKind::kElementwise) {
      text += line(v);
    }
  }
  return text;
}

std::string FusedWriter::line(int32_t v) const {
  std::vector<bool> only(static_cast<size_t>(p_.num_values()), false);
  only[static_cast<size_t>(v)] = true;
  return "  " + instruction_lines(p_, only);
}

std::string FusedWriter::column_scope(const std::vector<bool>& need) const {
  std::string text = "      trail_at(a, col, in);\n";
  for (int32_t i = 0; i < p_.num_inputs; ++i) {
    if (!row(i) && need[static_cast<size_t>(i)]) {
      text += fmt::format("      const {0} v{1} = get(p{1}[at[{1}] + in[{1}]]);\n",
                          compute(i), i);
    }
  }
  std::vector<bool> full = need;
  for (int32_t v = 0; v < p_.num_values(); ++v) {
    if (row(v)) full[static_cast<size_t>(v)] = false;
  }
  return text + instruction_lines(p_, full);
}

std::string FusedWriter::report() const {
  return fmt::format(
      "  if (fail) report_bad((ReportFlags*)a.w[{}], 1, (i32)a.w[{}], fail, 0, "
      "0);\n}}\n",
      w_.flags(), w_.site());
}

std::string FusedWriter::rows_kernel() const {
  std::vector<int32_t> wanted = values_of(p_, FusedKind::kRowReduce);
  std::vector<int32_t> full;
  for (size_t k = 0; k < p_.outputs.size(); ++k) {
    const int32_t v = p_.outputs[k];
    if (v >= p_.num_inputs && (instruction(v).kind == FusedKind::kColumnReduce ||
                               instruction(v).kind == FusedKind::kAllReduce)) {
      continue;
    }
    wanted.push_back(v);
    if (form_.full_output[k]) full.push_back(v);
  }
  // Reductions need their arguments' values at the row's scope too.
  for (int32_t v : values_of(p_, FusedKind::kRowReduce)) {
    wanted.push_back(instruction(v).arguments[0]);
  }
  const std::vector<bool> need = needed(wanted);
  std::string text =
      "extern \"C\" __global__ void __launch_bounds__(256) rows(const Args a) {\n" +
      pointers();
  text += "  for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {\n";
  text += "    lead_at(a, r, at);\n";
  text += row_scope(need, [&](int32_t v) { return row_reduction(v); });
  text += kept_row_values();
  if (!full.empty()) {
    text += "    for (i64 col = threadIdx.x; col < cols; col += blockDim.x) {\n";
    text += column_scope(needed(full));
    text += stores(true) + "    }\n";
  }
  text += "    if (threadIdx.x == 0) {\n" + stores(false) + "    }\n  }\n";
  return text + report();
}

std::string FusedWriter::row_reduction(int32_t v) const {
  const std::string& op = instruction(v).op;
  std::string text = fmt::format("    {} s{} = {};\n", compute(v), v, initial(v));
  text += "    for (i64 col = threadIdx.x; col < cols; col += blockDim.x) {\n";
  text += column_scope(needed({instruction(v).arguments[0]}));
  text += fmt::format("      s{0} = ({1})(s{0}, {2});\n    }}\n", v, combine_text(op),
                      argument(v));
  text += fmt::format(
      "    const {0} v{1} = {2};\n", compute(v), v,
      finished(v, fmt::format("block_reduce(s{}, {})", v, combine_text(op)), "cols"));
  return text;
}

std::string FusedWriter::kept_row_values() const {
  if (values_of(p_, FusedKind::kColumnReduce).empty() &&
      values_of(p_, FusedKind::kAllReduce).empty()) {
    return {};
  }
  std::string text;
  const auto values = values_of(p_, FusedKind::kRowReduce);
  for (size_t k = 0; k < values.size(); ++k) {
    text += fmt::format(
        "    if (threadIdx.x == 0) *({}*)(a.w[{}] + ({} * rows + r) * 16) = v{};\n",
        compute(values[k]), w_.row_values(), k, values[k]);
  }
  return text;
}

std::string FusedWriter::stores(bool full) const {
  std::string text;
  for (size_t k = 0; k < p_.outputs.size(); ++k) {
    const int32_t v = p_.outputs[k];
    if (v >= p_.num_inputs && (instruction(v).kind == FusedKind::kColumnReduce ||
                               instruction(v).kind == FusedKind::kAllReduce)) {
      continue;
    }
    if (form_.full_output[k] != full) continue;
    text += fmt::format("      q{}[{}] = put<{}>(v{});\n", k,
                        full ? "r * cols + col" : "r", storage(v), v);
  }
  return text;
}

std::string FusedWriter::element(const std::vector<int32_t>& reductions,
                                 bool writes) const {
  std::vector<int32_t> arguments;
  for (int32_t v : reductions) arguments.push_back(instruction(v).arguments[0]);
  for (size_t k = 0; writes && k < p_.outputs.size(); ++k) {
    if (form_.full_output[k] && !reduced(p_.outputs[k])) {
      arguments.push_back(p_.outputs[k]);
    }
  }
  const std::vector<bool> need = needed(arguments);
  const auto kept = values_of(p_, FusedKind::kRowReduce);
  std::string text = "      lead_at(a, r, at);\n";
  text += row_scope(need, [&](int32_t v) {
    const auto k = std::find(kept.begin(), kept.end(), v) - kept.begin();
    return fmt::format(
        "    const {0} v{1} = *(const {0}*)(a.w[{2}] + ({3} * rows + r) * 16);\n",
        compute(v), v, w_.row_values(), k);
  });
  text += column_scope(need);
  for (int32_t v : reductions) {
    text += fmt::format("      s{0} = ({1})(s{0}, {2});\n", v,
                        combine_text(instruction(v).op), argument(v));
  }
  return writes ? text + stores(true) : text;
}

bool FusedWriter::reduced(int32_t v) const {
  return v >= p_.num_inputs && (instruction(v).kind == FusedKind::kColumnReduce ||
                                instruction(v).kind == FusedKind::kAllReduce);
}

std::string FusedWriter::text() const {
  std::string text = text_prefix(program_needs_special(p_));
  text += device_text("fused.cuh");
  text += fmt::format("struct Args {{ u64 w[{}]; }};\nstruct Groups {{ Args g[{}]; }};\n",
                      w_.total(), form_.groups);
  text += offset_function("lead_at", w_.lead, w_.lead_dims(), true);
  text += offset_function("trail_at", w_.trail, w_.trail_dims(), false);
  text += rows_kernel();
  const auto columns = values_of(p_, FusedKind::kColumnReduce);
  const auto all = values_of(p_, FusedKind::kAllReduce);
  if (!columns.empty()) text += columns_kernel(columns) + finish_columns(columns);
  if (form_.wide) text += wide_columns_kernel(columns);
  if (!all.empty()) text += all_kernel(all) + finish_all(all);
  return text;
}

std::string fused_text(const FusedProgram& program, const FusedForm& form) {
  return FusedWriter(program, form).text();
}

}  // namespace tandem::cuda
