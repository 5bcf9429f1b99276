// Threads of pipelines: named, on the core set that pipelines claim while any of their
// threads lives, each running kernels alone so that the team of the CPU stays with the
// training step. Ended by whoever made them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tandem::data {

class Worker {
 public:
  /// `body` must not throw. It holds what it uses, since it may be left behind.
  Worker(const std::string& name, std::function<void()> body);
  Worker(Worker&&) = default;
  Worker& operator=(Worker&&) = default;
  ~Worker() = default;

  /// Waits until they have ended; they were told so at `told`, when their pass was
  /// cancelled. One that is in a user's function which does not return (a generator that
  /// waits for something) is left behind a while after that: it ends with that function.
  static void end(std::vector<Worker>& workers,
                  std::chrono::steady_clock::time_point told);
  /// Whether a thread that was left behind still runs.
  static bool left_behind();

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::jthread thread_;
};

}  // namespace tandem::data
