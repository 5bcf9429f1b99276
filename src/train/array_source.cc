#include "train/array_source.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "base/recorder.h"
#include "device/runtime.h"
#include "tandem/error.h"
#include "tensor/tensor_impl.h"

namespace tandem::train {

namespace {

// Work on other devices may still be reading a batch when the next one is made.
bool only_host_devices() {
  const auto devices = Runtime::get().devices();
  return std::all_of(devices.begin(), devices.end(),
                     [](Device* d) { return d->is_host(); });
}

Shape batch_shape(int64_t rows, const Shape& row) {
  Ints dims{rows};
  for (int i = 0; i < row.rank(); ++i) dims.push_back(row[i]);
  return Shape(std::span<const int64_t>(dims));
}

bool is_ours_alone(const Tensor& t) {
  return t.defined() && t.header().use_count() == 1 && t.impl()->buffer.use_count() == 1;
}

}  // namespace

ArraySource::ArraySource(std::shared_ptr<const data::ArrayRows> rows, int64_t batch_size)
    : rows_(std::move(rows)),
      batch_size_(batch_size),
      reuse_(only_host_devices()),
      slots_(rows_->count()) {
  if (batch_size_ < 1) {
    throw ValueError(
        fmt::format("The batch size is {}; it must be at least 1.", batch_size_));
  }
}

void ArraySource::start(std::vector<int64_t> order) {
  for (int64_t row : order) {
    if (row < 0 || row >= rows_->rows()) {
      throw ValueError(
          fmt::format("The order of rows names row {} of {}.", row, rows_->rows()));
    }
  }
  order_ = std::move(order);
  begin_ = 0;
}

bool ArraySource::next(std::vector<Tensor>& batch) {
  const recorder::InputWait wait;
  const int64_t total =
      order_.empty() ? rows_->rows() : static_cast<int64_t>(order_.size());
  const int64_t n = std::min(batch_size_, total - begin_);
  if (n <= 0) return false;
  if (order_.empty()) {
    batch = rows_->run(begin_, n);
    begin_ += n;
    return true;
  }
  const std::span<const int64_t> chosen(order_.data() + begin_, static_cast<size_t>(n));
  begin_ += n;
  batch.clear();
  for (size_t a = 0; a < rows_->count(); ++a) {
    const bool full = n == batch_size_;
    Tensor& slot = slots_[a];
    Tensor t;
    if (reuse_ && full && is_ours_alone(slot)) {
      t = make_tensor(slot.dtype(), slot.shape(), *slot.impl()->device,
                      slot.impl()->buffer, 0);
    } else {
      t = make_tensor(Runtime::get().cpu(), rows_->arrays()[a].dtype(),
                      batch_shape(n, rows_->row_shape(a)));
    }
    rows_->gather_into(a, chosen, t.impl()->data());
    if (reuse_ && full) slot = t;
    batch.push_back(std::move(t));
  }
  return true;
}

}  // namespace tandem::train
