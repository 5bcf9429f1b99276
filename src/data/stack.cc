#include "data/stack.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "device/runtime.h"
#include "tensor/tensor_impl.h"

namespace tandem::data {

void* writable(const Tensor& fresh, int64_t offset) {
  return static_cast<std::byte*>(fresh.impl()->data()) + offset;
}

void copy_contents(const Tensor& from, void* to) {
  const Tensor host = from.to_host();
  const int64_t n = host.num_elements();
  if (host.dtype() == DType::kString) {
    const auto* text = static_cast<const std::string*>(host.host_data());
    std::copy(text, text + n, static_cast<std::string*>(to));
  } else if (n > 0) {
    std::memcpy(to, host.host_data(), host.impl()->bytes());
  }
}

Element stack(std::span<const Element> elements) {
  Element result;
  if (elements.empty()) return result;  // of elements without components
  const auto n = static_cast<int64_t>(elements.size());
  for (size_t c = 0; c < elements[0].size(); ++c) {
    const Tensor& first = elements[0][c];
    if (first.dtype() == DType::kVariant) {
      throw InvalidArgumentError(
          fmt::format("Batching of component {} is not possible: it is a dataset.", c));
    }
    Shape shape = first.shape();
    shape.insert(0, n);
    const Tensor all = make_tensor(Runtime::get().cpu(), first.dtype(), shape);
    const int64_t bytes = n ? static_cast<int64_t>(all.impl()->bytes()) / n : 0;
    for (int64_t i = 0; i < n; ++i) {
      const Element& element = elements[static_cast<size_t>(i)];
      if (element.size() != elements[0].size()) {
        throw InvalidArgumentError(
            fmt::format("Cannot batch elements of {} and of {} components.",
                        elements[0].size(), element.size()));
      }
      const Tensor& t = element[c];
      if (t.dtype() != first.dtype()) {
        throw InvalidArgumentError(fmt::format(
            "Cannot batch tensors with different types in component {}. First element "
            "had type {} and element {} had type {}.",
            c, dtype_name(first.dtype()), i, dtype_name(t.dtype())));
      }
      if (t.shape() != first.shape()) {
        throw InvalidArgumentError(fmt::format(
            "Cannot batch tensors with different shapes in component {}. First element "
            "had shape {} and element {} had shape {}. Use padded_batch() for elements "
            "of different sizes.",
            c, first.shape().debug_str(), i, t.shape().debug_str()));
      }
      copy_contents(t, writable(all, i * bytes));
    }
    result.push_back(all);
  }
  return result;
}

Element row_of(const Element& batch, int64_t index) {
  Element result = rows_of(batch, index, index + 1);
  for (Tensor& t : result) {
    const TensorImpl& i = *t.impl();
    t = make_tensor(i.dtype, i.shape.slice(1, i.shape.rank()), *i.device, i.buffer,
                    i.byte_offset);
  }
  return result;
}

Element rows_of(const Element& batch, int64_t begin, int64_t end) {
  Element result;
  for (const Tensor& t : batch) {
    const Tensor host = t.to_host();
    const TensorImpl& i = *host.impl();
    Shape shape = i.shape;
    const int64_t rows = shape[0];
    shape.set(0, end - begin);
    const int64_t bytes = rows ? static_cast<int64_t>(i.bytes()) / rows : 0;
    result.push_back(
        make_tensor(i.dtype, shape, *i.device, i.buffer, i.byte_offset + begin * bytes));
  }
  return result;
}

Element concatenate(std::span<const Element> batches) {
  if (batches.size() == 1) return batches[0];
  Element result;
  for (size_t c = 0; c < batches[0].size(); ++c) {
    Shape shape = batches[0][c].shape();
    int64_t rows = 0;
    for (const Element& b : batches) {
      if (b[c].rank() != shape.rank() ||
          b[c].shape().slice(1, shape.rank()) != shape.slice(1, shape.rank())) {
        throw InvalidArgumentError(fmt::format(
            "Cannot batch tensors with different shapes in component {}: {} and {}.", c,
            shape.debug_str(), b[c].shape().debug_str()));
      }
      rows += b[c].dim(0);
    }
    shape.set(0, rows);
    const Tensor all = make_tensor(Runtime::get().cpu(), batches[0][c].dtype(), shape);
    int64_t offset = 0;
    for (const Element& b : batches) {
      copy_contents(b[c], writable(all, offset));
      offset += static_cast<int64_t>(b[c].impl()->bytes());
    }
    result.push_back(all);
  }
  return result;
}

int64_t batch_rows(const Element& batch, const char* what) {
  for (const Tensor& t : batch) {
    if (t.rank() == 0) {
      throw InvalidArgumentError(
          fmt::format("{}: cannot take rows of a scalar component.", what));
    }
    if (t.dim(0) != batch[0].dim(0)) {
      throw InvalidArgumentError(
          fmt::format("{}: Input element must have the same batch size in each "
                      "component. Component 0 "
                      "had size {} but another one had size {}.",
                      what, batch[0].dim(0), t.dim(0)));
    }
  }
  return batch.empty() ? 0 : batch[0].dim(0);
}

}  // namespace tandem::data
