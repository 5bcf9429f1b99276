// How a fused program's domain and inputs lie in memory: the domain as rows of columns,
// each input by how it is walked. Made once per signature and group.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tandem/shape.h"

namespace tandem::cpu {

/// How an input follows the domain. Rows are the outer dimensions, columns the inner
/// ones.
enum class Access : uint8_t {
  kFull,     // element i of the domain reads element i
  kSingle,   // one element
  kRow,      // row r reads element r
  kOuter,    // one element per row, at an offset that the outer strides give
  kColumn,   // column c reads element c
  kInner,    // columns are contiguous, rows at an offset that the outer strides give
  kGeneral,  // any other broadcast: elements are gathered
};

struct FusedGeometry {
  int64_t rows = 1, columns = 1;
  std::vector<int64_t> outer, inner;  // collapsed dimensions of rows and of columns
  std::vector<Access> access;         // of each input
  std::vector<int64_t> strides;       // in elements: per input outer ones, inner ones

  int64_t elements() const { return rows * columns; }
  size_t rank() const { return outer.size() + inner.size(); }
  std::span<const int64_t> strides_of(size_t input) const {
    return {strides.data() + input * rank(), rank()};
  }
  /// Elements from the start of an input to its part for a row.
  int64_t outer_offset(size_t input, int64_t row) const;
};

/// `row_axes` trailing axes of the domain are its columns; negative: whatever makes the
/// longest runs.
FusedGeometry fused_geometry(const Shape& domain, std::span<const Shape> inputs,
                             int row_axes);

/// Writes out the `n` elements of an input from element `from` of the domain on (of the
/// rows alone when `rows_only`); `size` is the bytes of an element.
void fused_gather(const FusedGeometry& geometry, size_t input, bool rows_only,
                  const void* base, int64_t from, int64_t n, void* out, size_t size);

}  // namespace tandem::cpu
