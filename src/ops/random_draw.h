// Where an op that draws from a sequence begins: eagerly the host takes the next place in
// the sequence; in a traced function the op owns a hidden variable that every call of the
// function advances, as TensorFlow's functions do. Any thread.
#pragma once

#include <string>

#include "ops/random_seed.h"
#include "tandem/ops/random.h"

namespace tandem {

class OpTable;

/// `op`: name and dtype of the op; `seed` < 0: none given; `blocks`: 128-bit blocks that
/// the op may use, at most.
random::KeyCounter draw(const std::string& op, int64_t seed, int64_t blocks);
/// The same for a number that depends on the size of a tensor: `per_element` blocks each.
random::KeyCounter draw_for(const std::string& op, int64_t seed, const Tensor& like,
                            int64_t per_element);

/// The same in a traced function, for a number that is a tensor (int64, scalar).
random::KeyCounter draw_traced(int64_t seed, const Tensor& blocks);

/// How many draws this thread has traced.
int64_t traced_draws();

/// Where the sequence of a traced draw starts. `seeded`: a seed decided it; else it is
/// anywhere.
struct SequenceStart {
  RandomState state;
  bool seeded = false;
};
SequenceStart sequence_start(const Tensor& sequence);
/// Whether a variable is the hidden one of a traced draw.
bool is_sequence(const Tensor& handle);

/// tf.random.set_seed for functions traced before: their sequences start over.
void restart_traced_sequences();

void register_random_state_ops(OpTable& table);

}  // namespace tandem
