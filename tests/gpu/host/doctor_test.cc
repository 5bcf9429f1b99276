// `tandem doctor` on machines that lack something, played by a pretended driver that the
// loader finds before the real one.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "device/cuda/cuda_release.h"
#include "device/cuda/library.h"

namespace tandem::cuda {
namespace {

namespace fs = std::filesystem;

std::string doctor(const std::string& libraries, const std::string& environment = "") {
  const std::string line =
      "env -u TANDEM_EMULATE_GPUS -u TANDEM_PLUGIN_PATH -u CUDA_VISIBLE_DEVICES "
      "LD_LIBRARY_PATH='" +
      libraries + "' " + environment + " '" TANDEM_COMMAND "' doctor 2>&1";
  std::string text;
  FILE* pipe = popen(line.c_str(), "r");
  if (!pipe) return text;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  // A machine without a GPU has no problem.
  const int status = pclose(pipe);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << text;
  return text;
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(CudaDoctor, NoDriver) {
  const fs::path folder = fs::path(::testing::TempDir()) / "tandem_no_driver";
  fs::create_directories(folder);
  std::ofstream(folder / "libcuda.so.1") << "not a library, as where none is installed";
  const std::string text = doctor(folder.string());
  EXPECT_SAYS(text, "found no device: no NVIDIA driver: libcuda.so.1 cannot be loaded");
  EXPECT_SAYS(text, "driver     not found; needed: 535 (CUDA 12.2) or newer");
}
TEST(CudaDoctor, ADriverForAnOlderCuda) {
  const std::string text = doctor(TANDEM_FAKE_DRIVER, "FAKE_CUDA_VERSION=11080");
  EXPECT_SAYS(text, "found no device: the NVIDIA driver is too old: it offers CUDA 11.8");
  EXPECT_SAYS(text, "install driver 535 or newer");
}
TEST(CudaDoctor, WhatIsSlowerWithAnOlderDriver) {
  const std::string text = doctor(TANDEM_FAKE_DRIVER, "FAKE_CUDA_VERSION=12040");
  EXPECT_SAYS(text, "CUDA 12.4");
  EXPECT_SAYS(text, "the host decides branches (the GPU does from driver 570 on)");
  EXPECT_SAYS(text, "needed: 12 (libnvrtc.so.12)");
}
TEST(CudaDoctor, ADriverSoOldThatItLacksFunctions) {
  const std::string text = doctor(TANDEM_FAKE_OLD_DRIVER);
  EXPECT_SAYS(text,
              "found no device: the NVIDIA driver is too old: libcuda.so.1 has no cu");
  EXPECT_SAYS(text, "install driver 535");
}
TEST(CudaDoctor, HiddenByTheEnvironment) {
  const std::string text = doctor(TANDEM_FAKE_DRIVER, "CUDA_VISIBLE_DEVICES=");
  EXPECT_SAYS(text, "found no device: CUDA_VISIBLE_DEVICES=\"\" hides every GPU");
  EXPECT_SAYS(text, "unset it, or name a GPU in it");
}
TEST(CudaDoctor, TheDriverDoesNotStart) {
  const std::string text = doctor(TANDEM_FAKE_DRIVER, "FAKE_CUDA_INIT=802");
  EXPECT_SAYS(text,
              "found no device: the NVIDIA driver does not start: CUDA_ERROR_PRETENDED");
}
TEST(CudaDoctor, AGpuThatCudaNoLongerKnows) {
  const std::string text = doctor(TANDEM_FAKE_DRIVER, "FAKE_CUDA_CAPABILITY=61");
  EXPECT_SAYS(text, "found no device: Pretended GPU has compute capability 6.1");
}
TEST(CudaDoctor, AGpuWithLessMemoryByRequest) {
  if (const std::string missing = missing_library(); !missing.empty()) {
    EXPECT_SAYS(doctor(TANDEM_FAKE_DRIVER), "found no device: " + missing);
    return;
  }
  const std::string text = doctor(TANDEM_FAKE_DRIVER, "TANDEM_GPU_MEMORY_MB=10240");
  EXPECT_SAYS(text, "Pretended GPU");
  EXPECT_SAYS(text, "GPU:0: limit 10240 MiB");
  EXPECT_SAYS(doctor(TANDEM_FAKE_DRIVER), "GPU:0: limit 24576 MiB");
}

TEST(CudaDoctor, ALibraryIsMissingByName) {
  const std::string text = doctor(
      TANDEM_FAKE_DRIVER, "FAKE_CUDA_VERSION=12040 TANDEM_CUDA_LIBRARY_PATH=/none");
  if (text.find("Pretended GPU") != std::string::npos) {
    GTEST_SKIP() << "the libraries of CUDA 12 are installed";
  }
  EXPECT_SAYS(text, "libnvrtc.so.12 cannot be loaded; install CUDA 12");
  EXPECT_SAYS(text, "[cuda12]");
  EXPECT_SAYS(text, "TANDEM_CUDA_LIBRARY_PATH");
}

}  // namespace
}  // namespace tandem::cuda

#undef EXPECT_SAYS
