// ProgramBuild: one program's text on one GPU, on its way to being loaded. Threads of the
// pool take it up after ask(); who needs it before they do compiles it on the spot, and
// who comes while another is at it waits. Lives as long as the process. Any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "device/cuda/cuda_device.h"
#include "op/kernel_builds.h"

namespace tandem::cuda {

class ProgramBuild;

/// A kernel of a program, whose address is known when the program is loaded.
class LoadedFunction {
 public:
  LoadedFunction(ProgramBuild& program, std::string entry)
      : program_(program), entry_(std::move(entry)) {}
  /// Waits until it is loaded; throws what kept it from being so.
  CUfunction get();

 private:
  friend class ProgramBuild;
  void load(CUmodule module);
  void set_shared_bytes(CUfunction function) const;

  ProgramBuild& program_;
  const std::string entry_;
  size_t shared_bytes_ = 0;  // guarded by the program's mutex
  std::atomic<CUfunction> function_{nullptr};
};

class ProgramBuild final : public KernelBuild {
 public:
  /// `name`: of the op, for messages.
  ProgramBuild(CudaDevice& device, std::string name, std::string source);

  bool done() const override;
  bool must_compile() const override { return must_compile_ && !done(); }
  void wait() override;
  void get() override;

  /// Its kernel of this name, which may use so much dynamic shared memory (0: as much as
  /// any kernel). Does not wait.
  std::shared_ptr<LoadedFunction> function(const std::string& entry, size_t shared_bytes);
  /// The pool shall take it up. Once.
  void ask(const std::shared_ptr<ProgramBuild>& self);

 private:
  enum class State { kIdle, kWorking, kDone };
  void work();
  void finish(CUmodule module, std::exception_ptr error);

  CudaDevice& device_;
  const std::string name_;
  std::string source_;  // empty once it is done
  bool must_compile_ = false;
  std::atomic<bool> asked_{false};
  std::atomic<State> state_{State::kIdle};
  std::mutex mutex_;  // what follows
  std::condition_variable changed_;
  CUmodule module_ = nullptr;
  std::exception_ptr error_;
  std::map<std::string, std::shared_ptr<LoadedFunction>> functions_;
};

/// The build of a text on a GPU; one for equal texts.
std::shared_ptr<ProgramBuild> find_build(CudaDevice& device, const std::string& name,
                                         const std::string& source);

}  // namespace tandem::cuda
