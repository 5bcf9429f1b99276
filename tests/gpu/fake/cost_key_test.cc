// Times of kernels are kept by what they were measured with: the GPU's model and the
// versions of the driver and the libraries.
#include "device/measured_with.h"
#include "gpu/fake/gpu.h"
#include "plan/cost_store.h"

namespace tandem::testing {
namespace {

using CostKey = FakeGpuTest;

TEST_F(CostKey, NamesTheGpuTheDriverAndTheLibraries) {
  const std::string own = measured_with(*gpu, "cuda.matmul.small");
  for (const char* part : {", driver ", "CUDA 13", ", NVRTC 13.", ", cuBLASLt 13."}) {
    EXPECT_NE(own.find(part), std::string::npos) << part << " is not in " << own;
  }
  EXPECT_EQ(own.find("cuDNN"), std::string::npos) << own;
  // A library that only some kernels use is named for those alone.
  EXPECT_EQ(measured_with(*gpu, "cuda.cudnn.1.Conv2D").find(own + ", cuDNN "), 0u);
}

TEST_F(CostKey, IsAnotherForAnotherVersion) {
  Signature s;
  s.op = &OpTable::get().at("MatMul");
  s.device = gpu;
  const std::string now = cost_key(s, "cuda.matmul.small");
  const std::string with = measured_with(*gpu, "cuda.matmul.small");
  ASSERT_NE(now.find(with), std::string::npos) << now;
  set_measured_with(gpu->platform(), [](Device&, const std::string&) {
    return std::string("the next driver");
  });
  EXPECT_NE(cost_key(s, "cuda.matmul.small"), now);
  EXPECT_NE(cost_key(s, "cuda.matmul.small").find("the next driver"), std::string::npos);
}

}  // namespace
}  // namespace tandem::testing
