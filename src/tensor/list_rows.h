// ListRows: elements of one dtype and shape in host memory, end to end in a few chunks
// that grow. What a TensorList keeps its elements in where plans fill it, so that an
// element costs a copy of its bytes and nothing else. Owned by the lists that share it;
// only who holds it alone may change it, which TensorList sees to. Tensors that look at a
// row hold its chunk, and a chunk that somebody looks at is copied before it changes.
#pragma once

#include <vector>

#include "tensor/buffer.h"
#include "tensor/tensor_impl.h"

namespace tandem {

class ListRows : public RefCounted {
 public:
  /// `count` rows that have not been set. The dtype is one of plain numbers, the shape
  /// known. Throws InvalidArgumentError where the bytes of a row overflow.
  ListRows(DType dtype, const Shape& shape, int64_t count);
  /// The rows of a tensor on the host, which is ready and has at least one dimension.
  explicit ListRows(const Tensor& tensor);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t size() const { return size_; }
  size_t row_bytes() const { return bytes_; }
  bool is_set(int64_t i) const { return unset_.empty() || !unset_[to_size(i)]; }
  /// Every row, or, where some were never set, nothing.
  bool all_set(int64_t count) const;

  /// Memory of a row that is set.
  const void* row(int64_t i) const {
    const Position p = position(i);
    return chunks_[p.chunk].address + p.offset;
  }
  /// The same as a tensor, which keeps its chunk.
  Tensor tensor(int64_t i) const;
  /// Copies the first `count` rows, all of which are set, one after the other.
  void copy_to(void* to, int64_t count) const;

  // ---- Changes, by who holds it alone
  /// Memory to write a row to that is set from now on; `i` may be the size.
  void* writable(int64_t i);
  /// Cuts the rows from `count` on.
  void truncate(int64_t count);

 private:
  struct Chunk {
    Ref<Buffer> buffer;  // null: nothing in it is set
    std::byte* address = nullptr;
    size_t bytes = 0;
  };
  struct Position {
    size_t chunk;
    size_t offset;  // bytes
  };
  static size_t to_size(int64_t i) { return static_cast<size_t>(i); }
  void choose_chunks(int64_t first);
  Position position(int64_t i) const;
  int64_t first_of(size_t chunk) const;
  bool is_writable(Position p) const;
  void own(size_t chunk, bool grows);

  DType dtype_;
  Shape shape_;
  size_t bytes_ = 0;
  int64_t size_ = 0;
  // The first chunk has room for 2^shift_ rows, each one for twice as many as the one
  // before up to number `levels_`, which all later ones are like.
  int shift_ = 0;
  int levels_ = 0;
  std::vector<Chunk> chunks_;
  std::vector<char> unset_;  // by row; empty: all are set
};
void destroy_object(ListRows* rows);

}  // namespace tandem
