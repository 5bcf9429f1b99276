#include "data/array_batches.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/philox.h"

namespace tandem::data {

namespace {

// Fisher and Yates, with unbiased numbers below n.
void permute(std::span<int64_t> values, uint64_t seed, int64_t epoch) {
  PhiloxWords words(Philox::from_state(seed, 0, static_cast<uint64_t>(epoch)));
  const auto next64 = [&] {
    const uint64_t high = words();
    return high << 32 | words();
  };
  for (size_t n = values.size(); n > 1; --n) {
    const uint64_t limit = UINT64_MAX - UINT64_MAX % n;
    uint64_t draw = next64();
    while (draw >= limit) draw = next64();
    std::swap(values[n - 1], values[draw % n]);
  }
}

}  // namespace

ArrayBatches::ArrayBatches(std::shared_ptr<const ArrayRows> rows,
                           ArrayBatchesOptions options)
    : rows_(std::move(rows)), options_(options) {
  if (options_.batch_size < 1) {
    throw ValueError(fmt::format("A batch has at least one row, batch_size is {}.",
                                 options_.batch_size));
  }
  start_epoch(0);
}

int64_t ArrayBatches::batches_per_epoch() const {
  const int64_t full = rows_->rows() / options_.batch_size;
  const bool rest = rows_->rows() % options_.batch_size != 0;
  return full + (rest && !options_.drop_remainder);
}

int64_t ArrayBatches::rows_in_batch(int64_t number) const {
  const int64_t begin = number * options_.batch_size;
  return std::clamp<int64_t>(rows_->rows() - begin, 0, options_.batch_size);
}

void ArrayBatches::start_epoch(int64_t epoch) {
  next_batch_ = 0;
  order_.resize(static_cast<size_t>(rows_->rows()));
  std::iota(order_.begin(), order_.end(), 0);
  if (options_.order == RowOrder::kShuffled) permute(order_, options_.seed, epoch);
  if (options_.order != RowOrder::kShuffledBatches) return;
  // The smaller last batch stays last.
  std::vector<int64_t> batches(static_cast<size_t>(rows_->rows() / options_.batch_size));
  std::iota(batches.begin(), batches.end(), 0);
  permute(batches, options_.seed, epoch);
  auto out = order_.begin();
  for (const int64_t batch : batches) {
    std::iota(out, out + options_.batch_size, batch * options_.batch_size);
    out += options_.batch_size;
  }
}

std::span<const int64_t> ArrayBatches::next_rows() {
  if (next_batch_ >= batches_per_epoch()) return {};
  const int64_t n = rows_in_batch(next_batch_);
  const int64_t begin = next_batch_++ * options_.batch_size;
  return {order_.data() + begin, static_cast<size_t>(n)};
}

bool ArrayBatches::next(std::vector<Tensor>& batch) {
  const std::span<const int64_t> indices = next_rows();
  if (indices.empty()) return false;
  batch = rows_->gather(indices);
  return true;
}

int64_t ArrayBatches::next_into(std::span<void* const> addresses) {
  const std::span<const int64_t> indices = next_rows();
  for (size_t a = 0; a < addresses.size() && !indices.empty(); ++a) {
    rows_->gather_into(a, indices, addresses[a]);
  }
  return static_cast<int64_t>(indices.size());
}

}  // namespace tandem::data
