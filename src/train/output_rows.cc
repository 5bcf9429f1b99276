#include "train/output_rows.h"

#include <algorithm>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include "device/runtime.h"
#include "tandem/error.h"
#include "tandem/ops.h"
#include "tensor/tensor_impl.h"

namespace tandem::train {

namespace {

// Batches that a device may be ahead of what has been fetched.
constexpr size_t kAhead = 2;

Shape with_rows(const Tensor& like, int64_t rows) {
  Ints dims{rows};
  for (int i = 1; i < like.rank(); ++i) dims.push_back(like.shape()[i]);
  return Shape(std::span<const int64_t>(dims));
}

size_t row_bytes(const Tensor& t) {
  size_t n = dtype_size(t.dtype());
  for (int i = 1; i < t.rank(); ++i) n *= static_cast<size_t>(t.shape()[i]);
  return n;
}

}  // namespace

void OutputRows::append(std::vector<Tensor> results) {
  const bool on_host = std::all_of(results.begin(), results.end(), [](const Tensor& t) {
    return t.impl()->device->is_host();
  });
  waiting_.push_back(std::move(results));
  while (waiting_.size() > (on_host ? 0 : kAhead)) {
    take(waiting_.front());
    waiting_.pop_front();
  }
}

void OutputRows::take(const std::vector<Tensor>& results) {
  if (outputs_.empty()) outputs_.resize(results.size());
  for (size_t i = 0; i < results.size(); ++i) add(i, results[i].to_host());
  ++batches_;
}

void OutputRows::add(size_t number, const Tensor& host) {
  Output& o = outputs_[number];
  if (host.dtype() == DType::kString) {
    o.strings.push_back(host.rank() ? host : expand_dims(host, 0));
    o.scalar = host.rank() == 0;
    return;
  }
  o.scalar = host.rank() == 0;
  const int64_t n = o.scalar ? 1 : host.shape()[0];
  if (o.rows.defined() && !(with_rows(o.rows, n) == with_rows(host, n))) {
    throw InvalidArgumentError(fmt::format(
        "predict: output {} has rows of shape {} in this batch and {} before; rows of "
        "different shapes cannot be put into one array. Predict batch by batch with "
        "predict_on_batch.",
        number, host.shape().str(), o.rows.shape().str()));
  }
  reserve(o, o.count + n, host);
  const size_t bytes = row_bytes(host);
  if (const size_t all = bytes * static_cast<size_t>(n)) {
    std::memcpy(static_cast<std::byte*>(o.rows.impl()->data()) +
                    bytes * static_cast<size_t>(o.count),
                host.host_data(), all);
  }
  o.count += n;
}

void OutputRows::reserve(Output& o, int64_t count, const Tensor& like) {
  const int64_t room = o.rows.defined() ? o.rows.shape()[0] : 0;
  if (o.rows.defined() && count <= room) return;
  const int64_t wanted = std::max(
      {count, o.rows.defined() ? 2 * room : 0, like.rank() ? expected_ : int64_t{0}});
  const Tensor larger =
      make_tensor(Runtime::get().cpu(), like.dtype(), with_rows(like, wanted));
  if (const size_t bytes = row_bytes(like) * static_cast<size_t>(o.count)) {
    std::memcpy(larger.impl()->data(), o.rows.impl()->data(), bytes);
  }
  o.rows = larger;
}

std::vector<Tensor> OutputRows::finish() {
  for (const std::vector<Tensor>& results : waiting_) take(results);
  waiting_.clear();
  std::vector<Tensor> made;
  for (Output& o : outputs_) {
    Tensor t;
    if (!o.strings.empty()) {
      t = o.strings.size() == 1 ? o.strings[0] : concat(o.strings, {.axis = 0});
    } else {
      const TensorImpl& all = *o.rows.impl();
      t = make_tensor(all.dtype, with_rows(o.rows, o.count), *all.device, all.buffer, 0);
    }
    if (o.scalar && batches_ == 1) t = reshape(t, Shape{});
    made.push_back(std::move(t));
  }
  return made;
}

}  // namespace tandem::train
