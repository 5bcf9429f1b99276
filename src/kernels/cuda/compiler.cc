#include "kernels/cuda/compiler.h"

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <sstream>

#include <dlfcn.h>
#include <fmt/format.h>
#include <nvrtc.h>
#include <unistd.h>

#include "base/cache_files.h"
#include "base/hash.h"
#include "base/trusted_files.h"
#include "device/cuda/cuda_release.h"
#include "device/cuda/library.h"
#include "tandem/error.h"

namespace tandem::cuda {
namespace {

namespace fs = std::filesystem;

struct NvrtcApi {
  decltype(&::nvrtcVersion) version = nullptr;
  decltype(&::nvrtcGetNumSupportedArchs) num_archs = nullptr;
  decltype(&::nvrtcGetSupportedArchs) archs = nullptr;
  decltype(&::nvrtcCreateProgram) create = nullptr;
  decltype(&::nvrtcDestroyProgram) destroy = nullptr;
  decltype(&::nvrtcCompileProgram) compile = nullptr;
  decltype(&::nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&::nvrtcGetProgramLog) log = nullptr;
  decltype(&::nvrtcGetCUBINSize) cubin_size = nullptr;
  decltype(&::nvrtcGetCUBIN) cubin = nullptr;
  decltype(&::nvrtcGetPTXSize) ptx_size = nullptr;
  decltype(&::nvrtcGetPTX) ptx = nullptr;
  int release = 0;  // 1300
  std::vector<int> known;
};

template <class F>
void load_nvrtc(void* library, const char* name, F& function) {
  need_symbol(library, library_file(Library::kNvrtc), name, function);
}

const NvrtcApi& nvrtc() {
  static const NvrtcApi* const loaded = [] {
    void* library = open_library(Library::kNvrtc);
    if (!library) throw UnavailableError(missing_library());
    auto api = std::make_unique<NvrtcApi>();
    load_nvrtc(library, "nvrtcVersion", api->version);
    load_nvrtc(library, "nvrtcGetNumSupportedArchs", api->num_archs);
    load_nvrtc(library, "nvrtcGetSupportedArchs", api->archs);
    load_nvrtc(library, "nvrtcCreateProgram", api->create);
    load_nvrtc(library, "nvrtcDestroyProgram", api->destroy);
    load_nvrtc(library, "nvrtcCompileProgram", api->compile);
    load_nvrtc(library, "nvrtcGetProgramLogSize", api->log_size);
    load_nvrtc(library, "nvrtcGetProgramLog", api->log);
    load_nvrtc(library, "nvrtcGetCUBINSize", api->cubin_size);
    load_nvrtc(library, "nvrtcGetCUBIN", api->cubin);
    load_nvrtc(library, "nvrtcGetPTXSize", api->ptx_size);
    load_nvrtc(library, "nvrtcGetPTX", api->ptx);
    int major = 0, minor = 0, count = 0;
    api->version(&major, &minor);
    api->release = major * 100 + minor;
    open_beside(library, fmt::format("libnvrtc-builtins.so.{}.{}", major, minor));
    api->num_archs(&count);
    api->known.resize(static_cast<size_t>(count));
    api->archs(api->known.data());
    return api.release();
  }();
  return *loaded;
}

std::vector<std::string> options(CompileTarget target) {
  // No contraction: a fused program gives the bits of its single ops. All functions are
  // for the device, so that text shared with the CPU kernels compiles as it is.
  return {
      fmt::format("--gpu-architecture={}_{}", target.ptx ? "compute" : "sm", target.arch),
      "--std=c++17", "--fmad=false", "--device-as-default-execution-space",
      "--diag-suppress=177"};
}

std::string numbered(const std::string& source) {
  std::istringstream lines(source);
  std::string text;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    text += fmt::format("{:4} {}\n", ++number, line);
  }
  return text;
}

std::vector<char> translate(const std::string& name, const std::string& source,
                            CompileTarget target) {
  const NvrtcApi& api = nvrtc();
  nvrtcProgram program = nullptr;
  if (api.create(&program, source.c_str(), (name + ".cu").c_str(), 0, nullptr, nullptr)) {
    throw InternalError("NVRTC cannot make a program for " + name);
  }
  const std::vector<std::string> given = options(target);
  std::vector<const char*> arguments;
  for (const std::string& option : given) arguments.push_back(option.c_str());
  const nvrtcResult result =
      api.compile(program, static_cast<int>(arguments.size()), arguments.data());
  std::vector<char> code;
  std::string log;
  if (result == NVRTC_SUCCESS) {
    size_t bytes = 0;
    (target.ptx ? api.ptx_size : api.cubin_size)(program, &bytes);
    code.resize(bytes);
    (target.ptx ? api.ptx : api.cubin)(program, code.data());
  } else {
    size_t bytes = 0;
    api.log_size(program, &bytes);
    log.resize(bytes);
    api.log(program, log.data());
  }
  api.destroy(&program);
  if (result != NVRTC_SUCCESS) {
    throw InternalError("NVRTC: " + name + " does not compile:\n" + log + "\n" +
                        numbered(source));
  }
  return code;
}

}  // namespace

CompileTarget target_for(int arch) {
  int best = 0;
  for (int known : nvrtc().known) {
    if (known == arch) return {arch, false};
    if (known < arch && known > best) best = known;
  }
  return {best, true};
}

