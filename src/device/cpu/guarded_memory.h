// Guarded memory: every block is pages of its own and ends right before a page that
// cannot be touched, so that a read or a write past its end faults at once; freed blocks
// are unmapped. TANDEM_GUARD_PAGES=1 makes it the CPU's memory, for tests. Any thread.
#pragma once

#include <cstddef>

namespace tandem {

/// Whether the process was started with TANDEM_GUARD_PAGES=1.
bool guards_memory();

/// Null when there is no memory. Aligned to 16 bytes.
void* guarded_allocate(size_t bytes);
void guarded_free(void* address);

/// What new blocks are filled with: contents that depend on it were never written.
void set_guard_fill(unsigned char byte);

}  // namespace tandem
