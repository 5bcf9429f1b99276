#include "op/emitter.h"

#include "tandem/error.h"

namespace tandem {

namespace {
Emitter* g_eager = nullptr;
thread_local Emitter* t_emitter = nullptr;
}  // namespace

Emitter& current_emitter() {
  if (t_emitter) return *t_emitter;
  return *g_eager;
}

void set_eager_emitter(Emitter* emitter) { g_eager = emitter; }

EmitterScope::EmitterScope(Emitter* emitter) : previous_(t_emitter) {
  t_emitter = emitter;
}
EmitterScope::~EmitterScope() { t_emitter = previous_; }

}  // namespace tandem
