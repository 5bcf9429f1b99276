// ThreadState: what every call looks at of its thread, side by side. A call that comes
// after long kernels finds cold caches, and each line of them that it touches costs it
// some 60 ns; thread-local variables of many files would be as
// many lines, and as many entries of the linker's table. Each field belongs to the file
// that is named beside it, which alone writes it. Per thread, no lock.
#pragma once

#include <cstdint>

namespace tandem {

class CallHold;
class Emitter;
class InterruptScope;
class Team;
class VariableScope;

struct alignas(64) ThreadState {
  Team* team = nullptr;                 // parallel.cc: whose threads ranges run on
  Team* held_team = nullptr;            // parallel.cc: taken by a token of this thread
  InterruptScope* interrupt = nullptr;  // interrupt.h: the innermost scope
  Emitter* emitter = nullptr;           // op/emitter.cc; null: the eager one
  uint64_t scope_key = 0;               // op/placement.cc: of the innermost device scope
  VariableScope* held_variables = nullptr;  // tensor/variable_lock.cc: the innermost
  CallHold* calls = nullptr;                // tensor/variable_wait.cc: the innermost
  int32_t listeners = 0;                    // run/tape.cc: tapes and accumulators
  int16_t paused = 0;                       // run/tape.h: while they hear nothing
  bool inside_range = false;                // parallel.cc: nested work runs inline
};
static_assert(sizeof(ThreadState) == 64);

extern constinit thread_local ThreadState t_thread;

}  // namespace tandem
