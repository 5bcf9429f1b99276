// StridedCopy: out[o(i)] = in[i(i)] over a box of up to kMaxCopyRank dimensions with
// strides of any sign; the engine behind transpose, broadcast, slice, tile, pad, concat
// and their kin. Made once in prepare (dimensions merged, inner loop chosen by element
// size), run by launch from any thread, in parallel. Element sizes 1, 2, 4, 8, 16 and
// std::string.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/common/copy_layout.h"
#include "tandem/dtype.h"
#include "tandem/shape.h"

namespace tandem::cpu {

inline constexpr int kMaxCopyRank = 2 * kMaxRank + 2;

class StridedCopy {
 public:
  StridedCopy() = default;
  /// Offsets in elements. Output steps must be positive and no output element written
  /// twice.
  StridedCopy(DType dtype, std::span<const CopyDim> dims, int64_t in_offset = 0,
              int64_t out_offset = 0);
  /// n contiguous elements.
  static StridedCopy flat(DType dtype, int64_t n, int64_t in_offset = 0,
                          int64_t out_offset = 0);
  /// n times the one element at the input.
  static StridedCopy fill(DType dtype, int64_t n);

  void run(const void* in, void* out) const;

  /// A row of units, of which an inner loop does the part [begin, end). A unit is a run
  /// of bytes, elements with steps, or a transposed plane.
  struct Row {
    const std::byte* in;
    std::byte* out;
    int64_t n, in_step, out_step;
    int64_t begin, end;
  };

 private:
  friend struct CopyLoops;
  using Inner = void (*)(const StridedCopy&, const Row&);
  void walk(const std::byte* in, std::byte* out, int64_t first, int64_t last) const;

  // Loops around the units, outermost first; all steps in bytes.
  int rank_ = 0;
  int64_t n_[kMaxCopyRank] = {}, in_[kMaxCopyRank] = {}, out_[kMaxCopyRank] = {};
  int64_t in_offset_ = 0, out_offset_ = 0;
  int64_t units_ = 0;
  int64_t grain_ = 1;        // units worth a thread
  int64_t range_ = 1;        // what [begin, end) of a whole unit is
  int64_t range_grain_ = 0;  // not 0: few large units, each cut into ranges
  Inner inner_ = nullptr;
  int64_t unit_n_ = 1, unit_in_ = 0,
          unit_out_ = 0;                 // the dimension contiguous in the output
  int64_t plane_n_ = 1, plane_out_ = 0;  // planes: the one contiguous in the input
};

}  // namespace tandem::cpu
