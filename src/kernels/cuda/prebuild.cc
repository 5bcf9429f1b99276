#include "kernels/cuda/prebuild.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/core_set.h"
#include "device/cuda/cuda_device.h"
#include "kernels/cuda/compile_pool.h"
#include "kernels/cuda/compiler.h"
#include "kernels/cuda/prebuilt.h"
#include "tandem/error.h"

namespace tandem::cuda {
namespace {

/// Sizes of grids are no part of a text, but forms are chosen for the size of the GPU: of
/// the usual one of an architecture.
int multiprocessors_of(int arch) {
  switch (arch) {
    case 75:
      return 40;
    case 80:
      return 108;
    case 86:
      return 68;
    case 89:
      return 128;
    default:
      return 132;
  }
}

class TextPrebuilder final : public Prebuilder {
 public:
  static TextPrebuilder& get() {
    static auto* const only = new TextPrebuilder;
    return *only;
  }

  Device& device(int arch) override {
    auto& made = devices_[arch];
    if (!made) {
      CudaDevice::Options options;
      options.request.info.type = "GPU";
      options.arch = arch;
      options.imagined_multiprocessors = multiprocessors_of(arch);
      made = std::make_unique<CudaDevice>(std::move(options));
    }
    return *made;
  }

  void note(int arch, const std::string& name, const std::string& source) {
    texts_[arch].emplace(with_first_statement(source), name);
  }

  Built build(const std::string& cache, const std::string& file) override;

 private:
  /// The usual ones, and others that were asked for.
  std::vector<CompileTarget> targets() const;

  std::map<int, std::unique_ptr<CudaDevice>> devices_;
  std::map<int, std::map<std::string, std::string>> texts_;  // text → name, by arch
};

std::vector<CompileTarget> TextPrebuilder::targets() const {
  std::vector<CompileTarget> all(std::begin(kPrebuiltTargets),
                                 std::end(kPrebuiltTargets));
  for (const auto& [arch, texts] : texts_) {
    const bool known = std::ranges::any_of(
        all, [&](const CompileTarget& target) { return target.arch == arch; });
    if (!known) all.push_back({arch, false});
  }
  return all;
}

Prebuilder::Built TextPrebuilder::build(const std::string& cache,
                                        const std::string& file) {
  Built built;
  std::vector<PrebuiltProgram> programs;
  int release = 0;
  try {
    release = compiler_release();
    std::mutex mutex;
    std::atomic<int> compiled{0};
    std::exception_ptr error;
    CompilePool pool(available_cores().size());
    for (const CompileTarget target : targets()) {
      for (const auto& [source, name] : texts_[target.arch]) {
        pool.submit([&, target, &text = source, &op = name] {
          try {
            const Binary binary = compile_into(cache, op, text, target);
            compiled += binary.from == Binary::From::kCompiler;
            const std::lock_guard lock(mutex);
            programs.push_back({program_key(text, target), target, binary.code});
          } catch (...) {
            const std::lock_guard lock(mutex);
            error = std::current_exception();
          }
        });
      }
    }
    pool.wait();
    if (error) std::rethrow_exception(error);
    built.compiled = compiled;
  } catch (const UnavailableError& missing) {
    built.problem = missing.what();
  }
  built.programs = static_cast<int>(programs.size());
  // Whichever thread was first: the file is the same every time.
  std::sort(programs.begin(), programs.end(),
            [](const auto& a, const auto& b) { return a.key < b.key; });
  write_prebuilt(file, release, programs);
  return built;
}

}  // namespace

void note_text(int arch, const std::string& name, const std::string& source) {
  TextPrebuilder::get().note(arch, name, source);
}

}  // namespace tandem::cuda

extern "C" __attribute__((visibility("default"))) tandem::cuda::Prebuilder*
tandem_prebuilder() {
  return &tandem::cuda::TextPrebuilder::get();
}
