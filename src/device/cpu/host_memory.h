// Memory of the machine: how much there is, and pages for large blocks. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem {

/// Bytes this process may use: physical memory, or its control group's limit when that is
/// lower.
int64_t host_memory_bytes();

size_t page_bytes();

/// Zeroed pages for `bytes` (a multiple of the page size), aligned for huge pages when
/// that large; null when there is no memory.
void* map_pages(size_t bytes);
void unmap_pages(void* address, size_t bytes);

}  // namespace tandem
