// StridedCopy: the same box copy as on the CPU (kernels/cpu/strided_copy.h), on the GPU:
// dimensions are merged, elements widened to up to 16 bytes where both sides are
// contiguous, whole runs become one copy of the driver. Made in prepare(), launched from
// any thread.
#pragma once

#include <array>
#include <span>

#include "kernels/common/copy_layout.h"
#include "kernels/cuda/program.h"

namespace tandem::cuda {

inline constexpr int kMaxCopyRank = 2 * kMaxRank + 2;

class StridedCopy {
 public:
  StridedCopy() = default;
  /// Offsets in elements. No output element is written twice.
  StridedCopy(Device* device, size_t element, std::span<const CopyDim> dims,
              int64_t in_offset = 0, int64_t out_offset = 0);
  static StridedCopy flat(Device* device, size_t element, int64_t n,
                          int64_t in_offset = 0, int64_t out_offset = 0);

  void run(const StreamContext& stream, const void* in, void* out) const;

 private:
  struct Form {
    Function function;
    size_t element = 0;
    int64_t n = 0;
    int words = 0;
    std::array<uint64_t, 5 + 3 * kMaxCopyRank> word{};
  };
  Form form(Device* device, size_t element, std::vector<CopyDim> dims, int64_t in_offset,
            int64_t out_offset) const;

  Form narrow_, wide_;  // wide: element 0 where elements cannot be widened
  int64_t bytes_ = 0;   // not 0: one run of bytes
  int64_t in_offset_ = 0, out_offset_ = 0;
};

/// The text of the copy kernel for an element size and rank.
std::string move_text(size_t element, int rank, bool wide_index);

}  // namespace tandem::cuda
