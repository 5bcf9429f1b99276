#include "kernels/cpu/random_state.h"

#include "op/kernel.h"

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

}  // namespace

void register_random_state_kernels(KernelRegistry& r) {
  r.add(make_kernel<prepare_next_state, launch_next_state>("NextRandomState",
                                                           "cpu.next_random_state"));
}

}  // namespace tandem::cpu
