// Makers of all stages, one group per file. What a stage does is said in tandem/data.h or
// at TensorFlow's method of that name.
#pragma once

#include <string>
#include <vector>

#include "base/byte_source.h"
#include "data/element_function.h"
#include "data/stage.h"

namespace tandem::data {

// ---- Sources
StagePtr make_tensors(Element components);
StagePtr make_array(std::vector<Tensor> arrays);
StagePtr make_range(Size start, Size stop, Size step, DType dtype);
/// Pseudo-random int64 numbers; `rerandomize`: others in each pass.
StagePtr make_random(int64_t seed, int64_t seed2, bool rerandomize);
using GeneratorMaker = std::function<std::function<bool(Element&)>()>;
StagePtr make_generator(GeneratorMaker make, std::vector<Component> components);

// ---- Choosing elements
StagePtr make_take(StagePtr input, Size count);
StagePtr make_skip(StagePtr input, Size count);
StagePtr make_shard(StagePtr input, Size shards, Size index);
StagePtr make_repeat(StagePtr input, Size count);
StagePtr make_filter(StagePtr input, FunctionPtr predicate);
StagePtr make_take_while(StagePtr input, FunctionPtr predicate);
StagePtr make_ignore_errors(StagePtr input, bool log_warning);
StagePtr make_unique(StagePtr input);

/// The two seeds of TensorFlow's rules for an op of the pipeline.
struct Seeds {
  int64_t first = 0, second = 0;
};
/// From tf.random.set_seed's and the op's own; `traced`: inside a traced function.
Seeds next_seeds(const char* op, std::optional<int64_t> seed, bool traced = false);
struct ShuffleStageOptions {
  Size buffer_size = 1;  // negative: everything
  Seeds seeds;
  bool reshuffle_each_iteration = true;
};
StagePtr make_shuffle(StagePtr input, ShuffleStageOptions options);

// ---- Functions
struct MapStageOptions {
  int64_t num_parallel_calls = 0;
  bool deterministic = true;
  std::vector<Component> components;
};
StagePtr make_map(StagePtr input, FunctionPtr function, MapStageOptions options);
/// function(state..., element...) → (state..., output...).
StagePtr make_scan(StagePtr input, Element state, FunctionPtr function,
                   std::vector<Component> components);
/// Fills `state` with the last one; function(state..., element...) → state...
void reduce(const Stage& input, const std::shared_ptr<Cancellation>& cancellation,
            Element& state, const UserFunction& function);

// ---- Batches
StagePtr make_batch(StagePtr input, Size batch_size, bool drop_remainder);
StagePtr make_parallel_batch(StagePtr input, Size batch_size, bool drop_remainder,
                             int64_t num_parallel_calls, bool deterministic);
struct PaddedBatchStageOptions {
  Size batch_size = 1;
  bool drop_remainder = false;
  std::vector<Shape> padded_shapes;
  std::vector<Tensor> padding_values;  // undefined: zero or ""
};
StagePtr make_padded_batch(StagePtr input, PaddedBatchStageOptions options);
/// `ragged` by component: its rows and their splits in place of a stack.
StagePtr make_ragged_batch(StagePtr input, Size batch_size, bool drop_remainder,
                           std::vector<bool> ragged);
StagePtr make_unbatch(StagePtr input);
/// `batch_sizes` are used in turn.
StagePtr make_rebatch(StagePtr input, std::vector<int64_t> batch_sizes,
                      bool drop_remainder);
struct WindowStageOptions {
  Size size = 1, shift = 1, stride = 1;
  bool drop_remainder = false;
};
StagePtr make_window(StagePtr input, WindowStageOptions options);
/// A dataset of these elements.
StagePtr make_elements(std::vector<Element> elements, std::vector<Component> components);
struct GroupByWindowFunctions {
  FunctionPtr key;     // element... → int64
  FunctionPtr reduce;  // key, dataset → dataset
  FunctionPtr size;    // key → int64
};
StagePtr make_group_by_window(StagePtr input, GroupByWindowFunctions functions,
                              std::vector<Component> components);

// ---- Several datasets
StagePtr make_zip(std::vector<StagePtr> inputs);
StagePtr make_concatenate(StagePtr first, StagePtr second);
/// The function returns one dataset.
StagePtr make_flat_map(StagePtr input, FunctionPtr function,
                       std::vector<Component> components);
struct InterleaveStageOptions {
  Size cycle_length = 1, block_length = 1;
  int64_t num_parallel_calls = 0;
};
StagePtr make_interleave(StagePtr input, FunctionPtr function,
                         InterleaveStageOptions options,
                         std::vector<Component> components);
/// Elements of `selector`, int64 scalars, say which input gives the next one.
StagePtr make_choose(StagePtr selector, std::vector<StagePtr> inputs, bool stop_on_empty);

// ---- Working ahead and keeping
StagePtr make_prefetch(StagePtr input, int64_t buffer_size);
StagePtr make_cache(StagePtr input);
StagePtr make_file_cache(StagePtr input, std::string file);
StagePtr make_copy_to_device(StagePtr input, std::string device);
StagePtr make_assert_cardinality(StagePtr input, Size expected);

// ---- Files
StagePtr make_text_lines(StagePtr files, Compression compression = Compression::kNone);
StagePtr make_records(StagePtr files, Compression compression = Compression::kNone);
struct FixedRecordOptions {
  int64_t record_bytes = 1, header_bytes = 0, footer_bytes = 0;
};
StagePtr make_fixed_records(StagePtr files, FixedRecordOptions options,
                            Compression compression = Compression::kNone);

/// A number of threads or calls: what AUTOTUNE means here, at least 1.
int64_t resolve_parallelism(int64_t wanted);

}  // namespace tandem::data
