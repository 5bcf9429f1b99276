// What a native device offers while it records work (Stream::capture): steps that come
// after some of those before instead of after all of them, and addresses that may change
// from launch to launch: those of copies, and those that kernels are given as operands
// (device/operand_address.h). The session of a recording is the thread's current one
// while the recorded task runs; it ends with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace tandem {

/// What a step is called in a recording of what the device did. All but the name may be
/// null. Strings live as long as the process, the detail as long as what is captured.
struct StepLabel {
  const char* name = "";         // of the op
  const char* site = nullptr;    // the line of the user's program
  const char* detail = nullptr;  // name of the node, and what it makes
};

class CaptureSession {
 public:
  /// Of this thread; null while nothing is recorded, or by a device that has none.
  static CaptureSession* current() { return t_current; }

  /// The line of the user's program that a step comes from, or null. Asked for only when
  /// the work is recorded: it may be slow to find. Lives as long as what is captured.
  using Site = std::function<const char*()>;

  /// What is enqueued until end() comes after these steps of the session, and after no
  /// others. Steps are numbered from 0 in the order in which they begin.
  virtual void begin(std::span<const int32_t> after, StepLabel label, Site site) = 0;
  virtual void end() = 0;
  /// A copy inside the device, as part of the step under way. Copies are numbered from 0.
  virtual int32_t copy(void* to, const void* from, size_t bytes) = 0;

 protected:
  CaptureSession() : outer_(t_current) { t_current = this; }
  CaptureSession(const CaptureSession&) = delete;
  CaptureSession& operator=(const CaptureSession&) = delete;
  ~CaptureSession() { t_current = outer_; }

 private:
  static inline thread_local CaptureSession* t_current = nullptr;
  CaptureSession* outer_;
};

/// What Captured work of such a device also is.
class CapturedCopies {
 public:
  /// From the next launch on.
  virtual void set_copy(int32_t number, void* to, const void* from) = 0;

 protected:
  ~CapturedCopies() = default;
};

/// The same for operands. Those of a recording have to be told before its first launch.
class CapturedOperands {
 public:
  /// From the next launch on.
  virtual void set_operand(int32_t number, void* address) = 0;

 protected:
  ~CapturedOperands() = default;
};

}  // namespace tandem
