// The text of one elementwise program over many groups of tensors (optimizer updates):
// the pointers of all groups are among the words of the argument, with the blocks that
// each has.
#include <fmt/format.h>

#include "kernels/cuda/elementwise_text.h"
#include "kernels/cuda/expression.h"
#include "kernels/cuda/fused_text.h"
#include "kernels/cuda/program.h"

namespace tandem::cuda {

std::string multi_text(const FusedProgram& p, uint32_t scalars, int words) {
  const int pointers = p.num_inputs + static_cast<int>(p.outputs.size());
  const int lanes = vector_elements(p, {.scalars = scalars});
  const auto scalar = [&](int32_t i) { return (scalars >> i & 1) != 0; };
  std::string text = text_prefix(program_needs_special(p));
  text += fmt::format("struct Args {{ u64 w[{}]; }};\n", words);
  text += "extern \"C\" __global__ void __launch_bounds__(256) multi(const Args a) {\n";
  // Asked first and looked at last: meanwhile the inputs are on their way.
  text += "  const bool stop = stopped(a.w[2]);\n";
  // The last group that begins at this block or before it.
  text += fmt::format(
      "  int group = 0;\n"
      "  for (int end = (int)a.w[3]; end - group > 1;) {{\n"
      "    const int middle = (group + end) / 2;\n"
      "    if (a.w[{0} + middle * {1} + {2}] <= blockIdx.x) group = middle;\n"
      "    else end = middle;\n"
      "  }}\n"
      "  const u64* g = a.w + {0} + group * {1};\n"
      "  const i64 first = (i64)(blockIdx.x - g[{2}]) * 256 + threadIdx.x;\n"
      "  const i64 step = (i64)g[{3}] * 256;\n",
      kMultiHead, pointers + kMultiTail, pointers + 1, pointers + 2);
  text += "  int fail = 0;\n  u64 together = 0;\n";
  std::string body, stores;
  for (int32_t i = 0; i < p.num_inputs; ++i) {
    const char* type = type_text(p.dtype(i));
    text += fmt::format("  const {0}* p{1} = (const {0}*)g[{1}];\n", type, i);
    if (scalar(i)) {
      text += fmt::format("  const auto v{0} = get(p{0}[0]);\n", i);
    } else {
      text += fmt::format("  together |= g[{}] % (sizeof({}) * {});\n", i, type, lanes);
    }
  }
  for (size_t k = 0; k < p.outputs.size(); ++k) {
    const char* type = type_text(p.dtype(p.outputs[k]));
    const int at = p.num_inputs + static_cast<int>(k);
    text += fmt::format("  {0}* q{1} = ({0}*)g[{2}];\n", type, k, at);
    text += fmt::format("  together |= g[{}] % (sizeof({}) * {});\n", at, type, lanes);
  }
  text += fmt::format("  const i64 n = (i64)g[{}];\n", pointers);
  const auto loop = [&](bool vectors) {
    std::string inner;
    for (int32_t i = 0; i < p.num_inputs; ++i) {
      if (scalar(i)) continue;
      inner += fmt::format(
          "    const compute_of<{0}>::type v{1} = get({2});\n", type_text(p.dtype(i)), i,
          vectors ? fmt::format("x{}.v[e]", i) : fmt::format("p{}[i]", i));
    }
    inner += instruction_lines(p);
    if (!vectors) inner += "    if (stop) return;\n";
    for (size_t k = 0; k < p.outputs.size(); ++k) {
      inner +=
          fmt::format("    {} = put<{}>(v{});\n",
                      vectors ? fmt::format("y{}.v[e]", k) : fmt::format("q{}[i]", k),
                      type_text(p.dtype(p.outputs[k])), p.outputs[k]);
    }
    return inner;
  };
  text += fmt::format("  const i64 whole = together == 0 ? n / {} : 0;\n", lanes);
  text += "  for (i64 j = first; j < whole; j += step) {\n";
  for (int32_t i = 0; i < p.num_inputs; ++i) {
    if (scalar(i)) continue;
    text +=
        fmt::format("    const vec<{0}, {1}> x{2} = ((const vec<{0}, {1}>*)p{2})[j];\n",
                    type_text(p.dtype(i)), lanes, i);
  }
  for (size_t k = 0; k < p.outputs.size(); ++k) {
    text +=
        fmt::format("    vec<{}, {}> y{};\n", type_text(p.dtype(p.outputs[k])), lanes, k);
  }
  text += fmt::format("#pragma unroll\n    for (int e = 0; e < {}; ++e) {{\n", lanes) +
          loop(true) + "    }\n";
  text += "    if (stop) return;\n";
  for (size_t k = 0; k < p.outputs.size(); ++k) {
    text += fmt::format("    ((vec<{0}, {1}>*)q{2})[j] = y{2};\n",
                        type_text(p.dtype(p.outputs[k])), lanes, k);
  }
  text += fmt::format(
      "  }}\n  for (i64 i = whole * {} + first; i < n; i += step) "
      "{{\n",
      lanes);
  text += loop(false) + "  }\n";
  return text +
         "  if (fail) report_bad((ReportFlags*)a.w[0], 1, (i32)a.w[1], fail, 0, 0);\n}\n";
}

}  // namespace tandem::cuda
