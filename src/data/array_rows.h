// ArrayRows: host tensors of one length whose rows belong together (x and y of a training
// set), and how rows of them become batches: a run of rows is a view without a copy, any
// other choice is gathered into fresh or given memory. Immutable; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tandem/tensor.h"

namespace tandem::data {

class ArrayRows {
 public:
  /// Tensors elsewhere are copied to the host once. Throws ValueError when one is a
  /// scalar or the first dimensions differ.
  explicit ArrayRows(std::vector<Tensor> arrays);

  int64_t rows() const { return rows_; }
  size_t count() const { return arrays_.size(); }
  const std::vector<Tensor>& arrays() const { return arrays_; }
  /// Shape of one row of an array, and its bytes (strings: of the string objects).
  const Shape& row_shape(size_t array) const { return row_shapes_[array]; }
  int64_t row_bytes(size_t array) const { return row_bytes_[array]; }

  /// One row of each array, without a copy.
  std::vector<Tensor> row(int64_t index) const;
  /// Rows [begin, begin + n) of each array, without a copy.
  std::vector<Tensor> run(int64_t begin, int64_t n) const;
  /// The rows `indices`, in that order, in fresh tensors; consecutive ones as run().
  std::vector<Tensor> gather(std::span<const int64_t> indices) const;
  /// The same for one array into memory for indices.size() * row_bytes(array) bytes;
  /// strings are assigned to existing std::string objects.
  void gather_into(size_t array, std::span<const int64_t> indices, void* out) const;

 private:
  std::vector<Tensor> arrays_;
  std::vector<Shape> row_shapes_;
  std::vector<int64_t> row_bytes_;
  int64_t rows_ = 0;
};

}  // namespace tandem::data
