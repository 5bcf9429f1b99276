#include "kernels/cuda/row_form.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/cuda/expression.h"
#include "kernels/cuda/shared_memory.h"

namespace tandem::cuda {

namespace {

constexpr int64_t kChunkBytes = 16;
constexpr int kRowThreads = 256;  // of a block that keeps rows in registers

/// Of a thread, what the kernels have registers for: 32 numbers, or 16 in double
/// precision.
int most_chunks(DType dtype) { return dtype_size(dtype) == 2 ? 4 : 8; }

RowForm in_registers(DType dtype, int64_t chunks) {
  const int most = most_chunks(dtype);
  struct Size {
    int team, chunks;
  };
  for (const Size s : {Size{4, 1}, Size{16, 1}, Size{32, 1}, Size{32, 4}, Size{32, most},
                       Size{64, most}, Size{128, most}, Size{256, most}}) {
    if (chunks <= int64_t{s.team} * s.chunks) return {.team = s.team, .chunks = s.chunks};
  }
  return {};
}

/// Many threads where one block is all that a multiprocessor has room for. All of them
/// have a place for equally many chunks.
RowForm in_shared_memory(int64_t chunks, int tensors, int arch) {
  constexpr int64_t kOwn = 1024 + 512;  // of the system, and for reductions
  const auto limit = static_cast<int64_t>(shared_memory_limit(arch));
  for (const int64_t threads : {512, 1024}) {
    const int64_t bytes = up(chunks, threads) * threads * kChunkBytes * tensors;
    const int64_t resident = limit / (bytes + kOwn);
    if (resident > (threads == 512 ? 1 : 0)) {
      return {.shared = static_cast<size_t>(bytes),
              .threads = static_cast<unsigned>(threads),
              .resident = static_cast<int>(std::min<int64_t>(resident, 4))};
    }
  }
  return {};
}

}  // namespace

RowForm row_form(DType dtype, int64_t n, int tensors, int arch) {
  const int64_t chunks = up(n, kChunkBytes / static_cast<int64_t>(dtype_size(dtype)));
  const RowForm form = in_registers(dtype, chunks);
  if (form.is_kept()) return form;
  if (chunks > int64_t{1} << 20) return {};
  return in_shared_memory(chunks, tensors, arch);
}

std::string kept_rows_text(DType dtype, const RowForm& form, const char* kernels) {
  std::string text =
      text_prefix(false) + fmt::format("typedef {} T;\n", type_text(dtype));
  text += form.team ? fmt::format("constexpr int kTeam = {}, kChunks = {};\n", form.team,
                                  form.chunks)
                    : "#define kTeam ((int)blockDim.x)\n";
  text += device_text("whole_store.cuh");
  text += device_text("row_chunks.cuh");
  text += device_text(form.team ? "row_team.cuh" : "row_shared.cuh");
  text += device_text(kernels);
  return text;
}

std::optional<RowKernel> plan_rows(const Signature& s, DType dtype, int64_t rows,
                                   int64_t n, int tensors, const char* kernels,
                                   const char* entry) {
  CudaDevice& gpu = gpu_of(s);
  gpu.activate();
  const RowForm form = row_form(dtype, n, tensors, gpu.arch());
  if (!form.is_kept()) return std::nullopt;
  RowKernel k;
  k.function = find_function(s.device, s.op->name, kept_rows_text(dtype, form, kernels),
                             entry, form.shared);
  // Blocks go on with further rows: as many as are busy at once, or a few times that
  // where a block is small.
  const int64_t blocks = form.team ? up(rows, kRowThreads / form.team) : rows;
  const int64_t most = int64_t{gpu.multiprocessors()} * (form.team ? 16 : form.resident);
  k.grid = {.x = static_cast<unsigned>(std::clamp<int64_t>(blocks, 1, most)),
            .threads = form.threads,
            .shared = static_cast<unsigned>(form.shared)};
  return k;
}

}  // namespace tandem::cuda
