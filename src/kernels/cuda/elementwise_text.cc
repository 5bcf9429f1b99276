#include "kernels/cuda/elementwise_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/cuda/expression.h"
#include "kernels/cuda/program.h"

namespace tandem::cuda {
namespace {

std::string storage_text(const FusedProgram& p, int32_t value) {
  return type_text(p.dtype(value));
}

bool is_scalar(const ElementwiseForm& form, int32_t i) {
  return !form.strided && (form.scalars >> i & 1);
}

/// "body(fail, get(p0[i0]), get(p1[0]), q0[o])" for the given places.
std::string call_text(const FusedProgram& p, const std::string& in,
                      const std::string& out, const ElementwiseForm& form) {
  std::string text = "body(fail";
  for (int32_t i = 0; i < p.num_inputs; ++i) {
    const std::string place = is_scalar(form, i)
                                  ? fmt::format("s{}", i)
                                  : fmt::format(fmt::runtime("get(" + in + ")"), i);
    text += ", " + place;
  }
  for (size_t k = 0; k < p.outputs.size(); ++k) {
    text += ", " + fmt::format(fmt::runtime(out), k);
  }
  return text + ");";
}

std::string body_text(const FusedProgram& p) {
  std::string text = "inline void body(int& fail";
  for (int32_t i = 0; i < p.num_inputs; ++i) {
    text += fmt::format(", const compute_of<{}>::type v{}", storage_text(p, i), i);
  }
  for (size_t k = 0; k < p.outputs.size(); ++k) {
    text += fmt::format(", {}& o{}", storage_text(p, p.outputs[k]), k);
  }
  text += ") {\n" + instruction_lines(p);
  for (size_t k = 0; k < p.outputs.size(); ++k) {
    text += fmt::format("  o{} = put<{}>(v{});\n", k, storage_text(p, p.outputs[k]),
                        p.outputs[k]);
  }
  return text + "}\n";
}

/// Pointers of the inputs and outputs, values of single elements, count and `fail`.
std::string opening(const FusedProgram& p, const ElementwiseForm& form) {
  const ElementwiseWords w{p.num_inputs, static_cast<int>(p.outputs.size())};
  std::string text = fmt::format("  if (stopped(a.w[{}])) return;\n", w.guard());
  for (int32_t i = 0; i < p.num_inputs; ++i) {
    text +=
        fmt::format("  const {0}* p{1} = (const {0}*)a.w[{1}];\n", storage_text(p, i), i);
    if (is_scalar(form, i)) text += fmt::format("  const auto s{0} = get(p{0}[0]);\n", i);
  }
  for (size_t k = 0; k < p.outputs.size(); ++k) {
    text += fmt::format("  {0}* q{1} = ({0}*)a.w[{2}];\n", storage_text(p, p.outputs[k]),
                        k, w.inputs + static_cast<int>(k));
  }
  return text + fmt::format("  const I n = (I)a.w[{}];\n  int fail = 0;\n", w.count());
}

std::string closing(const ElementwiseWords& w) {
  return fmt::format(
      "  if (fail) report_bad((ReportFlags*)a.w[{}], 1, (i32)a.w[{}], fail, 0, 0);\n}}\n",
      w.flags(), w.site());
}

constexpr const char* kLoop =
    "  for (I i = (I)global_thread(); i < n; i += (I)global_threads()) {\n";

std::string strided_loop(const FusedProgram& p, const ElementwiseForm& form) {
  const ElementwiseWords w{p.num_inputs, static_cast<int>(p.outputs.size())};
  std::string text = kLoop;
  text += "    I rest = i;\n";
  for (int32_t i = 0; i < p.num_inputs; ++i) text += fmt::format("    I at{} = 0;\n", i);
  for (int d = form.rank - 1; d >= 0; --d) {
    if (d > 0) {
      text +=
          fmt::format("    {{ const I size = (I)a.w[{}], c = rest % size; rest /= size;",
                      w.dims() + d);
    } else {
      text += "    { const I c = rest;";
    }
    for (int32_t i = 0; i < p.num_inputs; ++i) {
      text += fmt::format(" at{} += c * (I)a.w[{}];", i, w.strides(i, form.rank) + d);
    }
    text += " }\n";
  }
  return text + "    " + call_text(p, "p{0}[at{0}]", "q{0}[i]", form) + "\n  }\n";
}

/// Whether a thread takes two vectors at a time: short programs over one or two tensors
/// have too little on its way to memory otherwise.
bool in_pairs(const FusedProgram& p, const ElementwiseForm& form) {
  constexpr size_t kShort = 6;  // instructions
  int tensors = 0;
  for (int32_t i = 0; i < p.num_inputs; ++i) tensors += !is_scalar(form, i);
  return tensors <= 2 && p.instructions.size() <= kShort;
}

/// Loads of the vectors at `place` into x{i}{name}; where `there` is not empty, only if
/// it holds.
std::string vector_loads(const FusedProgram& p, const ElementwiseForm& form, int lanes,
                         const char* name, const char* place, const char* there) {
  std::string text;
  for (int32_t i = 0; i < p.num_inputs; ++i) {
    if (is_scalar(form, i)) continue;
    text += fmt::format(
        "    vec<{0}, {1}> x{2}{3};\n    {5}x{2}{3} = ((const vec<{0}, "
        "{1}>*)p{2})[{4}];\n",
        storage_text(p, i), lanes, i, name, place, there);
  }
  return text;
}
std::string vector_results(const FusedProgram& p, const ElementwiseForm& form, int lanes,
                           const char* name, const char* place) {
  std::string text;
  for (size_t k = 0; k < p.outputs.size(); ++k) {
    text +=
        fmt::format("    vec<{}, {}> y{};\n", storage_text(p, p.outputs[k]), lanes, k);
  }
  text += fmt::format("#pragma unroll\n    for (int e = 0; e < {}; ++e) ", lanes);
  text += call_text(p, fmt::format("x{{0}}{}.v[e]", name), "y{0}.v[e]", form) + "\n";
  for (size_t k = 0; k < p.outputs.size(); ++k) {
    text += fmt::format("    ((vec<{}, {}>*)q{})[{}] = y{};\n",
                        storage_text(p, p.outputs[k]), lanes, k, place, k);
  }
  return text;
}

std::string vector_loop(const FusedProgram& p, const ElementwiseForm& form, int lanes) {
  const bool pairs = in_pairs(p, form);
  std::string text = fmt::format(
      "  const I whole = n / {}, step = (I)global_threads();\n"
      "  for (I j = (I)global_thread(); j < whole; j += {}step) {{\n",
      lanes, pairs ? "2 * " : "");
  text += vector_loads(p, form, lanes, "a", "j", "");
  if (pairs) {
    text += "    const bool two = j + step < whole;\n";
    text += vector_loads(p, form, lanes, "b", "j + step", "if (two) ");
  }
  text += "    {\n" + vector_results(p, form, lanes, "a", "j") + "    }\n";
  if (pairs) {
    text +=
        "    if (two) {\n" + vector_results(p, form, lanes, "b", "j + step") + "    }\n";
  }
  text += fmt::format(
      "  }}\n  for (I i = whole * {} + (I)global_thread(); i < n; i += "
      "(I)global_threads()) ",
      lanes);
  return text + call_text(p, "p{0}[i]", "q{0}[i]", form) + "\n";
}

}  // namespace

bool program_needs_special(const FusedProgram& program) {
  return std::any_of(program.instructions.begin(), program.instructions.end(),
                     [](const FusedInstruction& i) {
                       return i.kind == FusedInstruction::Kind::kElementwise &&
                              needs_special_functions(OpTable::get().at(i.op));
                     });
}

std::string instruction_lines(const FusedProgram& p, const std::vector<bool>& wanted) {
  std::string text;
  for (size_t k = 0; k < p.instructions.size(); ++k) {
    const FusedInstruction& instruction = p.instructions[k];
    const int32_t value = p.num_inputs + static_cast<int32_t>(k);
    if (!wanted.empty() && !wanted[static_cast<size_t>(value)]) continue;
    if (instruction.kind != FusedInstruction::Kind::kElementwise) continue;
    std::vector<Operand> operands;
    for (int32_t argument : instruction.arguments) {
      operands.push_back({fmt::format("v{}", argument), p.dtype(argument)});
    }
    text += fmt::format(
        "  const compute_of<{}>::type v{} = {};\n", type_text(instruction.dtype), value,
        instruction_text(OpTable::get().at(instruction.op), instruction.attrs.ref(),
                         operands, instruction.dtype));
  }
  return text;
}

int vector_elements(const FusedProgram& p, const ElementwiseForm& form) {
  size_t widest = 1;
  for (int32_t i = 0; i < p.num_inputs; ++i) {
    if (!is_scalar(form, i)) widest = std::max(widest, dtype_size(p.dtype(i)));
  }
  for (int32_t output : p.outputs) widest = std::max(widest, dtype_size(p.dtype(output)));
  return static_cast<int>(16 / std::min<size_t>(widest, 16));
}

std::string elementwise_text(const FusedProgram& p, const ElementwiseForm& form) {
  const ElementwiseWords w{p.num_inputs, static_cast<int>(p.outputs.size())};
  std::string text = text_prefix(program_needs_special(p));
  text += fmt::format("typedef {} I;\n", form.wide_index ? "i64" : "u32");
  text += fmt::format("struct Args {{ u64 w[{}]; }};\n", w.total(form.rank));
  text += body_text(p);
  const auto kernel = [&](const char* name, const std::string& loop) {
    text += fmt::format(
        "extern \"C\" __global__ void __launch_bounds__(256) {}(const Args a) {{\n{}{}{}",
        name, opening(p, form), loop, closing(w));
  };
  if (form.strided) {
    kernel("any", strided_loop(p, form));
    return text;
  }
  kernel("any", kLoop + ("    " + call_text(p, "p{0}[i]", "q{0}[i]", form)) + "\n  }\n");
  const int lanes = vector_elements(p, form);
  if (lanes > 1) kernel("vectors", vector_loop(p, form, lanes));
  return text;
}

FusedProgram single_program(const OpDef& op, AttrsRef attrs,
                            const std::vector<DType>& inputs, DType output) {
  FusedProgram p;
  p.num_inputs = static_cast<int32_t>(inputs.size());
  p.input_dtypes = inputs;
  FusedInstruction instruction;
  instruction.op = op.name;
  if (attrs.data) instruction.attrs = Attrs(attrs);
  instruction.dtype = output;
  for (int32_t i = 0; i < p.num_inputs; ++i) instruction.arguments.push_back(i);
  p.instructions.push_back(std::move(instruction));
  p.outputs = {p.num_inputs};
  return p;
}

}  // namespace tandem::cuda
