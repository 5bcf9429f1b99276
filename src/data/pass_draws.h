// Where a pass stands in the random sequences of its functions. As in TensorFlow a pass
// begins each that a seed started at its start, whatever other passes draw meanwhile; any
// number of stages of the pass may share one. Any thread; nothing is held but for the
// moment of taking a range.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "ops/random_draw.h"
#include "tandem/tensor.h"

namespace tandem::data {

/// One draw of a call: the range from `begin` to `end`.
struct Draw {
  random::KeyCounter taken;
  RandomState begin, end;
};
/// Those of one call, in order.
using Draws = std::vector<Draw>;

class PassDraws {
 public:
  /// The next `blocks` of a sequence.
  Draw take(const Tensor& sequence, const SequenceStart& start, int64_t blocks);
  /// Of calls that nobody has wanted, the first draw and the last: the sequence goes
  /// back, unless others have gone on with it.
  void give_back(const Tensor& sequence, const Draw& first, const Draw& last);

 private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, RandomState> places_;  // by id; guarded by mutex_
};

}  // namespace tandem::data
