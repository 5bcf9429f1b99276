// Text, grid and alignment that the row kernels share.
#pragma once

#include <algorithm>

#include "kernels/cuda/program.h"

namespace tandem::cuda {

std::string rows_text(DType dtype);

/// One block per row, with as many threads as a row has work for.
inline Grid row_grid(int64_t rows, int64_t n) {
  unsigned threads = 32;
  while (threads < 1024 && threads * 4 < n) threads *= 2;
  return {.x = static_cast<unsigned>(std::clamp<int64_t>(rows, 1, 1 << 20)),
          .threads = threads};
}

/// The same for rows that are read in chunks of 16 bytes, four to a thread.
inline Grid chunk_grid(int64_t rows, int64_t bytes) {
  unsigned threads = 32;
  while (threads < 1024 && int64_t{threads} * 64 < bytes) threads *= 2;
  return {.x = static_cast<unsigned>(std::clamp<int64_t>(rows, 1, 1 << 20)),
          .threads = threads};
}

/// Whether rows of so many bytes begin at multiples of 16 in all the tensors; null ones
/// do not count.
inline int rows_together(int64_t bytes, std::initializer_list<const void*> tensors) {
  auto all = static_cast<uintptr_t>(bytes);
  for (const void* t : tensors) all |= reinterpret_cast<uintptr_t>(t);
  return all % 16 == 0;
}

}  // namespace tandem::cuda
