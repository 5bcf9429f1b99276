// Text and grid that the row kernels share.
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

}  // namespace tandem::cuda
