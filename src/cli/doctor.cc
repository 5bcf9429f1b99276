#include <filesystem>
#include <fstream>
#include <string>

#include <cblas.h>
#include <dlfcn.h>
#include <dnnl.h>
#include <fmt/core.h>
#include <gnu/libc-version.h>
#include <unistd.h>

#include "base/core_set.h"
#include "base/flags.h"
#include "base/version.h"
#include "cli/commands.h"
#include "device/plugin.h"
#include "device/runtime.h"
#include "op/kernel.h"
#include "tandem/device.h"

namespace tandem::cli {

namespace {

std::string core_list(const CoreSet& set) {
  std::string text;
  for (size_t i = 0; i < set.cores.size(); ++i) {
    size_t last = i;
    while (last + 1 < set.cores.size() && set.cores[last + 1] == set.cores[last] + 1)
      ++last;
    if (!text.empty()) text += ",";
    text += std::to_string(set.cores[i]);
    if (last > i) text += "-" + std::to_string(set.cores[last]);
    i = last;
  }
  return text;
}

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

void print_libraries() {
  KernelRegistry::get();  // the libraries choose their inner loops while kernels are
                          // registered
  const dnnl_version_t* dnnl = dnnl_version();
  fmt::print("libraries\n");
  fmt::print("  {:<10} {}.{}.{}\n", "oneDNN", dnnl->major, dnnl->minor, dnnl->patch);
  fmt::print("  {:<10} {}, kernels for {}\n", "OpenBLAS", openblas_get_config(),
             openblas_get_corename());
  fmt::print("  {:<10} {}\n", "glibc", gnu_get_libc_version());
  for (const Plugin& p : load_plugins().plugins) {
    fmt::print("  {:<10} {}\n", "plugin", p.path);
  }
}

// A backend may say which parts it found (libraries of a vendor, a driver), and which it
// needs.
void print_backends() {
  for (const Plugin& p : load_plugins().plugins) {
    auto* const describe =
        reinterpret_cast<const char* (*)()>(dlsym(p.library, "tandem_describe_backend"));
    if (!describe) continue;
    fmt::print("parts of {}\n{}", std::filesystem::path(p.path).filename().string(),
               describe());
  }
}

void print_cores() {
  fmt::print("cores\n  {}, {} usable: {}\n", processor_name(), available_cores().size(),
             core_list(available_cores()));
  for (const CoreClaim& claim : core_claims()) {
    fmt::print("  {:<24} cores {}\n", claim.owner, core_list(claim.cores));
  }
}

void print_memory() {
  const auto page = static_cast<double>(sysconf(_SC_PAGE_SIZE));
  const double total = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * page;
  const double free = static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) * page;
  fmt::print("memory\n  host: {:.1f} GiB, {:.1f} GiB free\n", total / (1 << 30),
             free / (1 << 30));
  for (Device* d : Runtime::get().devices()) {
    const MemoryInfo info = d->allocator().info();
    fmt::print("  {}: {}\n", d->short_name(),
               info.limit ? fmt::format("limit {} MiB", info.limit >> 20) : "no limit");
  }
}

}  // namespace

int doctor(const DoctorOptions& options) {
  fmt::print("tandem {}\n", TANDEM_VERSION);
  int problems = 0;
  devices();
  print_libraries();
  print_backends();
  print_cores();
  print_memory();
  for (const std::string& reason : Runtime::get().absence_reasons()) {
    fmt::print("note: {}\n", reason);
  }
  for (const std::string& problem : load_plugins().problems) {
    fmt::print("problem: {}\n", problem);
    ++problems;
  }
  if (options.measure) {
    fmt::print("measured\n");
    print_measurements();
  }
  if (problems) {
    fmt::print("{} problem{} found\n", problems, problems == 1 ? "" : "s");
  } else {
    fmt::print("no problems found\n");
  }
  return problems ? 1 : 0;
}

}  // namespace tandem::cli
