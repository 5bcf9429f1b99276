#include "device/cuda/physical_memory.h"

namespace tandem::cuda {
namespace {

CUdeviceptr address(std::byte* at) { return reinterpret_cast<CUdeviceptr>(at); }

}  // namespace

DriverMemory::DriverMemory(CUdevice device) {
  properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties_.location.id = device;
  access_.location = properties_.location;
  access_.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  check(driver().cuMemGetAllocationGranularity(&page_bytes_, &properties_,
                                               CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        "asking for the GPU's page size");
}

std::byte* DriverMemory::reserve(size_t bytes) {
  CUdeviceptr at = 0;
  check(driver().cuMemAddressReserve(&at, bytes, 0, 0, 0), "reserving GPU addresses");
  return reinterpret_cast<std::byte*>(at);
}

bool DriverMemory::create(Page* page) {
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = driver().cuMemCreate(&handle, page_bytes_, &properties_, 0);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return false;
  check(result, "creating GPU memory");
  *page = handle;
  return true;
}

void DriverMemory::release(Page page) {
  check(driver().cuMemRelease(page), "giving GPU memory back");
}
void DriverMemory::map(std::byte* at, Page page) {
  check(driver().cuMemMap(address(at), page_bytes_, 0, page, 0), "mapping GPU memory");
}
void DriverMemory::unmap(std::byte* at) {
  check(driver().cuMemUnmap(address(at), page_bytes_), "unmapping GPU memory");
}
void DriverMemory::allow_access(std::byte* at, size_t bytes) {
  check(driver().cuMemSetAccess(address(at), bytes, &access_, 1),
        "allowing access to GPU memory");
}

}  // namespace tandem::cuda
