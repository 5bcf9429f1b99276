// TensorFlow's seed rules: the global seed, the seeds of ops, and the generators behind
// them. An op called again with the same seeds goes on in its own sequence until the
// global seed is set. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace tandem {

/// Key and counter from which one op call draws.
struct RandomState {
  uint64_t key = 0;
  uint64_t counter[2] = {0, 0};
};

/// The state for a call of `op` (name and dtype: sequences are per kind of op) that needs
/// up to `blocks` 128-bit blocks. `seed` < 0: none given.
RandomState next_random_state(const std::string& op, int64_t seed, uint64_t blocks);

/// Where the sequence of an op in a traced function starts. Ops without a seed are
/// numbered within their trace.
RandomState traced_random_state(int64_t seed);
/// Whether a seed, its own or the global one, decides where the sequence of an op starts.
bool is_seeded(int64_t seed);
/// A start that no seed decides.
RandomState unseeded_random_state();
/// Set by the graph layer: gives the number of the next such op of the thread's trace.
void set_trace_op_numbers(int64_t (*next)());

/// tf.random.set_seed: all sequences start over.
void set_global_seed(int64_t seed);
/// tf.random.set_seed(None): as before the first.
void clear_global_seed();

/// Key and counter of a stateless op for its two seeds.
RandomState stateless_state(int64_t seed0, int64_t seed1);

}  // namespace tandem
