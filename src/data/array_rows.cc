#include "data/array_rows.h"

#include <algorithm>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "base/parallel.h"
#include "device/runtime.h"
#include "tensor/tensor_impl.h"

namespace tandem::data {

namespace {

constexpr int64_t kGrainBytes = 256 << 10;  // about 20 µs of copying

// The size of a row is a constant in the loop where it is that of a few numbers.
template <int64_t kBytes>
void copy_small(const std::byte* from, std::span<const int64_t> indices, std::byte* out) {
  for (const int64_t i : indices) {
    std::memcpy(out, from + i * kBytes, kBytes);
    out += kBytes;
  }
}

void copy_rows(const std::byte* from, int64_t bytes, std::span<const int64_t> indices,
               std::byte* out) {
  switch (bytes) {
    case 1:
      return copy_small<1>(from, indices, out);
    case 2:
      return copy_small<2>(from, indices, out);
    case 4:
      return copy_small<4>(from, indices, out);
    case 8:
      return copy_small<8>(from, indices, out);
    case 16:
      return copy_small<16>(from, indices, out);
    default:
      for (const int64_t i : indices) {
        std::memcpy(out, from + i * bytes, static_cast<size_t>(bytes));
        out += bytes;
      }
  }
}

void copy_strings(const std::string* from, int64_t per_row,
                  std::span<const int64_t> indices, std::string* out) {
  for (const int64_t i : indices) {
    out = std::copy(from + i * per_row, from + (i + 1) * per_row, out);
  }
}

bool consecutive(std::span<const int64_t> indices) {
  for (size_t i = 1; i < indices.size(); ++i) {
    if (indices[i] != indices[i - 1] + 1) return false;
  }
  return !indices.empty();
}

}  // namespace

ArrayRows::ArrayRows(std::vector<Tensor> arrays) {
  if (arrays.empty()) {
    throw ValueError("from_tensor_slices: there is no tensor to take rows of.");
  }
  for (Tensor& array : arrays) {
    if (array.rank() == 0) {
      throw ValueError(
          "from_tensor_slices: Unbatching a tensor is only supported for rank >= 1; this "
          "one is a scalar. Use from_tensors for a single element.");
    }
    if (array.dim(0) != arrays[0].dim(0)) {
      throw ValueError(fmt::format(
          "from_tensor_slices: Dimensions {} and {} are not compatible: all tensors need "
          "the same first dimension (shapes {} and {}).",
          arrays[0].dim(0), array.dim(0), arrays[0].shape().str(), array.shape().str()));
    }
    array = array.to_host();
    const Shape row = array.shape().slice(1, array.rank());
    row_shapes_.push_back(row);
    row_bytes_.push_back(row.num_elements() *
                         static_cast<int64_t>(dtype_size(array.dtype())));
  }
  rows_ = arrays[0].dim(0);
  arrays_ = std::move(arrays);
}

std::vector<Tensor> ArrayRows::row(int64_t index) const {
  std::vector<Tensor> result;
  result.reserve(count());
  for (size_t a = 0; a < count(); ++a) {
    const TensorImpl& t = *arrays_[a].impl();
    result.push_back(make_tensor(t.dtype, row_shapes_[a], *t.device, t.buffer,
                                 t.byte_offset + index * row_bytes_[a]));
  }
  return result;
}

std::vector<Tensor> ArrayRows::run(int64_t begin, int64_t n) const {
  std::vector<Tensor> result;
  result.reserve(count());
  for (size_t a = 0; a < count(); ++a) {
    const TensorImpl& t = *arrays_[a].impl();
    Shape shape = row_shapes_[a];
    shape.insert(0, n);
    result.push_back(make_tensor(t.dtype, shape, *t.device, t.buffer,
                                 t.byte_offset + begin * row_bytes_[a]));
  }
  return result;
}

std::vector<Tensor> ArrayRows::gather(std::span<const int64_t> indices) const {
  if (consecutive(indices)) {
    return run(indices[0], static_cast<int64_t>(indices.size()));
  }
  std::vector<Tensor> result;
  result.reserve(count());
  for (size_t a = 0; a < count(); ++a) {
    Shape shape = row_shapes_[a];
    shape.insert(0, static_cast<int64_t>(indices.size()));
    result.push_back(make_tensor(Runtime::get().cpu(), arrays_[a].dtype(), shape));
    gather_into(a, indices, result.back().impl()->data());
  }
  return result;
}

void ArrayRows::gather_into(size_t array, std::span<const int64_t> indices,
                            void* out) const {
  for (const int64_t i : indices) {
    if (i < 0 || i >= rows_) {
      throw OutOfRangeError(
          fmt::format("gather: row {} does not exist, there are {} rows.", i, rows_));
    }
  }
  const Tensor& from = arrays_[array];
  if (from.dtype() == DType::kString) {
    copy_strings(static_cast<const std::string*>(from.host_data()),
                 row_shapes_[array].num_elements(), indices,
                 static_cast<std::string*>(out));
    return;
  }
  const int64_t bytes = row_bytes_[array];
  const auto* data = static_cast<const std::byte*>(from.host_data());
  const auto n = static_cast<int64_t>(indices.size());
  parallel_for(n, std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(bytes, 1)),
               [&](int64_t begin, int64_t end) {
                 copy_rows(data, bytes,
                           indices.subspan(static_cast<size_t>(begin),
                                           static_cast<size_t>(end - begin)),
                           static_cast<std::byte*>(out) + begin * bytes);
               });
}

}  // namespace tandem::data
