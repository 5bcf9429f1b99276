#include "tensor/list_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "device/runtime.h"
#include "tensor/live_memory.h"

namespace tandem {

namespace {
constexpr int64_t kFirstBytes = 4096;       // of the first chunk, or one row
constexpr int64_t kLargestBytes = 1 << 20;  // of a chunk that others follow, or one row
}  // namespace

void destroy_object(ListRows* rows) { delete rows; }

ListRows::ListRows(DType dtype, const Shape& shape, int64_t count)
    : dtype_(dtype),
      shape_(shape),
      bytes_(static_cast<size_t>(checked_bytes(dtype, shape))),
      size_(count),
      unset_(to_size(count), 1) {
  choose_chunks(kFirstBytes / std::max<int64_t>(static_cast<int64_t>(bytes_), 1));
}

ListRows::ListRows(const Tensor& tensor)
    : dtype_(tensor.dtype()),
      shape_(tensor.shape().slice(1, tensor.rank())),
      bytes_(static_cast<size_t>(checked_bytes(dtype_, shape_))),
      size_(tensor.dim(0)) {
  choose_chunks(size_);
  const TensorImpl& t = *tensor.impl();
  if (size_) {
    chunks_.push_back({t.buffer, static_cast<std::byte*>(t.data()), t.bytes()});
  }
}

void ListRows::choose_chunks(int64_t first) {
  shift_ = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(first, 1))) - 1;
  if (first > int64_t{1} << shift_) ++shift_;
  const auto row = std::max<int64_t>(static_cast<int64_t>(bytes_), 1);
  while (levels_ < 20 && row << (shift_ + levels_ + 1) <= kLargestBytes) ++levels_;
}

int64_t ListRows::first_of(size_t chunk) const {
  const auto k = static_cast<int64_t>(chunk);
  const int64_t growing = (int64_t{1} << std::min<int64_t>(k, levels_)) - 1;
  const int64_t equal = std::max<int64_t>(k - levels_, 0) << levels_;
  return (growing + equal) << shift_;
}

ListRows::Position ListRows::position(int64_t i) const {
  const int64_t n = i >> shift_;
  const int64_t growing = (int64_t{1} << levels_) - 1;
  const size_t chunk = n < growing
                           ? to_size(std::bit_width(static_cast<uint64_t>(n + 1)) - 1)
                           : to_size(levels_) + to_size((n - growing) >> levels_);
  return {chunk, to_size(i - first_of(chunk)) * bytes_};
}

bool ListRows::all_set(int64_t count) const {
  const auto end = unset_.begin() + std::min(count, static_cast<int64_t>(unset_.size()));
  return std::find(unset_.begin(), end, 1) == end;
}

Tensor ListRows::tensor(int64_t i) const {
  const Position p = position(i);
  const Chunk& c = chunks_[p.chunk];
  const auto* begin = static_cast<const std::byte*>(c.buffer->host_address());
  return make_tensor(dtype_, shape_, Runtime::get().cpu(), c.buffer,
                     c.address + p.offset - begin);
}

void ListRows::copy_to(void* to, int64_t count) const {
  auto* at = static_cast<std::byte*>(to);
  for (size_t k = 0; bytes_ && first_of(k) < count; ++k) {
    const size_t rows = to_size(std::min(count, first_of(k + 1)) - first_of(k));
    std::memcpy(at, chunks_[k].address, rows * bytes_);
    at += rows * bytes_;
  }
}

bool ListRows::is_writable(Position p) const {
  if (p.chunk >= chunks_.size()) return false;
  const Chunk& c = chunks_[p.chunk];
  return c.buffer && c.buffer.use_count() == 1 && !c.buffer->is_foreign() &&
         p.offset + bytes_ <= c.bytes;
}

// Gives the chunk memory of its own: for all the rows it can have when the list grows,
// otherwise for those there are.
void ListRows::own(size_t chunk, bool grows) {
  if (chunk >= chunks_.size()) chunks_.resize(chunk + 1);
  Chunk& c = chunks_[chunk];
  const int64_t begin = first_of(chunk);
  const int64_t end = std::min(size_, first_of(chunk + 1));
  const size_t bytes = to_size((grows ? first_of(chunk + 1) : end) - begin) * bytes_;
  Ref<Buffer> made = allocate_for({"elements of a list", nullptr, dtype_, &shape_},
                                  Runtime::get().cpu(), bytes);
  auto* address = static_cast<std::byte*>(made->host_address());
  if (c.buffer && end > begin) {
    std::memcpy(address, c.address, to_size(end - begin) * bytes_);
  }
  c = {std::move(made), address, bytes};
}

void* ListRows::writable(int64_t i) {
  const Position p = position(i);
  if (!is_writable(p)) own(p.chunk, i == size_);
  if (i == size_) {
    ++size_;
    if (!unset_.empty()) unset_.push_back(0);
  } else if (!unset_.empty()) {
    unset_[to_size(i)] = 0;
  }
  return chunks_[p.chunk].address + p.offset;
}

void ListRows::truncate(int64_t count) {
  size_ = count;
  if (!unset_.empty()) unset_.resize(to_size(count));
  // One chunk stays in reserve: a list may grow and shrink about a border.
  while (chunks_.size() > 1 && first_of(chunks_.size() - 2) >= count) chunks_.pop_back();
}

}  // namespace tandem
