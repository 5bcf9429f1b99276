#include "host_kernels.h"

#include <barrier>
#include <cmath>
#include <limits>
#include <map>
#include <thread>
#include <utility>
#include <vector>

namespace tandem::cuda {
namespace {

Report g_report;

// What device/prelude.cuh gives to the text.
using i32 = int32_t;
using i64 = int64_t;
template <class R>
struct alignas(2 * sizeof(R)) cplx {
  R re = 0, im = 0;
  cplx() = default;
  constexpr cplx(R r) : re(r), im(0) {}
  constexpr cplx(R r, R i) : re(r), im(i) {}
};
using c64 = cplx<float>;
using c128 = cplx<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
struct ReportFlags;
void report_bad(ReportFlags*, i32 code, i32 site, i64 value, i64 position, i64 extra) {
  if (g_report.code == 0) g_report = {code, site, value, position, extra};
}
struct Index {
  i32 x = 0;
};
// What a block has, set by run_host_kernel.
thread_local Index threadIdx, blockIdx;
Index blockDim{1}, gridDim{1};
unsigned char* block_space = nullptr;
std::barrier<>* block_barrier = nullptr;
void __syncthreads() { block_barrier->arrive_and_wait(); }
i64 global_thread() { return i64{blockIdx.x} * blockDim.x + threadIdx.x; }
i64 global_threads() { return i64{gridDim.x} * blockDim.x; }
using std::isfinite;

// LINALG_TEXT is device/linalg.cuh with its kernels as plain functions.
namespace for_float {
using T = float;
using R = float;
#include LINALG_TEXT
}  // namespace for_float
namespace for_double {
using T = double;
using R = double;
#include LINALG_TEXT
}  // namespace for_double
namespace for_c64 {
using T = c64;
using R = float;
#include LINALG_TEXT
}  // namespace for_c64
namespace for_c128 {
using T = c128;
using R = double;
#include LINALG_TEXT
}  // namespace for_c128

template <class... A>
HostKernel wrapped(void (*kernel)(A...)) {
  return [kernel]<size_t... I>(std::index_sequence<I...>) {
    return [kernel](void** p) { kernel(*static_cast<A*>(p[I])...); };
  }(std::index_sequence_for<A...>{});
}

#define ENTRY(type, name) {#name, wrapped(&for_##type::name)}
#define ENTRIES(type)                                                                    \
  {                                                                                      \
    #type, {                                                                             \
      ENTRY(type, lay_out), ENTRY(type, spoil_values), ENTRY(type, write_identity),      \
          ENTRY(type, point_at), ENTRY(type, gather_matrices),                           \
          ENTRY(type, mark_not_finite), ENTRY(type, check_marks),                        \
          ENTRY(type, check_pivots), ENTRY(type, permutation32),                         \
          ENTRY(type, permutation64), ENTRY(type, determinant),                          \
          ENTRY(type, widen_values), ENTRY(type, halve_lower),                           \
          ENTRY(type, self_adjoint), ENTRY(type, small_cholesky), ENTRY(type, small_qr), \
    }                                                                                    \
  }

}  // namespace

const HostKernel* find_host_kernel(const std::string& type, const std::string& entry) {
  static const auto* const all =
      new std::map<std::string, std::map<std::string, HostKernel>>{
          ENTRIES(float), ENTRIES(double), ENTRIES(c64), ENTRIES(c128)};
  const auto of_type = all->find(type);
  if (of_type == all->end()) return nullptr;
  const auto found = of_type->second.find(entry);
  return found == of_type->second.end() ? nullptr : &found->second;
}

void run_host_kernel(const HostKernel& kernel, unsigned blocks, size_t shared,
                     void** arguments) {
  constexpr int kThreads = 7;
  const int threads = shared ? kThreads : 1;
  std::vector<unsigned char> space(shared + 16, 0xcd);
  std::barrier<> barrier(threads);
  block_space = space.data() + (16 - reinterpret_cast<uintptr_t>(space.data()) % 16) % 16;
  block_barrier = &barrier;
  blockDim.x = threads;
  gridDim.x = static_cast<i32>(blocks);
  for (i32 block = 0; block < gridDim.x; ++block) {
    const auto run = [&](i32 thread) {
      blockIdx.x = block;
      threadIdx.x = thread;
      kernel(arguments);
    };
    std::vector<std::jthread> others;
    for (i32 t = 1; t < threads; ++t) others.emplace_back(run, t);
    run(0);
  }
}

Report take_report() { return std::exchange(g_report, Report{}); }

}  // namespace tandem::cuda