namespace {

/// What a thread that asked for compilations leaves behind. The main thread's goes before
/// all handlers of the process's exit.
struct LastWill {
  pid_t process = 0;
  void (*stop)() = nullptr;
  LastWill() = default;
  LastWill(const LastWill&) = delete;
  LastWill& operator=(const LastWill&) = delete;
  ~LastWill() {
    const bool main_thread = gettid() == process;
    const bool forked = getpid() != process;  // its threads stayed behind
    if (stop && main_thread && !forked) stop();
  }
};
thread_local LastWill t_will;

}  // namespace

void begin_compiling(CompileTarget target, void (*stop)()) {
  t_will.process = getpid();
  t_will.stop = stop;
  static std::once_flag begun;
  std::call_once(begun, [&] {
    translate("nothing", "extern \"C\" __global__ void nothing() {}\n", target);
    std::atexit(stop);
  });
}

ProgramKey program_key(const std::string& source, CompileTarget target) {
  std::string key = source;
  for (const std::string& option : options(target)) key += "\n" + option;
  return {hash_bytes(key, 1), hash_bytes(key, 2)};
}

int compiler_release() { return nvrtc().release; }

namespace {

std::string file_name(int arch, const ProgramKey& key) {
  return fmt::format("cuda/sm_{}/{:016x}{:016x}.{}.cubin", arch, key.first, key.second,
                     nvrtc().release);
}

/// Empty: it is not kept.
fs::path file_of(const std::string& source, int arch) {
  const std::string folder = cache_folder();
  return folder.empty() ? fs::path() : fs::path(folder) / cache_name(source, arch);
}

Binary compile_or_read(const fs::path& file, const std::string& name,
                       const std::string& source, CompileTarget target) {
  Binary binary;
  if (!file.empty() && read_cache_file(file, binary.code)) {
    binary.from = Binary::From::kDisk;
    return binary;
  }
  binary.code = translate(name, source, target);
  if (!file.empty()) write_cache_file(file, binary.code);
  return binary;
}

/// What the plugin brings was made by this very compiler, or there is none here.
bool same_release(const PrebuiltKernels& prebuilt) {
  static const int here = [] {
    try {
      return compiler_release();
    } catch (const UnavailableError&) {
      return 0;
    }
  }();
  return here == 0 || here == prebuilt.release();
}

/// A GPU that is newer than all that programs are prebuilt for takes the PTX.
CompileTarget prebuilt_target(int arch) {
  const CompileTarget newest = std::end(kPrebuiltTargets)[-1];
  return arch > newest.arch ? newest : CompileTarget{arch, false};
}

/// Its key among prebuilt programs; none: it has to be compiled here.
std::optional<ProgramKey> prebuilt_key(const std::string& source, int arch) {
  const PrebuiltKernels& prebuilt = PrebuiltKernels::get();
  if (prebuilt.release() == 0 || !same_release(prebuilt)) return std::nullopt;
  const ProgramKey key = program_key(source, prebuilt_target(arch));
  return prebuilt.has(key) ? std::optional(key) : std::nullopt;
}

}  // namespace

std::string cache_name(const std::string& source, int arch) {
  return file_name(arch, program_key(source, target_for(arch)));
}

std::string with_first_statement(const std::string& source) {
  static constexpr std::string_view kKernel = "extern \"C\" __global__";
  std::string text;
  size_t done = 0;
  for (size_t at; (at = source.find(kKernel, done)) != std::string::npos;) {
    const size_t body = source.find('{', at);
    if (body == std::string::npos) break;
    text.append(source, done, body + 1 - done);
    text += " take_turn();";
    done = body + 1;
  }
  return text.append(source, done);
}

bool is_compiled(const std::string& source, int arch) {
  if (prebuilt_key(source, arch)) return true;
  const fs::path file = file_of(source, arch);
  std::error_code error;
  return !file.empty() && fs::exists(file, error);
}

std::string describe_prebuilt(const std::vector<int>& archs) {
  const PrebuiltKernels& prebuilt = PrebuiltKernels::get();
  std::string text;
  if (prebuilt.release() == 0) {
    text =
        "none prebuilt" + (prebuilt.problem().empty() ? "" : ": " + prebuilt.problem());
  } else if (!same_release(prebuilt)) {
    text = fmt::format("prebuilt by NVRTC {}.{}, which is not the one here: not used",
                       prebuilt.release() / 100, prebuilt.release() % 100);
  } else {
    for (const int arch : archs) {
      text += fmt::format("{}{} prebuilt for compute capability {}.{}",
                          text.empty() ? "" : ", ", prebuilt.count(prebuilt_target(arch)),
                          arch / 10, arch % 10);
    }
  }
  return fmt::format("  {:<10} {}; others are compiled at their first use; {}\n",
                     "kernels", text, prebuilt.path());
}

Binary compile(const std::string& name, const std::string& source, int arch) {
  if (const auto key = prebuilt_key(source, arch)) {
    // Broken bytes are compiled again.
    if (auto code = PrebuiltKernels::get().find(*key)) {
      return {std::move(*code), Binary::From::kPrebuilt};
    }
  }
  return compile_or_read(file_of(source, arch), name, source, target_for(arch));
}

Binary compile_into(const std::string& cache, const std::string& name,
                    const std::string& source, CompileTarget target) {
  const std::string folder = target.ptx ? cache + "/ptx" : cache;
  return compile_or_read(
      fs::path(folder) / file_name(target.arch, program_key(source, target)), name,
      source, target);
}

}  // namespace tandem::cuda
