// StridedCopy: the same box copy as on the CPU (kernels/cpu/strided_copy.h), on the GPU:
// dimensions are merged, elements widened to up to 16 bytes where both sides are
// contiguous, whole runs become one copy of the driver, planes that are turned go
// through tiles (tile_copy.h). Made in prepare(), launched from any thread.
#pragma once

#include <array>
#include <span>

#include "kernels/common/copy_layout.h"
#include "kernels/cuda/program.h"
#include "kernels/cuda/tile_copy.h"

namespace tandem::cuda {

inline constexpr int kMaxCopyRank = 2 * kMaxRank + 2;

class StridedCopy {
 public:
  enum class Change : uint8_t { kNone, kConjugate };

  StridedCopy() = default;
  /// Offsets in elements. No output element is written twice. To conjugate, elements are
  /// complex numbers.
  StridedCopy(Device* device, size_t element, std::span<const CopyDim> dims,
              int64_t in_offset = 0, int64_t out_offset = 0,
              Change change = Change::kNone);
  static StridedCopy flat(Device* device, size_t element, int64_t n,
                          int64_t in_offset = 0, int64_t out_offset = 0);

  void run(const StreamContext& stream, const void* in, void* out) const;

 private:
  struct Form {
    Function function;
    size_t alignment = 1;  // of both addresses
    int64_t n = 0;         // elements, or tiles
    bool tiled = false;
    std::array<uint64_t, 9 + 3 * kMaxCopyRank> word{};
  };
  struct Box {
    size_t element;
    std::vector<CopyDim> dims;
    int64_t in_offset, out_offset;
  };
  static Form plain_form(Device* device, const Box& box, Change change);
  static Form plane_form(Device* device, const Box& box, const PlaneCopy& planes,
                         Change change);
  /// The forms for a box, best first; the last one needs elements aligned alone.
  void add_forms(Device* device, const Box& box, Change change);

  std::vector<Form> forms_;  // the first whose alignment fits is taken
  int64_t bytes_ = 0;        // not 0: one run of bytes
  int64_t in_offset_ = 0, out_offset_ = 0;
};

/// The text of the copy kernel for an element size and rank.
std::string move_text(size_t element, int rank, bool wide_index,
                      StridedCopy::Change change = StridedCopy::Change::kNone);
/// What texts of copies begin with: E, I and moved().
std::string copy_prefix(size_t element, bool wide_index,
                        StridedCopy::Change change = StridedCopy::Change::kNone);

}  // namespace tandem::cuda
