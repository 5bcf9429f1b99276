#include "kernels/cuda/program_build.h"

#include "base/hash.h"
#include "base/recorder.h"
#include "device/cuda/kernel_compiler.h"
#include "kernels/cuda/compile_pool.h"
#include "kernels/cuda/compiler.h"
#include "tandem/error.h"

namespace tandem::cuda {

// ---- One kernel

CUfunction LoadedFunction::get() {
  if (CUfunction ready = function_.load(std::memory_order_acquire)) return ready;
  program_.get();
  return function_.load(std::memory_order_acquire);
}

void LoadedFunction::load(CUmodule module) {
  CUfunction found = nullptr;
  check(driver().cuModuleGetFunction(&found, module, entry_.c_str()), entry_.c_str());
  // Now rather than at the first launch, which may be inside a capture.
  check(driver().cuFuncLoad(found), entry_.c_str());
  set_shared_bytes(found);
  // Last: a launch takes it from here without a lock.
  function_.store(found, std::memory_order_release);
}

void LoadedFunction::set_shared_bytes(CUfunction function) const {
  if (!shared_bytes_) return;
  check(driver().cuFuncSetAttribute(function,
                                    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    static_cast<int>(shared_bytes_)),
        "asking for shared memory");
}

// ---- One program

ProgramBuild::ProgramBuild(CudaDevice& device, std::string name, std::string source)
    : device_(device),
      name_(std::move(name)),
      source_(with_first_statement(source)),
      must_compile_(!is_compiled(source_, device.arch())) {}

bool ProgramBuild::done() const {
  return state_.load(std::memory_order_acquire) == State::kDone;
}

std::shared_ptr<LoadedFunction> ProgramBuild::function(const std::string& entry,
                                                       size_t shared_bytes) {
  const std::lock_guard lock(mutex_);
  auto& known = functions_[entry];
  if (!known) known = std::make_shared<LoadedFunction>(*this, entry);
  const bool more = shared_bytes > known->shared_bytes_;
  if (more) known->shared_bytes_ = shared_bytes;
  if (done() && !error_) {
    device_.activate();
    if (!known->function_.load(std::memory_order_relaxed)) {
      known->load(module_);
    } else if (more) {
      known->set_shared_bytes(known->function_.load(std::memory_order_relaxed));
    }
  }
  return known;
}

void ProgramBuild::ask(const std::shared_ptr<ProgramBuild>& self) {
  if (asked_.exchange(true)) return;
  if (must_compile_) {
    try {
      begin_compiling(target_for(device_.arch()), [] { CompilePool::get().stop(); });
    } catch (const Error&) {
      // There is no compiler: said where the kernel is launched.
    }
  }
  CompilePool::get().submit([self] { self->work(); });
}

void ProgramBuild::wait() {
  work();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done(); });
}

void ProgramBuild::get() {
  wait();
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

// Does nothing where another thread is at it, or was.
void ProgramBuild::work() {
  State idle = State::kIdle;
  if (!state_.compare_exchange_strong(idle, State::kWorking)) return;
  const int64_t begin = recorder::enabled() ? recorder::now_ns() : 0;
  CUmodule module = nullptr;
  std::exception_ptr error;
  bool compiled = false;
  try {
    const Binary binary = compile(name_, source_, device_.arch());
    compiled = binary.from == Binary::From::kCompiler;
    device_.activate();
    check(driver().cuModuleLoadData(&module, binary.code.data()),
          ("loading the kernels of " + name_).c_str());
  } catch (...) {
    error = std::current_exception();
  }
  // Before others are told: who waited may end the recording.
  if (begin) {
    recorder::record(recorder::Kind::kPlan,
                     recorder::intern((compiled ? "compile " : "load ") + name_), "CPU:0",
                     begin, recorder::now_ns(), 0);
  }
  finish(module, std::move(error));
}

void ProgramBuild::finish(CUmodule module, std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  module_ = module;
  error_ = std::move(error);
  try {
    if (!error_) {
      for (const auto& [entry, wanted] : functions_) wanted->load(module_);
    }
  } catch (...) {
    error_ = std::current_exception();
  }
  std::string().swap(source_);
  state_.store(State::kDone, std::memory_order_release);
  changed_.notify_all();
}

// ---- All of them

namespace {

/// The programs of one GPU, by the text they were made from.
struct Programs {
  using Key = std::pair<uint64_t, uint64_t>;
  std::mutex mutex;
  std::map<Key, std::shared_ptr<ProgramBuild>> list;
};

Programs& programs_of(const CudaDevice& device) {
  static std::mutex mutex;
  static auto* const all = new std::map<const CudaDevice*, std::unique_ptr<Programs>>;
  const std::lock_guard lock(mutex);
  auto& programs = (*all)[&device];
  if (!programs) programs = std::make_unique<Programs>();
  return *programs;
}

constexpr KernelCompiler kCompiler{.stop = [] { CompilePool::get().stop(); },
                                   .describe = describe_prebuilt};
// When the plugin is loaded.
const bool compiler_known = (set_kernel_compiler(&kCompiler), true);

}  // namespace

std::shared_ptr<ProgramBuild> find_build(CudaDevice& device, const std::string& name,
                                         const std::string& source) {
  const Programs::Key key{hash_bytes(source, 1), hash_bytes(source, 2)};
  Programs& programs = programs_of(device);
  const std::lock_guard lock(programs.mutex);
  auto& kept = programs.list[key];
  if (!kept) kept = std::make_shared<ProgramBuild>(device, name, source);
  return kept;
}

}  // namespace tandem::cuda
