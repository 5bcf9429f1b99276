// The public handles: Dataset, Iterator and the functions that make datasets.
#include "base/recorder.h"
#include "data/stages.h"
#include "tandem/data.h"

namespace tandem::data {

struct Iterator::State {
  explicit State(const Dataset& dataset)
      : cancellation(Cancellation::make()),
        stage(dataset.stage()),
        cursor(stage->open({cancellation, current_pass_log()})) {}
  const std::shared_ptr<Cancellation> cancellation;
  const StagePtr stage;
  std::unique_ptr<Cursor> cursor;  // null: the pass has ended
};

Iterator::Iterator(const Dataset& dataset) : state_(std::make_unique<State>(dataset)) {}
Iterator::Iterator(Iterator&&) noexcept = default;
Iterator& Iterator::operator=(Iterator&& other) noexcept {
  if (state_) state_->cancellation->cancel();
  state_ = std::move(other.state_);
  return *this;
}
Iterator::~Iterator() {
  if (state_) state_->cancellation->cancel();
}
// Stages may have worked ahead of what was taken: they end with the pass.
bool Iterator::next(Element& element) {
  if (!state_->cursor) return false;
  const recorder::InputWait wait;
  if (state_->cursor->next(element)) return true;
  state_->cancellation->cancel();
  state_->cursor.reset();
  return false;
}
void Iterator::cancel() { state_->cancellation->cancel(); }

ElementIterator::ElementIterator(const Dataset& dataset)
    : iterator_(std::make_shared<Iterator>(dataset)) {
  ++*this;
}
ElementIterator& ElementIterator::operator++() {
  if (!iterator_->next(element_)) iterator_.reset();
  return *this;
}

int64_t Dataset::cardinality() const { return stage_->cardinality(); }
const std::vector<Component>& Dataset::components() const { return stage_->components(); }

Dataset Dataset::map(ElementFunction function, MapOptions o) const {
  return Dataset(make_map(stage_, make_callable(std::move(function)),
                          {o.num_parallel_calls, o.deterministic, o.components}));
}
Dataset Dataset::filter(ElementFunction predicate) const {
  return Dataset(make_filter(stage_, make_callable(std::move(predicate))));
}
Dataset Dataset::take_while(ElementFunction predicate) const {
  return Dataset(make_take_while(stage_, make_callable(std::move(predicate))));
}
Dataset Dataset::batch(BatchOptions o) const {
  if (o.num_parallel_calls == 0 || stage_->components().empty()) {
    return Dataset(make_batch(stage_, o.batch_size, o.drop_remainder));
  }
  return Dataset(make_parallel_batch(stage_, o.batch_size, o.drop_remainder,
                                     o.num_parallel_calls, o.deterministic));
}
Dataset Dataset::padded_batch(PaddedBatchOptions o) const {
  return Dataset(make_padded_batch(
      stage_, {o.batch_size, o.drop_remainder, o.padded_shapes, o.padding_values}));
}
Dataset Dataset::unbatch() const { return Dataset(make_unbatch(stage_)); }
Dataset Dataset::rebatch(int64_t batch_size, bool drop_remainder) const {
  return Dataset(make_rebatch(stage_, {batch_size}, drop_remainder));
}
Dataset Dataset::shuffle(ShuffleOptions o) const {
  return Dataset(make_shuffle(stage_, {o.buffer_size, next_seeds("Shuffle", o.seed),
                                       o.reshuffle_each_iteration}));
}
Dataset Dataset::repeat(int64_t count) const {
  return Dataset(make_repeat(stage_, count));
}
Dataset Dataset::take(int64_t count) const { return Dataset(make_take(stage_, count)); }
Dataset Dataset::skip(int64_t count) const { return Dataset(make_skip(stage_, count)); }
Dataset Dataset::shard(int64_t shards, int64_t index) const {
  return Dataset(make_shard(stage_, shards, index));
}
Dataset Dataset::enumerate(int64_t start) const {
  return Dataset(make_zip({make_range(start, INT64_MAX, 1, DType::kInt64), stage_}));
}
Dataset Dataset::concatenate(const Dataset& other) const {
  return Dataset(make_concatenate(stage_, other.stage_));
}

namespace {
FunctionPtr returns_dataset(std::function<Dataset(const Element&)> function) {
  return make_callable([function = std::move(function)](std::span<const Tensor> e) {
    return Element{dataset_tensor(function(Element(e.begin(), e.end())))};
  });
}
Dataset of_files(const std::vector<std::string>& files, StagePtr (*make)(StagePtr)) {
  const Shape shape{static_cast<int64_t>(files.size())};
  return Dataset(make(make_array({tensor_from_strings(files, shape)})));
}
}  // namespace

Dataset Dataset::flat_map(std::function<Dataset(const Element&)> function) const {
  return Dataset(make_flat_map(stage_, returns_dataset(std::move(function)), {}));
}
Dataset Dataset::interleave(std::function<Dataset(const Element&)> function,
                            InterleaveOptions o) const {
  return Dataset(make_interleave(stage_, returns_dataset(std::move(function)),
                                 {o.cycle_length, o.block_length, o.num_parallel_calls},
                                 {}));
}
Dataset Dataset::window(WindowOptions o) const {
  return Dataset(make_window(
      stage_, {o.size, o.shift ? o.shift : o.size, o.stride, o.drop_remainder}));
}
Dataset Dataset::cache(const std::string& file) const {
  return Dataset(file.empty() ? make_cache(stage_) : make_file_cache(stage_, file));
}
Dataset Dataset::prefetch(int64_t buffer_size) const {
  return Dataset(make_prefetch(stage_, buffer_size));
}
Element Dataset::reduce(Element state, const ElementFunction& function) const {
  const auto cancellation = Cancellation::make();
  data::reduce(*stage_, cancellation, state, *make_callable(function));
  return state;
}

Dataset from_tensors(Element components) {
  return Dataset(make_tensors(std::move(components)));
}
Dataset from_tensor_slices(std::vector<Tensor> arrays) {
  return Dataset(make_array(std::move(arrays)));
}
Dataset range(int64_t start, int64_t stop, int64_t step) {
  return Dataset(make_range(start, stop, step, DType::kInt64));
}
Dataset from_generator(std::function<std::function<bool(Element&)>()> make,
                       std::vector<Component> components) {
  return Dataset(make_generator(std::move(make), std::move(components)));
}
Dataset zip(const std::vector<Dataset>& datasets) {
  std::vector<StagePtr> stages;
  for (const Dataset& d : datasets) stages.push_back(d.stage());
  return Dataset(make_zip(std::move(stages)));
}
Dataset text_lines(const std::vector<std::string>& files) {
  return of_files(files, [](StagePtr f) { return make_text_lines(std::move(f)); });
}
Dataset tf_records(const std::vector<std::string>& files) {
  return of_files(files, [](StagePtr f) { return make_records(std::move(f)); });
}

}  // namespace tandem::data
