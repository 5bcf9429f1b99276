#include "device/emulated/emulated_arena.h"

#include <cstring>

#include <gtest/gtest.h>
#include <signal.h>

#include "support/alone.h"
#include "tandem/error.h"

namespace tandem {
namespace {

/// Where the next fault is expected.
const volatile std::byte* expected_fault = nullptr;

void expect_fault_at(const volatile std::byte* address) {
  expected_fault = address;
  struct sigaction action = {};
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = [](int, siginfo_t* info, void*) {
    if (info->si_addr == const_cast<const std::byte*>(expected_fault)) {
      testing::alone_exit();
    }
    _exit(1);
  };
  ASSERT_EQ(sigaction(SIGSEGV, &action, nullptr), 0);
}

ALONE_TEST(EmulatedArena, ReadingFromTheHostFaults, {}) {
  EmulatedArena arena(1 << 20);
  volatile std::byte* address = arena.base() + 4096;
  expect_fault_at(address);
  const std::byte value = *address;
  FAIL() << "read " << static_cast<int>(value);
}

ALONE_TEST(EmulatedArena, WritingFromTheHostFaults, {}) {
  EmulatedArena arena(1 << 20);
  volatile std::byte* address = arena.base() + 4096;
  expect_fault_at(address);
  *address = std::byte{1};
  FAIL() << "written";
}

TEST(EmulatedArena, TasksReachItThroughTheOffset) {
  EmulatedArena arena(1 << 20);
  EXPECT_TRUE(EmulatedArena::owns(arena.base()));
  EXPECT_FALSE(EmulatedArena::owns(arena.base() + arena.bytes()));
  auto* reached = static_cast<std::byte*>(EmulatedArena::reachable(arena.base() + 100));
  EXPECT_EQ(reached, arena.base() + 100 + arena.offset());
  *reached = std::byte{7};
  int host = 0;
  EXPECT_EQ(EmulatedArena::reachable(&host), &host);
}

TEST(EmulatedArena, PagesComeWhenTouchedAndGoWhenDiscarded) {
  EmulatedArena arena(size_t{64} << 20);
  EXPECT_EQ(arena.resident(), 0);
  std::memset(EmulatedArena::reachable(arena.base()), 1, 8 << 20);
  EXPECT_GE(arena.resident(), 8 << 20);
  EXPECT_LT(arena.resident(), 16 << 20);
  arena.discard(100, (8 << 20) - 200);  // whole pages inside only
  EXPECT_EQ(*static_cast<char*>(EmulatedArena::reachable(arena.base())), 1);
  EXPECT_EQ(*static_cast<char*>(EmulatedArena::reachable(arena.base() + (1 << 20))), 0);
  arena.discard(0, arena.bytes());
  EXPECT_EQ(arena.resident(), 0);
}

TEST(EmulatedArena, TooMuchIsAnError) {
  EXPECT_ERROR(EmulatedArena(size_t{1} << 60), ResourceExhaustedError,
               "TANDEM_EMULATED_MEMORY_MB");
}

}  // namespace
}  // namespace tandem
