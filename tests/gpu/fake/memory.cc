// Memory of the pretended GPU: pages of the host, counted.
#include <cstdlib>
#include <iterator>
#include <map>

#include <sys/mman.h>

#include "device/cuda/error_report.h"
#include "gpu/fake/state.h"

using namespace fake;

namespace {

std::map<CUdeviceptr, size_t>& allocations() {
  static auto* const all = new std::map<CUdeviceptr, size_t>;
  return *all;
}

std::map<CUdeviceptr, size_t>& reservations() {
  static auto* const all = new std::map<CUdeviceptr, size_t>;
  return *all;
}

std::map<CUdeviceptr, size_t>& page_locked_ranges() {
  static auto* const all = new std::map<CUdeviceptr, size_t>;
  return *all;
}

bool within(const std::map<CUdeviceptr, size_t>& ranges, CUdeviceptr at) {
  const auto next = ranges.upper_bound(at);
  return next != ranges.begin() && at < std::prev(next)->first + std::prev(next)->second;
}

/// Host memory that kernels write: where they report.
void*& mapped() {
  static void* at = nullptr;
  return at;
}

CUresult take(size_t bytes) {
  if (state().in_use + bytes > state().memory) return CUDA_ERROR_OUT_OF_MEMORY;
  state().in_use += bytes;
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuMemGetInfo(size_t* free, size_t* total) {
  const Lock lock(mutex());
  *total = state().memory;
  *free = state().memory - state().in_use;
  return CUDA_SUCCESS;
}
CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  *bytes = size_t{2} << 20;
  return CUDA_SUCCESS;
}
CUresult cuMemAddressReserve(CUdeviceptr* at, size_t bytes, size_t, CUdeviceptr,
                             unsigned long long) {
  void* made =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  *at = reinterpret_cast<CUdeviceptr>(made);
  const Lock lock(mutex());
  reservations()[*at] = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemAddressFree(CUdeviceptr at, size_t bytes) {
  const Lock lock(mutex());
  reservations().erase(at);
  munmap(reinterpret_cast<void*>(at), bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                     const CUmemAllocationProp*, unsigned long long) {
  const Lock lock(mutex());
  *handle = bytes;
  return take(bytes);
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  const Lock lock(mutex());
  state().in_use -= handle;
  return CUDA_SUCCESS;
}
// A page's contents do not move with it: nobody may rely on what fresh memory holds.
CUresult cuMemMap(CUdeviceptr at, size_t bytes, size_t, CUmemGenericAllocationHandle,
                  unsigned long long) {
  mprotect(reinterpret_cast<void*>(at), bytes, PROT_READ | PROT_WRITE);
  return CUDA_SUCCESS;
}
CUresult cuMemUnmap(CUdeviceptr at, size_t bytes) {
  mprotect(reinterpret_cast<void*>(at), bytes, PROT_NONE);
  return CUDA_SUCCESS;
}
CUresult cuMemSetAccess(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t) {
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr* at, size_t bytes) {
  const Lock lock(mutex());
  if (const CUresult result = take(bytes)) return result;
  *at = reinterpret_cast<CUdeviceptr>(std::calloc(1, bytes));
  allocations()[*at] = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr at) {
  const Lock lock(mutex());
  state().in_use -= allocations()[at];
  allocations().erase(at);
  std::free(reinterpret_cast<void*>(at));
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void** at, size_t bytes, unsigned flags) {
  *at = std::calloc(1, bytes);
  if (flags & CU_MEMHOSTALLOC_DEVICEMAP) mapped() = *at;
  const Lock lock(mutex());
  page_locked_ranges()[reinterpret_cast<CUdeviceptr>(*at)] = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* at) {
  const Lock lock(mutex());
  page_locked_ranges().erase(reinterpret_cast<CUdeviceptr>(at));
  std::free(at);
  return CUDA_SUCCESS;
}
CUresult cuMemHostGetDevicePointer(CUdeviceptr* device, void* host, unsigned) {
  *device = reinterpret_cast<CUdeviceptr>(host);
  return CUDA_SUCCESS;
}

}  // extern "C"

namespace fake {

bool is_gpu_memory(const void* at) {
  const auto address = reinterpret_cast<CUdeviceptr>(at);
  return within(reservations(), address) || within(allocations(), address);
}

size_t memory_in_use() {
  const Lock lock(mutex());
  return state().in_use;
}
size_t page_locked() {
  const Lock lock(mutex());
  size_t bytes = 0;
  for (const auto& [at, size] : page_locked_ranges()) bytes += size;
  return bytes;
}
void report(int64_t value) {
  *static_cast<tandem::cuda::Report*>(mapped()) = {.code = 1, .value = value};
}
void set_memory(size_t bytes) {
  const Lock lock(mutex());
  state().memory = bytes;
}

}  // namespace fake
