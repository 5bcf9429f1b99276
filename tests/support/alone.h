// Tests that need a process of their own: the runtime is initialised once per process, so
// a test of its configuration runs the same binary again, filtered to itself, with its
// own environment.
//
//   ALONE_TEST(Config, TwoGpus, {{"TANDEM_EMULATE_GPUS", "2"}}) { EXPECT_EQ(…); }
//
// The test passes when the child passes and exits cleanly with `EXIT_SUCCESS`; a body
// that ends the process itself calls alone_exit(), and any other end is a failure.
#pragma once

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tandem::testing {

using Env = std::vector<std::pair<std::string, std::string>>;

/// Exit status by which a child that must end early says that all is well.
inline constexpr int kAloneExit = 42;
[[noreturn]] inline void alone_exit() { _exit(kAloneExit); }

namespace detail {

inline constexpr const char* kChild = "TANDEM_TEST_ALONE";

[[noreturn]] inline void become(const std::string& filter, const Env& env, int output) {
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  for (const char* name :
       {"GTEST_OUTPUT", "TANDEM_EMULATE_GPUS", "TANDEM_EMULATED_BANDWIDTH_GBPS",
        "TANDEM_EMULATED_LATENCY_US", "TANDEM_EMULATED_MEMORY_MB",
        "TANDEM_EMULATED_SPEED", "TANDEM_PLUGIN_PATH", "TANDEM_STRICT_TF",
        "TANDEM_CPU_CACHE_MB", "TANDEM_LOG"}) {
    unsetenv(name);
  }
  setenv(kChild, "1", 1);
  for (const auto& [name, value] : env) setenv(name.c_str(), value.c_str(), 1);
  std::string argument = "--gtest_filter=" + filter;
  char program[] = "test";
  char* const arguments[] = {program, argument.data(), nullptr};
  execv("/proc/self/exe", arguments);
  _exit(127);
}

inline std::string read_all(int file) {
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(file, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

}  // namespace detail

inline void run_alone(const Env& env, void (*body)()) {
  if (std::getenv(detail::kChild)) {
    body();
    return;
  }
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string filter = std::string(info->test_suite_name()) + "." + info->name();
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    close(pipe_ends[0]);
    detail::become(filter, env, pipe_ends[1]);
  }
  close(pipe_ends[1]);
  const std::string output = detail::read_all(pipe_ends[0]);
  close(pipe_ends[0]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  const bool good = WIFEXITED(status) &&
                    (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kAloneExit);
  EXPECT_TRUE(good) << "the child ended with "
                    << (WIFEXITED(status) ? "status " : "signal ")
                    << (WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status))
                    << " and wrote\n"
                    << output;
}

}  // namespace tandem::testing

#define ALONE_TEST(suite, name, ...)                                    \
  static void suite##_##name##_alone();                                 \
  TEST(suite, name) {                                                   \
    ::tandem::testing::run_alone(__VA_ARGS__, &suite##_##name##_alone); \
  }                                                                     \
  static void suite##_##name##_alone()

/// Expects that `statement` throws exactly `type` with a message that contains `text`.
#define EXPECT_ERROR(statement, type, text)                                           \
  try {                                                                               \
    statement;                                                                        \
    ADD_FAILURE() << #statement " does not throw";                                    \
  } catch (const std::exception& caught) {                                            \
    EXPECT_TRUE(dynamic_cast<const type*>(&caught)) << "class of: " << caught.what(); \
    EXPECT_NE(std::string(caught.what()).find(text), std::string::npos)               \
        << caught.what();                                                             \
  }                                                                                   \
  static_assert(true, "a semicolon follows")
