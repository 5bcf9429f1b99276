#include "device/cpu/host_memory.h"

#include <cstring>

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(HostMemory, ThereIsSome) { EXPECT_GT(host_memory_bytes(), 64 << 20); }

TEST(HostMemory, LargePagesAreAlignedAndWritable) {
  for (size_t bytes : {size_t{4096}, size_t{2} << 20, (size_t{6} << 20) + 4096}) {
    void* pages = map_pages(bytes);
    ASSERT_NE(pages, nullptr);
    const size_t alignment = bytes >= (2 << 20) ? size_t{2} << 20 : 4096;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pages) % alignment, 0u);
    std::memset(pages, 1, bytes);
    unmap_pages(pages, bytes);
  }
}

TEST(HostMemory, TooMuchIsNull) { EXPECT_EQ(map_pages(size_t{1} << 62), nullptr); }

}  // namespace
}  // namespace tandem
