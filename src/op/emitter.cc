#include "op/emitter.h"

#include "base/thread_state.h"
#include "op/check_numerics.h"
#include "tandem/error.h"

namespace tandem {

namespace {
Emitter* g_eager = nullptr;
}  // namespace

Emitter& current_emitter() {
  if (Emitter* const emitter = t_thread.emitter) return *emitter;
  return checks_numerics() ? checking_emitter(*g_eager) : *g_eager;
}

void set_eager_emitter(Emitter* emitter) { g_eager = emitter; }

EmitterScope::EmitterScope(Emitter* emitter) : previous_(t_thread.emitter) {
  t_thread.emitter = emitter;
}
EmitterScope::~EmitterScope() { t_thread.emitter = previous_; }

}  // namespace tandem
