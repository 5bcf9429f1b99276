// Input pipelines (tf.data). A Dataset is an immutable description, cheap to copy and
// safe to share; an Iterator is one pass over it and belongs to one thread. Elements are
// lists of tensors in host memory. Names, defaults and orders are TensorFlow's.
//
//   auto batches = data::from_tensor_slices({x, y}).shuffle({.buffer_size = 1000})
//                      .batch({.batch_size = 32}).prefetch();
//   for (const data::Element& batch : batches) step(batch[0], batch[1]);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tandem/tensor.h"

namespace tandem::data {

class Stage;
class Dataset;

using Element = std::vector<Tensor>;
/// A function of the components of an element. Several threads may call it at a time
/// where num_parallel_calls says so.
using ElementFunction = std::function<Element(std::span<const Tensor>)>;

/// For counts: let the pipeline choose.
inline constexpr int64_t kAutotune = -1;
/// What cardinality() says when there is no number.
inline constexpr int64_t kInfinite = -1, kUnknown = -2;

/// What is known of one component of all elements.
struct Component {
  DType dtype = DType::kInvalid;
  Shape shape = Shape::unknown();
};

/// One pass over a dataset. Threads that work ahead for it end when it is destroyed. An
/// error is thrown once, where its element would have come; the next call goes on.
class Iterator {
 public:
  explicit Iterator(const Dataset& dataset);
  Iterator(Iterator&&) noexcept;
  Iterator& operator=(Iterator&&) noexcept;
  ~Iterator();
  /// False when there are no more elements, and from then on.
  bool next(Element& element);
  /// Another thread may call it: next() throws CancelledError from then on.
  void cancel();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// `for (const Element& e : dataset)`: what a range-for needs.
class ElementIterator {
 public:
  ElementIterator() = default;
  explicit ElementIterator(const Dataset& dataset);
  const Element& operator*() const { return element_; }
  const Element* operator->() const { return &element_; }
  ElementIterator& operator++();
  bool operator==(const ElementIterator& other) const {
    return iterator_ == other.iterator_;
  }

 private:
  std::shared_ptr<Iterator> iterator_;  // null: at the end
  Element element_;
};

struct MapOptions {
  /// 0: on the thread that asks for the element. Else that many at a time.
  int64_t num_parallel_calls = 0;
  /// Elements come in the order of their inputs.
  bool deterministic = true;
  /// What the function returns, if known.
  std::vector<Component> components = {};
};
struct BatchOptions {
  int64_t batch_size = 32;
  bool drop_remainder = false;
  int64_t num_parallel_calls = 0;
  bool deterministic = true;
};
struct PaddedBatchOptions {
  int64_t batch_size = 32;
  bool drop_remainder = false;
  /// By component; unknown dimensions become the largest of the batch. Empty: all so.
  std::vector<Shape> padded_shapes = {};
  /// By component, scalars; empty: zeros and empty strings.
  std::vector<Tensor> padding_values = {};
};
struct ShuffleOptions {
  int64_t buffer_size = 1024;
  /// With tf.random.set_seed's it decides the order; none: another order in each process.
  std::optional<int64_t> seed = {};
  /// Another order each time the dataset is iterated over.
  bool reshuffle_each_iteration = true;
};
struct InterleaveOptions {
  int64_t cycle_length = kAutotune;
  int64_t block_length = 1;
  int64_t num_parallel_calls = 0;
};
struct WindowOptions {
  int64_t size = 1;
  int64_t shift = 0;  // 0: size
  int64_t stride = 1;
  bool drop_remainder = false;
};

class Dataset {
 public:
  explicit Dataset(std::shared_ptr<const Stage> stage) : stage_(std::move(stage)) {}
  const std::shared_ptr<const Stage>& stage() const { return stage_; }

  /// Number of elements, kInfinite or kUnknown.
  int64_t cardinality() const;
  /// What is known of the components; empty when nothing is.
  const std::vector<Component>& components() const;

  Dataset map(ElementFunction function, MapOptions options = {}) const;
  /// Keeps the elements for which the function's one result, a bool, is true.
  Dataset filter(ElementFunction predicate) const;
  Dataset take_while(ElementFunction predicate) const;
  Dataset batch(BatchOptions options) const;
  Dataset padded_batch(PaddedBatchOptions options) const;
  Dataset unbatch() const;
  Dataset rebatch(int64_t batch_size, bool drop_remainder = false) const;
  Dataset shuffle(ShuffleOptions options) const;
  /// Negative: without end.
  Dataset repeat(int64_t count = -1) const;
  Dataset take(int64_t count) const;
  Dataset skip(int64_t count) const;
  Dataset shard(int64_t shards, int64_t index) const;
  Dataset enumerate(int64_t start = 0) const;
  Dataset concatenate(const Dataset& other) const;
  Dataset flat_map(std::function<Dataset(const Element&)> function) const;
  Dataset interleave(std::function<Dataset(const Element&)> function,
                     InterleaveOptions options = {}) const;
  /// Elements are datasets of `size` elements; dataset_of() gives them.
  Dataset window(WindowOptions options) const;
  /// Keeps the elements in memory, or in a file of that name.
  Dataset cache(const std::string& file = {}) const;
  Dataset prefetch(int64_t buffer_size = kAutotune) const;
  /// The last state: function(state..., element...) gives the next one.
  Element reduce(Element state, const ElementFunction& function) const;

  ElementIterator begin() const { return ElementIterator(*this); }
  ElementIterator end() const { return {}; }

 private:
  std::shared_ptr<const Stage> stage_;
};

/// One element.
Dataset from_tensors(Element components);
/// One element per row.
Dataset from_tensor_slices(std::vector<Tensor> arrays);
Dataset range(int64_t start, int64_t stop, int64_t step = 1);
/// Each iteration calls `make` for a function that fills elements until it returns false.
Dataset from_generator(std::function<std::function<bool(Element&)>()> make,
                       std::vector<Component> components);
Dataset zip(const std::vector<Dataset>& datasets);
/// Lines of text files without their ends; records of TFRecord files.
Dataset text_lines(const std::vector<std::string>& files);
Dataset tf_records(const std::vector<std::string>& files);

/// A dataset as a tensor, as windows have it among their components, and back.
Tensor dataset_tensor(const Dataset& dataset);
Dataset dataset_of(const Tensor& tensor);

}  // namespace tandem::data
