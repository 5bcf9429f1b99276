#include "ops/random_draw.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "device/runtime.h"
#include "op/emitter.h"
#include "op/kernel.h"
#include "op/op_def.h"
#include "op/placement.h"
#include "tandem/device.h"
#include "tandem/ops.h"
#include "tandem/variable.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

void infer_next_state(InferContext& c) {
  c.dtype_in(0, {DType::kUInt64});
  c.rank(0, 1);
  c.rank(1, 0);
  if (const Shape& state = c.shape(0); state.is_known() && state[0] != 3) {
    c.fail("the state must have shape [3], not " + state.debug_str());
  }
  c.add_output(DType::kUInt64, Shape{1});
  c.add_output(DType::kUInt64, Shape{2});
}

void infer_key_counter(InferContext& c) {
  c.rank(0, 1);
  const Shape& seed = c.shape(0);
  if (seed.is_known() && seed[0] != 2) {
    c.fail("seed must have shape [2], not " + seed.debug_str());
  }
  c.add_output(DType::kUInt64, Shape{1});
  c.add_output(DType::kUInt64, Shape{2});
}

Tensor state_tensor(const RandomState& state) {
  return constant(std::vector<uint64_t>{state.key, state.counter[0], state.counter[1]});
}

struct Sequence {
  Tensor handle;
  RandomState start;
  bool seeded = false;
};
struct Sequences {
  std::mutex mutex;
  std::vector<Sequence> all;
};
Sequences& sequences() {
  static auto* s = new Sequences;
  return *s;
}
thread_local int64_t t_traced_draws = 0;

// Nobody but this list knows it any more: the function is gone.
bool forgotten(const Sequence& s) { return s.handle.header().use_count() == 1; }

// A state lives where random numbers are made when that is a native device, so that steps
// which draw numbers need no word from the host; else with the host.
Tensor make_state(const RandomState& start) {
  static const OpHandle op("NextRandomState");
  const EmitterScope eager(nullptr);
  const Device& device = constant_device(DType::kUInt64);
  const bool native = device.platform() != kHostPlatform &&
                      KernelRegistry::get().has(op, device.platform());
  const DeviceScope scope(native ? device.full_name() : "/device:CPU:0");
  return Variable(state_tensor(start), {.name = "random_state", .trainable = false})
      .handle();
}

}  // namespace

random::KeyCounter draw_traced(int64_t seed, const Tensor& blocks) {
  static const OpHandle op("NextRandomState");
  ++t_traced_draws;
  Sequence s;
  s.start = traced_random_state(seed);
  s.seeded = is_seeded(seed);
  s.handle = make_state(s.start);
  const DeviceScope beside(variable_of(s.handle).device->full_name());
  {
    const std::lock_guard lock(sequences().mutex);
    std::erase_if(sequences().all, forgotten);
    sequences().all.push_back(s);
  }
  const std::vector<Tensor> out = emit_all(op, {s.handle, blocks});
  return {out[0], out[1]};
}

random::KeyCounter draw(const std::string& op, int64_t seed, int64_t blocks) {
  if (current_emitter().tracing()) {
    return draw_traced(
        seed, make_host_copy(Runtime::get().cpu(), DType::kInt64, Shape{}, &blocks));
  }
  const RandomState s = next_random_state(op, seed, static_cast<uint64_t>(blocks));
  return {constant(std::vector<uint64_t>{s.key}),
          constant(std::vector<uint64_t>{s.counter[0], s.counter[1]})};
}

random::KeyCounter draw_for(const std::string& op, int64_t seed, const Tensor& like,
                            int64_t per_element) {
  if (like.shape().is_known()) return draw(op, seed, like.num_elements() * per_element);
  return draw_traced(seed, size(like, {DType::kInt64}) * per_element);
}

int64_t traced_draws() { return t_traced_draws; }

SequenceStart sequence_start(const Tensor& sequence) {
  const std::lock_guard lock(sequences().mutex);
  for (const Sequence& s : sequences().all) {
    if (s.handle.impl() == sequence.impl()) return {s.start, s.seeded};
  }
  return {};
}

bool is_sequence(const Tensor& handle) {
  const std::lock_guard lock(sequences().mutex);
  const auto& all = sequences().all;
  return std::any_of(all.begin(), all.end(),
                     [&](const Sequence& s) { return s.handle.impl() == handle.impl(); });
}

void restart_traced_sequences() {
  std::vector<Sequence> all;
  {
    const std::lock_guard lock(sequences().mutex);
    std::erase_if(sequences().all, forgotten);
    all = sequences().all;
  }
  const EmitterScope eager(nullptr);
  const DeviceScope cpu("/device:CPU:0");
  for (const Sequence& s : all) {
    Variable::from_handle(s.handle).assign(state_tensor(s.start));
  }
}

void register_random_state_ops(OpTable& table) {
  table.add({.name = "NextRandomState",
             .doc = "Key and counter of a sequence of random numbers, which moves on by "
                    "so many blocks.",
             .types = {{'T', mask(DType::kUInt64)}, {'B', mask(DType::kInt64)}},
             .inputs = {{.name = "resource", .resource = true, .writes = true},
                        {.name = "blocks", .type = 'B'}},
             .outputs = {"key", "counter"},
             .infer = infer_next_state,
             .differentiable = false,
             .effects = kReadsState | kWritesState});
  table.add({.name = "StatelessRandomGetKeyCounter",
             .doc = "Key and counter that a stateless op draws from for its two seeds.",
             .types = {{'T', mask(DType::kInt32, DType::kInt64)}},
             .inputs = {{.name = "seed"}},
             .outputs = {"key", "counter"},
             .infer = infer_key_counter,
             .differentiable = false});
}

}  // namespace tandem
