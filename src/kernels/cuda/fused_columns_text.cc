// The kernels of a fused program over columns and over everything.
#include <fmt/format.h>

#include "kernels/cuda/elementwise_text.h"
#include "kernels/cuda/fused_writer.h"
#include "kernels/cuda/program.h"

namespace tandem::cuda {

std::string FusedWriter::starts(const std::vector<int32_t>& reductions) const {
  std::string text;
  for (int32_t v : reductions) {
    text += fmt::format("    {} s{} = {};\n", compute(v), v, initial(v));
  }
  return text;
}

std::string FusedWriter::columns_kernel(const std::vector<int32_t>& reductions) const {
  std::string text =
      "extern \"C\" __global__ void __launch_bounds__(256) columns(const Args a) {\n" +
      pointers();
  text += fmt::format(
      "  const i64 parts = (i64)a.w[{}], share = (rows + parts - 1) / parts;\n"
      "  const i64 tiles = (cols + 31) / 32;\n"
      "  for (i64 job = blockIdx.x; job < tiles * parts; job += gridDim.x) {{\n"
      "    const i64 col = job % tiles * 32 + threadIdx.x % 32, part = job / tiles;\n"
      "    const i64 begin = part * share, limit = begin + share;\n"
      "    const i64 end = col >= cols ? 0 : limit < rows ? limit : rows;\n",
      w_.parts());
  text += starts(reductions);
  text += "#pragma unroll 4\n";
  text += "    for (i64 r = begin + threadIdx.x / 32; r < end; r += 8) {\n";
  text += element(reductions, one_pass(p_, form_)) + "    }\n";
  for (size_t k = 0; k < reductions.size(); ++k) {
    const int32_t v = reductions[k];
    text += fmt::format("    s{0} = column_reduce(s{0}, {1});\n", v,
                        combine_text(instruction(v).op));
    text += "    if (threadIdx.x < 32 && col < cols) {\n";
    text += partial(v, k, w_.columns_part(), "cols", "col", "rows") + "    }\n";
  }
  return text + "  }\n" + report();
}

std::string FusedWriter::wide_columns_kernel(
    const std::vector<int32_t>& reductions) const {
  // Threads of a block: `across` to a row of chunks.
  const int lanes = form_.wide, across = form_.across, down = 256 / across;
  std::vector<int32_t> wanted;
  for (int32_t v : reductions) wanted.push_back(instruction(v).arguments[0]);
  std::vector<size_t> written;
  for (size_t k = 0; k < p_.outputs.size(); ++k) {
    if (reduced(p_.outputs[k])) continue;
    wanted.push_back(p_.outputs[k]);
    written.push_back(k);
  }
  const std::vector<bool> need = needed(wanted);
  const auto vector_text = [&](int32_t v) {
    return fmt::format("vec<{}, {}>", storage(v), lanes);
  };
  std::string text =
      "extern \"C\" __global__ void __launch_bounds__(256) wide_columns(const Groups "
      "all) "
      "{\n  const Args& a = all.g[blockIdx.y];\n" +
      pointers();
  text += fmt::format(
      "  const i64 parts = (i64)a.w[{0}], share = (rows + parts - 1) / parts;\n"
      "  const i64 chunks = cols / {1}, tiles = (chunks + {2} - 1) / {2};\n"
      "  for (i64 job = blockIdx.x; job < tiles * parts; job += gridDim.x) {{\n"
      "    const i64 chunk = job % tiles * {2} + threadIdx.x % {2}, part = job / "
      "tiles;\n"
      "    const i64 begin = part * share, limit = begin + share;\n"
      "    const i64 end = chunk >= chunks ? 0 : limit < rows ? limit : rows;\n",
      w_.parts(), lanes, across);
  for (int32_t v : reductions) {
    text += fmt::format(
        "    {0} t{1}[{2}];\n#pragma unroll\n    for (int e = 0; e < {2}; ++e) t{1}[e] = "
        "{3};\n",
        compute(v), v, lanes, initial(v));
  }
  text += "#pragma unroll 4\n";
  text += fmt::format("    for (i64 r = begin + threadIdx.x / {}; r < end; r += {}) {{\n",
                      across, down);
  text += "      lead_at(a, r, at);\n";
  text += row_scope(need, [](int32_t) { return std::string(); });
  for (int32_t i = 0; i < p_.num_inputs; ++i) {
    if (row(i) || !need[static_cast<size_t>(i)]) continue;
    text += fmt::format(
        "      const {0} x{1} = *(const {0}*)(p{1} + at[{1}] + chunk * {2});\n",
        vector_text(i), i, lanes);
  }
  for (size_t k : written) {
    text += fmt::format("      {} y{};\n", vector_text(p_.outputs[k]), k);
  }
  text += fmt::format("#pragma unroll\n      for (int e = 0; e < {}; ++e) {{\n", lanes);
  std::vector<bool> full = need;
  for (int32_t v = 0; v < p_.num_values(); ++v) {
    if (row(v)) full[static_cast<size_t>(v)] = false;
    if (v < p_.num_inputs && full[static_cast<size_t>(v)]) {
      text += fmt::format("  const {0} v{1} = get(x{1}.v[e]);\n", compute(v), v);
    }
  }
  text += instruction_lines(p_, full);
  for (int32_t v : reductions) {
    text += fmt::format("  t{0}[e] = ({1})(t{0}[e], {2});\n", v,
                        combine_text(instruction(v).op), argument(v));
  }
  for (size_t k : written) {
    text += fmt::format("  y{}.v[e] = put<{}>(v{});\n", k, storage(p_.outputs[k]),
                        p_.outputs[k]);
  }
  text += "      }\n";
  for (size_t k : written) {
    text += fmt::format("      *({0}*)(q{1} + r * cols + chunk * {2}) = y{1};\n",
                        vector_text(p_.outputs[k]), k, lanes);
  }
  text += "    }\n";
  // Each column's sums are put together by one thread.
  for (size_t k = 0; k < reductions.size(); ++k) {
    const int32_t v = reductions[k];
    text += fmt::format(
        "    {{\n      {0}* const space = ({0}*)block_space;\n"
        "      __syncthreads();\n#pragma unroll\n"
        "      for (int e = 0; e < {1}; ++e) space[threadIdx.x * {1} + e] = t{2}[e];\n"
        "      __syncthreads();\n"
        "      for (int i = threadIdx.x; i < {5} * {1}; i += 256) {{\n"
        "        const i64 col = job % tiles * ({5} * {1}) + i;\n"
        "        {0} s{2} = space[i];\n"
        "        for (int k = 1; k < {6}; ++k) s{2} = ({3})(s{2}, space[k * {5} * {1} + "
        "i]);\n"
        "        if (col < cols) {{\n{4}        }}\n      }}\n    }}\n",
        compute(v), lanes, v, combine_text(instruction(v).op),
        partial(v, k, w_.columns_part(), "cols", "col", "rows"), across, down);
  }
  return text + "  }\n" + report();
}

std::string FusedWriter::finish_columns(const std::vector<int32_t>& reductions) const {
  std::string text =
      "extern \"C\" __global__ void __launch_bounds__(1024) finish_columns(const "
      "Groups all) {\n  const Args& a = all.g[blockIdx.y];\n" +
      pointers();
  // Of several groups, some may be one part and finished.
  text += fmt::format("  const i64 parts = (i64)a.w[{}];\n  if (parts < 2) return;\n",
                      w_.parts());
  text +=
      "  for (i64 tile = blockIdx.x; tile < (cols + 31) / 32; tile += gridDim.x) {\n"
      "    const i64 col = tile * 32 + threadIdx.x % 32;\n"
      "    const i64 end = col < cols ? parts : 0;\n";
  for (size_t k = 0; k < reductions.size(); ++k) {
    const int32_t v = reductions[k];
    text += share(v, k, w_.columns_part(), "cols", "col", "threadIdx.x / 32",
                  "blockDim.x / 32");
    text += fmt::format(
        "    s{0} = column_reduce(s{0}, {1});\n    if (threadIdx.x < 32 && col < cols) "
        "{{\n{2}    }}\n",
        v, combine_text(instruction(v).op), results(v, "col", "rows"));
  }
  return text + "  }\n}\n";
}

std::string FusedWriter::all_kernel(const std::vector<int32_t>& reductions) const {
  const bool writes =
      one_pass(p_, form_) && values_of(p_, FusedKind::kColumnReduce).empty();
  std::string text =
      "extern \"C\" __global__ void __launch_bounds__(256) all(const Args a) {\n" +
      pointers();
  text += fmt::format(
      "  const i64 parts = (i64)a.w[{}], n = rows * cols, share = (n + parts - 1) / "
      "parts;\n"
      "  for (i64 part = blockIdx.x; part < parts; part += gridDim.x) {{\n"
      "    const i64 begin = part * share, limit = begin + share;\n"
      "    const i64 end = limit < n ? limit : n;\n",
      w_.parts());
  text += starts(reductions);
  text +=
      "    for (i64 e = begin + threadIdx.x; e < end; e += blockDim.x) {\n"
      "      const i64 r = e / cols, col = e % cols;\n";
  text += element(reductions, writes) + "    }\n";
  for (size_t k = 0; k < reductions.size(); ++k) {
    const int32_t v = reductions[k];
    text += fmt::format("    s{0} = block_reduce(s{0}, {1});\n", v,
                        combine_text(instruction(v).op));
    text += "    if (threadIdx.x == 0) {\n";
    text += partial(v, k, w_.all_part(), "1", "0", "(rows * cols)") + "    }\n";
  }
  return text + "  }\n" + report();
}

std::string FusedWriter::finish_all(const std::vector<int32_t>& reductions) const {
  std::string text =
      "extern \"C\" __global__ void __launch_bounds__(256) finish_all(const Args a) "
      "{\n" +
      pointers();
  text += fmt::format("  const i64 parts = (i64)a.w[{}], end = parts;\n", w_.parts());
  for (size_t k = 0; k < reductions.size(); ++k) {
    const int32_t v = reductions[k];
    text += share(v, k, w_.all_part(), "1", "0", "threadIdx.x", "blockDim.x");
    text += fmt::format(
        "    s{0} = block_reduce(s{0}, {1});\n    if (threadIdx.x == 0) {{\n{2}    "
        "}}\n",
        v, combine_text(instruction(v).op), results(v, "0", "(rows * cols)"));
  }
  return text + "}\n";
}

std::string FusedWriter::part_place(int32_t v, size_t k, int part_word, const char* width,
                                    const char* at) const {
  return fmt::format("(({}*)(a.w[{}] + (({} * parts + part) * {} + {}) * 16))",
                     compute(v), part_word, k, width, at);
}

std::string FusedWriter::partial(int32_t v, size_t k, int part_word, const char* width,
                                 const char* at, const char* n) const {
  return fmt::format(
      "      if (parts > 1) {{\n        *{} = s{};\n      }} else {{\n{}"
      "      }}\n",
      part_place(v, k, part_word, width, at), v, results(v, at, n));
}

std::string FusedWriter::share(int32_t v, size_t k, int part_word, const char* width,
                               const char* at, const char* first, const char* by) const {
  return fmt::format(
      "    {0} s{1} = {2};\n#pragma unroll 8\n    for (i64 part = {3}; part < end; part "
      "+= {4}) s{1} = "
      "({5})(s{1}, *{6});\n",
      compute(v), v, initial(v), first, by, combine_text(instruction(v).op),
      part_place(v, k, part_word, width, at));
}

std::string FusedWriter::results(int32_t v, const char* at, const char* n) const {
  std::string text;
  for (size_t o = 0; o < p_.outputs.size(); ++o) {
    if (p_.outputs[o] != v) continue;
    text += fmt::format("      q{}[{}] = put<{}>({});\n", o, at, storage(v),
                        finished(v, fmt::format("s{}", v), n));
  }
  return text;
}

}  // namespace tandem::cuda
