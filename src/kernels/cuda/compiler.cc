#include "kernels/cuda/compiler.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <dlfcn.h>
#include <fmt/format.h>
#include <nvrtc.h>
#include <unistd.h>

#include "base/flags.h"
#include "base/hash.h"
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

constexpr const char* kLibrary = "libnvrtc.so.13";

template <class F>
void load(void* library, const char* name, F& function) {
  need_symbol(library, kLibrary, name, function);
}

const NvrtcApi& nvrtc() {
  static const NvrtcApi* const loaded = [] {
    void* library = open_library(kLibrary);
    if (!library) throw UnavailableError(missing_library());
    auto api = std::make_unique<NvrtcApi>();
    load(library, "nvrtcVersion", api->version);
    load(library, "nvrtcGetNumSupportedArchs", api->num_archs);
    load(library, "nvrtcGetSupportedArchs", api->archs);
    load(library, "nvrtcCreateProgram", api->create);
    load(library, "nvrtcDestroyProgram", api->destroy);
    load(library, "nvrtcCompileProgram", api->compile);
    load(library, "nvrtcGetProgramLogSize", api->log_size);
    load(library, "nvrtcGetProgramLog", api->log);
    load(library, "nvrtcGetCUBINSize", api->cubin_size);
    load(library, "nvrtcGetCUBIN", api->cubin);
    load(library, "nvrtcGetPTXSize", api->ptx_size);
    load(library, "nvrtcGetPTX", api->ptx);
    int major = 0, minor = 0, count = 0;
    api->version(&major, &minor);
    api->release = major * 100 + minor;
    api->num_archs(&count);
    api->known.resize(static_cast<size_t>(count));
    api->archs(api->known.data());
    return api.release();
  }();
  return *loaded;
}

/// Machine code where NVRTC knows the architecture, else PTX of the newest older one.
std::string arch_option(int arch) {
  int best = 0;
  for (int known : nvrtc().known) {
    if (known == arch) return fmt::format("--gpu-architecture=sm_{}", arch);
    if (known < arch && known > best) best = known;
  }
  return fmt::format("--gpu-architecture=compute_{}", best);
}

std::vector<std::string> options(int arch) {
  // No contraction: a fused program gives the bits of its single ops. All functions are
  // for the device, so that text shared with the CPU kernels compiles as it is.
  return {arch_option(arch), "--std=c++17", "--fmad=false",
          "--device-as-default-execution-space", "--diag-suppress=177"};
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

constexpr uint64_t kMagic = 0x6e6962646e617404ull;  // changes with the format
struct Header {
  uint64_t magic, bytes, check;
};
uint64_t check_of(const std::vector<char>& code) {
  return hash_bytes({code.data(), code.size()}, kMagic);
}

bool read_file(const fs::path& path, std::vector<char>& code) {
  std::ifstream in(path, std::ios::binary);
  Header header{};
  if (!in.read(reinterpret_cast<char*>(&header), sizeof(header))) return false;
  if (header.magic != kMagic || header.bytes > (size_t{1} << 30)) return false;
  code.resize(header.bytes);
  if (!in.read(code.data(), static_cast<std::streamsize>(code.size()))) return false;
  return check_of(code) == header.check;
}

// A cache that cannot be written is no error: the program is compiled again next time.
void write_file(const fs::path& path, const std::vector<char>& code) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return;
  const fs::path fresh =
      path.string() + fmt::format(".{}.{}", getpid(), reinterpret_cast<uintptr_t>(&code));
  {
    std::ofstream out(fresh, std::ios::binary);
    const Header header{kMagic, code.size(), check_of(code)};
    out.write(reinterpret_cast<const char*>(&header), sizeof(header));
    out.write(code.data(), static_cast<std::streamsize>(code.size()));
    if (!out) {
      out.close();
      fs::remove(fresh, error);
      return;
    }
  }
  fs::rename(fresh, path, error);
  if (error) fs::remove(fresh, error);
}

std::vector<char> translate(const std::string& name, const std::string& source,
                            int arch) {
  const NvrtcApi& api = nvrtc();
  nvrtcProgram program = nullptr;
  if (api.create(&program, source.c_str(), (name + ".cu").c_str(), 0, nullptr, nullptr)) {
    throw InternalError("NVRTC cannot make a program for " + name);
  }
  const std::vector<std::string> given = options(arch);
  std::vector<const char*> arguments;
  for (const std::string& option : given) arguments.push_back(option.c_str());
  const nvrtcResult result =
      api.compile(program, static_cast<int>(arguments.size()), arguments.data());
  std::vector<char> code;
  std::string log;
  if (result == NVRTC_SUCCESS) {
    const bool ptx = given[0].find("compute_") != std::string::npos;
    size_t bytes = 0;
    (ptx ? api.ptx_size : api.cubin_size)(program, &bytes);
    code.resize(bytes);
    (ptx ? api.ptx : api.cubin)(program, code.data());
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

std::string cache_folder() {
  if (const auto given = env_string("TANDEM_CACHE_DIR")) return *given;
  if (const auto base = env_string("XDG_CACHE_HOME")) return *base + "/tandem";
  if (const auto home = env_string("HOME")) return *home + "/.cache/tandem";
  return {};
}

std::string cache_name(const std::string& source, int arch) {
  std::string key = source;
  for (const std::string& option : options(arch)) key += "\n" + option;
  return fmt::format("cuda/sm_{}/{:016x}{:016x}.{}.cubin", arch, hash_bytes(key, 1),
                     hash_bytes(key, 2), nvrtc().release);
}

Binary compile(const std::string& name, const std::string& source, int arch) {
  const std::string folder = cache_folder();
  const fs::path file =
      folder.empty() ? fs::path() : fs::path(folder) / cache_name(source, arch);
  Binary binary;
  if (!file.empty() && read_file(file, binary.code)) {
    binary.from_disk = true;
    return binary;
  }
  binary.code = translate(name, source, arch);
  if (!file.empty()) write_file(file, binary.code);
  return binary;
}

}  // namespace tandem::cuda
