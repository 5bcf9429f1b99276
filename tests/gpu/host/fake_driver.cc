// A stand-in for the NVIDIA driver, libcuda.so.1: as much of it as looking for GPUs
// takes. It plays the part that the environment gives it: FAKE_CUDA_VERSION (13000),
// FAKE_CUDA_INIT (a CUresult), FAKE_CUDA_CAPABILITY (90). It has one GPU, and none where
// CUDA_VISIBLE_DEVICES is empty. cuda.h is not included: its macros rename functions.
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace {

int setting(const char* name, int fallback) {
  const char* value = std::getenv(name);
  return value ? std::atoi(value) : fallback;
}

constexpr int kSuccess = 0, kNoDevice = 100, kMajor = 75, kMinor = 76,
              kMultiprocessors = 16;

}  // namespace

extern "C" {

int cuInit(unsigned) { return setting("FAKE_CUDA_INIT", kSuccess); }
int cuDriverGetVersion(int* version) {
  *version = setting("FAKE_CUDA_VERSION", 13000);
  return kSuccess;
}
int cuDeviceGetCount(int* count) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  *count = visible && !*visible ? 0 : 1;
  return *count ? kSuccess : kNoDevice;
}
int cuDeviceGet(int* device, int index) {
  *device = index;
  return kSuccess;
}
int cuDeviceGetName(char* name, int size, int) {
  std::strncpy(name, "Pretended GPU", static_cast<size_t>(size));
  return kSuccess;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = size_t{24} << 30;
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int what, int) {
  const int capability = setting("FAKE_CUDA_CAPABILITY", 90);
  *value = what == kMajor             ? capability / 10
           : what == kMinor           ? capability % 10
           : what == kMultiprocessors ? 132
                                      : 0;
  return kSuccess;
}
int cuGetErrorName(int, const char** name) {
  *name = "CUDA_ERROR_PRETENDED";
  return kSuccess;
}
int cuGetErrorString(int, const char** text) {
  *text = "a pretended error";
  return kSuccess;
}

}  // extern "C"
