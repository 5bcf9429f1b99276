// padded_batch: elements of different sizes, each copied into the corner of its row.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "data/batching.h"
#include "data/stack.h"
#include "data/stages.h"
#include "device/runtime.h"
#include "tensor/tensor_impl.h"

namespace tandem::data {

namespace {

std::vector<Component> padded(const std::vector<Component>& components,
                              const std::vector<Shape>& shapes, int64_t rows) {
  std::vector<Component> result;
  for (size_t i = 0; i < shapes.size(); ++i) {
    Shape shape = shapes[i];
    if (shape.has_rank()) shape.insert(0, rows);
    result.push_back(
        {i < components.size() ? components[i].dtype : DType::kInvalid, shape});
  }
  return result;
}

// The shape of a padded row: what was asked for, with the largest size of the batch where
// that is open.
Shape row_shape(const Shape& wanted, std::span<const Element> elements, size_t c) {
  Shape shape = wanted;
  if (!shape.has_rank()) shape = Shape::unknown_of_rank(elements[0][c].rank());
  std::vector<int64_t> largest(static_cast<size_t>(shape.rank()), 0);
  for (const Element& e : elements) {
    const Shape& s = e[c].shape();
    if (s.rank() != shape.rank()) {
      throw InvalidArgumentError(fmt::format(
          "All elements in a batch must have the same rank as the padded shape for "
          "component{}: expected rank {} but got element with rank {}",
          c, shape.rank(), s.rank()));
    }
    for (int d = 0; d < shape.rank(); ++d) {
      largest[static_cast<size_t>(d)] = std::max(largest[static_cast<size_t>(d)], s[d]);
      if (shape[d] >= 0 && s[d] > shape[d]) {
        throw DataLossError(fmt::format(
            "Attempted to pad to a smaller size than the input element. Component {} of "
            "shape {} does not fit into {}.",
            c, s.debug_str(), shape.debug_str()));
      }
    }
  }
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] < 0) shape.set(d, largest[static_cast<size_t>(d)]);
  }
  return shape;
}

// Copies `from`, of that shape, into the corner of a block of shape `to_shape`; runs of
// the last dimension at a time. Copy(to, from, n) copies n items.
template <class Copy>
void copy_corner(const Shape& shape, const Shape& to_shape, const Copy& copy) {
  const int rank = shape.rank();
  if (rank == 0) return copy(0, 0, 1);
  if (shape.num_elements() == 0) return;
  std::vector<int64_t> at(static_cast<size_t>(rank), 0);
  int64_t from = 0;
  for (;;) {
    int64_t to = 0;
    for (int d = 0; d < rank; ++d) to = to * to_shape[d] + at[static_cast<size_t>(d)];
    copy(to, from, shape[rank - 1]);
    from += shape[rank - 1];
    int d = rank - 2;
    while (d >= 0 && ++at[static_cast<size_t>(d)] == shape[d]) {
      at[static_cast<size_t>(d--)] = 0;
    }
    if (d < 0) return;
  }
}

void fill(const Tensor& all, const Tensor& value) {
  const int64_t n = all.num_elements();
  const size_t size = dtype_size(all.dtype());
  if (all.dtype() == DType::kString) {
    auto* to = static_cast<std::string*>(writable(all));
    std::fill(to, to + n, value.defined() ? value.item<std::string>() : std::string());
    return;
  }
  auto* to = static_cast<std::byte*>(writable(all));
  std::memset(to, 0, static_cast<size_t>(n) * size);
  if (!value.defined()) return;
  const Tensor host = value.to_host();
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(to + static_cast<size_t>(i) * size, host.host_data(), size);
  }
}

Tensor pad_and_stack(std::span<const Element> elements, size_t c, const Shape& wanted,
                     const Tensor& value) {
  const Shape row = row_shape(wanted, elements, c);
  Shape shape = row;
  shape.insert(0, static_cast<int64_t>(elements.size()));
  const Tensor all = make_tensor(Runtime::get().cpu(), elements[0][c].dtype(), shape);
  fill(all, value);
  const int64_t row_elements = row.num_elements();
  for (size_t i = 0; i < elements.size(); ++i) {
    const Tensor t = elements[i][c].to_host();
    const int64_t start = static_cast<int64_t>(i) * row_elements;
    if (t.dtype() == DType::kString) {
      const auto* from = static_cast<const std::string*>(t.host_data());
      auto* to = static_cast<std::string*>(writable(all)) + start;
      copy_corner(t.shape(), row, [&](int64_t at, int64_t of, int64_t n) {
        std::copy(from + of, from + of + n, to + at);
      });
    } else {
      const auto size = static_cast<int64_t>(dtype_size(t.dtype()));
      const auto* from = static_cast<const std::byte*>(t.host_data());
      auto* to = static_cast<std::byte*>(writable(all, start * size));
      copy_corner(t.shape(), row, [&](int64_t at, int64_t of, int64_t n) {
        std::memcpy(to + at * size, from + of * size, static_cast<size_t>(n * size));
      });
    }
  }
  return all;
}

class PaddedBatchStage final : public Stage {
 public:
  PaddedBatchStage(StagePtr input, PaddedBatchStageOptions options)
      : Stage("PaddedBatch",
              padded(input->components(), options.padded_shapes,
                     known_rows(options.batch_size, options.drop_remainder))),
        input_(std::move(input)),
        options_(std::move(options)) {}
  int64_t cardinality() const override {
    return batches_of(input_->cardinality(), options_.batch_size,
                      options_.drop_remainder);
  }

  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    struct Padding final : Cursor {
      Padding(const Context& c, std::unique_ptr<Cursor> from, PaddedBatchStageOptions o)
          : Cursor(c, "PaddedBatch"), input(std::move(from)), options(std::move(o)) {}
      bool advance(Element& out) override {
        if (!collect(*input, options.batch_size.get(), options.drop_remainder,
                     elements)) {
          return false;
        }
        out.clear();
        for (size_t c = 0; c < elements[0].size(); ++c) {
          out.push_back(pad_and_stack(
              elements, c,
              c < options.padded_shapes.size() ? options.padded_shapes[c]
                                               : Shape::unknown(),
              c < options.padding_values.size() ? options.padding_values[c] : Tensor()));
        }
        return true;
      }
      const std::unique_ptr<Cursor> input;
      const PaddedBatchStageOptions options;
      std::vector<Element> elements;
    };
    return std::make_unique<Padding>(context, input_->open(context), options_);
  }
  StagePtr substitute(const Substitution& s) const override {
    PaddedBatchStageOptions options = options_;
    options.batch_size = options_.batch_size.substitute(s);
    return make_padded_batch(input_->substitute(s), std::move(options));
  }

 private:
  const StagePtr input_;
  const PaddedBatchStageOptions options_;
};

}  // namespace

StagePtr make_padded_batch(StagePtr input, PaddedBatchStageOptions options) {
  if (options.batch_size.value_or(1) < 1) {
    throw InvalidArgumentError(
        "PaddedBatchDataset: batch_size must be greater than zero.");
  }
  return std::make_shared<PaddedBatchStage>(std::move(input), std::move(options));
}

}  // namespace tandem::data
