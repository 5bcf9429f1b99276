#include "kernels/cpu/random_state.h"

#include "op/kernel.h"
#include "ops/random_seed.h"

namespace tandem::cpu {

namespace {

struct NextStatePlan {};
NextStatePlan prepare_next_state(const Signature&) { return {}; }

// The variable holds key, counter low, counter high.
void launch_next_state(const NextStatePlan&, const LaunchArgs& a) {
  auto* state = a.inout<uint64_t>(0);
  const auto blocks = static_cast<uint64_t>(*a.in<int64_t>(1));
  a.out<uint64_t>(0)[0] = state[0];
  a.out<uint64_t>(1)[0] = state[1];
  a.out<uint64_t>(1)[1] = state[2];
  state[1] += blocks;
  if (state[1] < blocks) ++state[2];
}

struct KeyCounterPlan {
  bool wide = false;
};
KeyCounterPlan prepare_key_counter(const Signature& s) {
  return {s.in(0).dtype == DType::kInt64};
}

void launch_key_counter(const KeyCounterPlan& p, const LaunchArgs& a) {
  const RandomState state =
      p.wide ? stateless_state(a.in<int64_t>(0)[0], a.in<int64_t>(0)[1])
             : stateless_state(a.in<int32_t>(0)[0], a.in<int32_t>(0)[1]);
  a.out<uint64_t>(0)[0] = state.key;
  a.out<uint64_t>(1)[0] = state.counter[0];
  a.out<uint64_t>(1)[1] = state.counter[1];
}

}  // namespace

void register_random_state_kernels(KernelRegistry& r) {
  r.add(make_kernel<prepare_next_state, launch_next_state>("NextRandomState",
                                                           "cpu.next_random_state"));
  r.add(make_kernel<prepare_key_counter, launch_key_counter>(
      "StatelessRandomGetKeyCounter", "cpu.key_counter"));
}

}  // namespace tandem::cpu
