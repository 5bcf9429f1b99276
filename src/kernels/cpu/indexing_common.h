// What the indexing, sort and state kernels share: dispatch by element size, index checks
// in TensorFlow's words, parallel copies. Pure functions over host memory; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "kernels/cpu/bytes16.h"
#include "op/kernel.h"
#include "tandem/dtype.h"
#include "tandem/shape.h"

namespace tandem::cpu {

/// Calls f(std::type_identity<E>) with a type that moves elements of the dtype: an
/// unsigned integer of its size, Bytes16, or std::string.
template <class F>
void by_element(DType dtype, F&& f) {
  if (dtype == DType::kString) return f(std::type_identity<std::string>{});
  switch (dtype_size(dtype)) {
    case 1:
      return f(std::type_identity<uint8_t>{});
    case 2:
      return f(std::type_identity<uint16_t>{});
    case 4:
      return f(std::type_identity<uint32_t>{});
    case 8:
      return f(std::type_identity<uint64_t>{});
    default:
      return f(std::type_identity<Bytes16>{});
  }
}

/// Calls f(std::type_identity<int32_t or int64_t>).
template <class F>
void by_index(DType dtype, F&& f) {
  if (dtype == DType::kInt32) return f(std::type_identity<int32_t>{});
  return f(std::type_identity<int64_t>{});
}

/// Items of `bytes` each that are worth about 20 µs of copying.
inline int64_t copy_grain(int64_t bytes) {
  return std::max<int64_t>(1, 128 * 1024 / std::max<int64_t>(1, bytes));
}

/// Product of dimensions [from, to).
int64_t dim_product(const Shape& shape, int from, int to);

/// Indices [shape] that must lie in [0, limit); `name` and `op` appear in errors.
struct IndexCheck {
  const char* op = "";
  const char* name = "indices";
  DType dtype = DType::kInt32;
  Shape shape;
  int64_t limit = 0;
};
/// Throws InvalidArgumentError "indices[2] = 7 is not in [0, 5)" for the first bad one.
void check_indices(const IndexCheck& check, const void* indices);
/// The same, and the indices as 64-bit integers in `rows`.
void check_indices(const IndexCheck& check, const void* indices, int64_t* rows);

/// Coordinates [batch…, n…, k] into the k dimensions of `params` after its batch
/// dimensions.
struct NdIndex {
  const char* op = "";
  const char* into = "shape";  // "indices[1] = [1, 5] does not index into shape [2,3]"
  DType dtype = DType::kInt32;
  Shape indices;
  Shape params;
  int batch_dims = 0;

  int64_t count = 0;      // coordinates
  int64_t per_batch = 0;  // coordinates of one batch
  int64_t num_rows = 0;   // slices of params
  int64_t row = 0;        // elements of a slice
};
NdIndex make_nd_index(const Signature& s, int indices, const Shape& params,
                      int batch_dims);
/// The number of the slice for each coordinate; throws for the first that is out of
/// range.
void nd_rows(const NdIndex& nd, const void* indices, int64_t* rows);

/// memcpy by several threads.
void parallel_copy(void* to, const void* from, size_t bytes);
/// Copies `count` elements of a dtype, strings too.
void copy_elements(DType dtype, void* to, const void* from, int64_t count);

/// out[i] = params[rows[i]] for rows of `row` elements; strings too.
void gather_rows(DType dtype, void* out, const void* params, const int64_t* rows,
                 int64_t count, int64_t row);

}  // namespace tandem::cpu
