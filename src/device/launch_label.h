// What this thread is launching, in words, for errors that a device finds only when the
// kernel runs. Lives on the stack of whoever launches; one thread.
#pragma once

#include <string>

namespace tandem {

class LaunchLabel {
 public:
  /// `text` is called with `what` when somebody asks.
  using Text = std::string (*)(const void* what);
  LaunchLabel(const void* what, Text text) : what_(what), text_(text), outer_(t_current) {
    t_current = this;
  }
  LaunchLabel(const LaunchLabel&) = delete;
  LaunchLabel& operator=(const LaunchLabel&) = delete;
  ~LaunchLabel() { t_current = outer_; }

  /// Empty: nobody has said.
  static std::string current() {
    return t_current ? t_current->text_(t_current->what_) : std::string();
  }

 private:
  static inline thread_local const LaunchLabel* t_current = nullptr;
  const void* what_;
  Text text_;
  const LaunchLabel* outer_;
};

}  // namespace tandem
