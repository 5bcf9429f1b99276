#include "data/pass_draws.h"

#include "device/runtime.h"
#include "tensor/tensor_impl.h"

namespace tandem::data {

namespace {
bool same(const RandomState& a, const RandomState& b) {
  return a.key == b.key && a.counter[0] == b.counter[0] && a.counter[1] == b.counter[1];
}
}  // namespace

Draw PassDraws::take(const Tensor& sequence, const SequenceStart& start, int64_t blocks) {
  Draw draw;
  {
    const std::lock_guard lock(mutex_);
    const auto [place, first] = places_.try_emplace(sequence.impl()->id);
    RandomState& state = place->second;
    if (first) state = start.seeded ? start.state : unseeded_random_state();
    draw.begin = state;
    const auto step = static_cast<uint64_t>(blocks);
    state.counter[0] += step;
    if (state.counter[0] < step) ++state.counter[1];
    draw.end = state;
  }
  Device& cpu = Runtime::get().cpu();
  draw.taken = {make_host_copy(cpu, DType::kUInt64, Shape{1}, &draw.begin.key),
                make_host_copy(cpu, DType::kUInt64, Shape{2}, draw.begin.counter)};
  return draw;
}

void PassDraws::give_back(const Tensor& sequence, const Draw& first, const Draw& last) {
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(sequence.impl()->id);
  if (place != places_.end() && same(place->second, last.end)) {
    place->second = first.begin;
  }
}

}  // namespace tandem::data
