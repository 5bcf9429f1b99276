#include "base/thread_state.h"

namespace tandem {

constinit thread_local ThreadState t_thread;

}  // namespace tandem
