#include "kernels/cpu/math_libraries.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cblas.h>
#include <oneapi/dnnl/dnnl.hpp>

// Exported by OpenBLAS builds that choose kernels at load time; absent in others.
extern "C" {
__attribute__((weak)) void gotoblas_dynamic_init();
__attribute__((weak)) void gotoblas_dynamic_quit();
}

namespace tandem::cpu {

namespace {

// A processor newer than the OpenBLAS release is not in its table and gets the kernels of
// the oldest x86-64 ones, 5 times slower. What the processor can do is asked here
// instead.
const char* better_core() {
#if defined(__x86_64__)
  const std::string_view core = openblas_get_corename();
  if (core != "Prescott" && core != "Core2" && core != "Generic") return nullptr;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
    return "SkylakeX";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return nullptr;
}

void prepare_openblas() {
  openblas_set_num_threads(1);
  if (!gotoblas_dynamic_init || !gotoblas_dynamic_quit) return;
  if (std::getenv("OPENBLAS_CORETYPE")) return;  // the user's choice
  const char* core = better_core();
  if (!core) return;
  setenv("OPENBLAS_CORETYPE", core, 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv("OPENBLAS_CORETYPE");
}

// Some virtual machines show that AMX is there but not the leaf that describes its tiles.
// oneDNN then configures none, and its first tile instruction is illegal.
bool amx_without_tiles() {
#if defined(__x86_64__)
  constexpr unsigned kAmxTile = 1u << 24, kTileLeaf = 0x1d;
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & kAmxTile)) return false;
  return !__get_cpuid_count(kTileLeaf, 0, &a, &b, &c, &d) || a == 0;
#else
  return false;
#endif
}

// Plans hold the primitives that they run. The library keeps the last 1,024 of a process
// besides, with 30 to 200 KB of code each: of a function with ever new shapes, also those
// that were only measured. The few that are left serve plans of the same signature.
void bound_primitive_cache() {
  if (std::getenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY")) return;
  if (std::getenv("DNNL_PRIMITIVE_CACHE_CAPACITY")) return;
  constexpr int kPrimitives = 128;
  dnnl::set_primitive_cache_capacity(kPrimitives);
}

void prepare_onednn() {
  bound_primitive_cache();
  if (std::getenv("ONEDNN_MAX_CPU_ISA") || std::getenv("DNNL_MAX_CPU_ISA")) return;
  if (amx_without_tiles()) dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_fp16);
}

}  // namespace

void prepare_math_libraries() {
  prepare_openblas();
  prepare_onednn();
}

void add_library_kernel(KernelRegistry& registry, Kernel kernel) {
  kernel.library_threads = true;
  registry.add(std::move(kernel));
}

}  // namespace tandem::cpu
