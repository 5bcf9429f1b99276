// SingleThread: while it lives, kernels on this thread run single-threaded and leave the
// team of their device to others. For threads that work beside a training step.
#pragma once

namespace tandem {

class SingleThread {
 public:
  SingleThread();
  SingleThread(const SingleThread&) = delete;
  SingleThread& operator=(const SingleThread&) = delete;
  ~SingleThread();

 private:
  bool previous_;
  int previous_threads_;  // OpenMP's count of this thread
};

}  // namespace tandem
