// cuDNN without a GPU: the loader, and which engines the library has for a GPU that is
// only described to it. Skipped where the library is not installed.
#include "kernels/cuda/cudnn.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "kernels/cuda/compiler.h"
#include "kernels/cuda/cudnn_attention_graph.h"
#include "kernels/cuda/cudnn_conv.h"
#include "kernels/cuda/cudnn_conv_graph.h"
#include "tandem/error.h"

namespace tandem::testing {
namespace {

using namespace tandem::cuda;

TEST(CudnnLoader, AMissingLibraryIsNamedWithARemedy) {
  try {
    load_cudnn("libcudnn_that_nobody_has.so.9");
    FAIL() << "nothing was thrown";
  } catch (const UnavailableError& e) {
    EXPECT_NE(std::string(e.what()).find("libcudnn_that_nobody_has.so.9"),
              std::string::npos);
    EXPECT_NE(std::string(e.what()).find("[cuda1"), std::string::npos);
  }
}

TEST(CudnnLoader, ALibraryThatIsAnotherOneIsRefused) {
  EXPECT_THROW(load_cudnn("libc.so.6"), UnavailableError);
}

TEST(CudnnFilter, TextCompilesForEveryElementSize) {
  for (const DType dtype : {DType::kBFloat16, DType::kFloat32}) {
    for (const int arch : {75, 80, 90}) {
      EXPECT_GT(compile("filter", filter_layout_text(dtype), arch).code.size(), 0u);
    }
  }
}

// The numbers that the driver gives for an H200.
constexpr const char* kH200 =
    R"({"cudaDeviceId":0,"deviceName":"NVIDIA H200","deviceVer":900,"driverVer":13000,)"
    R"("maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],)"
    R"("regsPerBlock":65536,"multiProcessorCount":132,"warpSize":32,)"
    R"("maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,)"
    R"("reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,)"
    R"("maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,)"
    R"("supportCoopLaunch":1,"smClockRateKHz":1980000,"memClockRateKHz":3201000,)"
    R"("l2CacheSize":62914560,"totalGlobalMem":150754820096})";

class CudnnEngines : public ::testing::Test {
 protected:
  void SetUp() override {
    constexpr size_t kFirst = 90800;  // that takes a GPU's description
    if (!find_cudnn()) GTEST_SKIP() << "libcudnn.so.9 is not installed";
    if (cudnn().version < kFirst) GTEST_SKIP() << "cuDNN is older than 9.8";
    properties = DnnDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    const std::string text = kH200;
    properties.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                   static_cast<int64_t>(text.size()) + 1, text.c_str());
    properties.finalize("describing a GPU");
  }
  std::shared_ptr<const DnnPlan> plan(const ConvCase& c, const DnnRules& rules,
                                      const ConvGraphForm& form = {}) {
    return build_plan(conv_graph(c, form), {.properties = &properties}, rules);
  }
  DnnDescriptor properties;
};

struct Layer {
  const char* name;
  int64_t channels, size, filters, taps, stride;
};
// The convolutions of ResNet-50.
constexpr Layer kResNet[] = {
    {"first", 3, 224, 64, 7, 2},        {"1 wide", 64, 56, 64, 3, 1},
    {"1 in", 64, 56, 64, 1, 1},         {"1 back", 256, 56, 64, 1, 1},
    {"1 out", 64, 56, 256, 1, 1},       {"2 in", 256, 56, 128, 1, 1},
    {"2 down", 128, 56, 128, 3, 2},     {"2 out", 128, 28, 512, 1, 1},
    {"2 beside", 256, 56, 512, 1, 2},   {"2 wide", 128, 28, 128, 3, 1},
    {"3 down", 256, 28, 256, 3, 2},     {"3 wide", 256, 14, 256, 3, 1},
    {"3 beside", 512, 28, 1024, 1, 2},  {"4 down", 512, 14, 512, 3, 2},
    {"4 beside", 1024, 14, 2048, 1, 2}, {"4 wide", 512, 7, 512, 3, 1},
};

/// TensorFlow's "SAME": what is left over is padded behind.
nn::WindowDim same(int64_t in, int64_t taps, int64_t stride) {
  nn::WindowDim d{
      .in = in, .out = (in + stride - 1) / stride, .size = taps, .stride = stride};
  const int64_t all = std::max<int64_t>((d.out - 1) * stride + taps - in, 0);
  d.before = all / 2;
  d.after = all - d.before;
  return d;
}
ConvCase layer_case(const Layer& l, ConvDirection direction, DType dtype,
                    bool channels_first = false) {
  ConvCase c;
  c.direction = direction;
  c.dtype = dtype;
  c.shape.channels_first = channels_first;
  c.shape.batch = 128;
  c.shape.in_channels = l.channels;
  c.shape.out_channels = l.filters;
  for (int d = 0; d < 2; ++d) c.shape.dims[d] = same(l.size, l.taps, l.stride);
  return c;
}

constexpr ConvDirection kDirections[] = {ConvDirection::kForward, ConvDirection::kByInput,
                                         ConvDirection::kByFilter};

DnnRules rules_for(DType dtype, bool tf32 = true, bool deterministic = false) {
  return {
      .deterministic = deterministic, .float32 = dtype == DType::kFloat32, .tf32 = tf32};
}

TEST_F(CudnnEngines, ThereIsOneForEveryConvolutionOfResNet50) {
  for (const Layer& l : kResNet) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
      for (const ConvDirection direction : kDirections) {
        EXPECT_TRUE(plan(layer_case(l, direction, dtype), rules_for(dtype)))
            << l.name << " " << dtype_name(dtype) << " " << static_cast<int>(direction);
      }
    }
  }
}

TEST_F(CudnnEngines, FullPrecisionAndDeterminismHaveTheirs) {
  const Layer& l = kResNet[6];
  for (const ConvDirection direction : kDirections) {
    const ConvCase c = layer_case(l, direction, DType::kFloat32);
    EXPECT_TRUE(plan(c, rules_for(DType::kFloat32, false)))
        << static_cast<int>(direction);
    EXPECT_TRUE(plan(c, rules_for(DType::kFloat32, true, true)));
    EXPECT_TRUE(plan(layer_case(l, direction, DType::kBFloat16),
                     rules_for(DType::kBFloat16, true, true)));
  }
}

// Paddings that differ at both ends are left to engines with tensor cores.
TEST_F(CudnnEngines, LopsidedPaddingsHaveTheirs) {
  for (const size_t i : {0, 6, 13}) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      for (const ConvDirection direction : kDirections) {
        const ConvCase c = layer_case(kResNet[i], direction, dtype);
        ASSERT_NE(c.shape.dims[0].before, c.shape.dims[0].after);
        DnnRules rules = rules_for(dtype, true, true);
        rules.tensor_cores_only = true;
        EXPECT_TRUE(plan(c, rules)) << kResNet[i].name << " " << dtype_name(dtype) << " "
                                    << static_cast<int>(direction);
      }
    }
  }
}

TEST_F(CudnnEngines, ChannelsFirstGroupsAndThreeDimensionsHaveTheirs) {
  for (const ConvDirection direction : kDirections) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      const Layer& l = kResNet[9];
      EXPECT_TRUE(plan(layer_case(l, direction, dtype, true), rules_for(dtype)));
      for (const int64_t groups : {int64_t{4}, l.channels}) {
        ConvCase c = layer_case(l, direction, dtype);
        c.shape.groups = groups;
        EXPECT_TRUE(plan(c, rules_for(dtype)))
            << groups << " groups " << static_cast<int>(direction);
      }
      ConvCase c = layer_case(l, direction, dtype);
      c.shape.spatial = 3;
      c.shape.batch = 8;
      c.shape.dims[2] = same(16, 3, 2);
      EXPECT_TRUE(plan(c, rules_for(dtype))) << "3D " << static_cast<int>(direction);
    }
  }
}

TEST_F(CudnnEngines, ABiasWithReluIsPartOfTheGraph) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    for (const char* activation : {"", "Relu"}) {
      ConvCase c = layer_case(kResNet[9], ConvDirection::kForward, dtype);
      c.end = {.bias = true, .activation = activation};
      ASSERT_TRUE(graph_has_end(c.end));
      EXPECT_TRUE(plan(c, rules_for(dtype), {.end = true}))
          << dtype_name(dtype) << activation;
    }
  }
}

TEST_F(CudnnEngines, ViewsAtOddOffsetsHaveTheirsWithoutAWorkspace) {
  for (const ConvDirection direction : kDirections) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      DnnRules rules = rules_for(dtype, true, true);
      rules.most_workspace = 0;
      EXPECT_TRUE(plan(layer_case(kResNet[9], direction, dtype), rules,
                       {.alignment = static_cast<int64_t>(dtype_size(dtype))}))
          << dtype_name(dtype) << " " << static_cast<int>(direction);
    }
  }
}

AttentionCase gpt2(bool heads_first, bool causal, DType dtype) {
  return {.shape = {.batch = 8,
                    .queries = 1024,
                    .keys = 1024,
                    .heads = 12,
                    .key_heads = 12,
                    .size = 64,
                    .value_size = 64},
          .dtype = dtype,
          .heads_first = heads_first,
          .causal = causal};
}

// The library compiles these kernels when it is asked for a plan.
TEST_F(CudnnEngines, AttentionAndItsGradientAreOneKernelEach) {
  if (!dlopen("libcuda.so.1", RTLD_NOW)) {
    GTEST_SKIP() << "cuDNN needs a driver to compile kernels";
  }
  const auto find = [&](DnnGraph graph) {
    return build_plan(std::move(graph), {.properties = &properties}, {});
  };
  for (const bool first : {false, true}) {
    AttentionCase c = gpt2(first, !first, DType::kBFloat16);
    EXPECT_TRUE(find(attention_graph(c))) << first;
    EXPECT_TRUE(find(attention_grad_graph(c))) << first;
    c.shape.key_heads = 4;
    c.shape.size = c.shape.value_size = 128;
    c.dtype = DType::kFloat16;
    EXPECT_TRUE(find(attention_graph(c))) << first;
    EXPECT_TRUE(find(attention_grad_graph(c))) << first;
  }
}

TEST_F(CudnnEngines, AGraphThatMakesNoSenseIsRefusedWithTheLibrarysWords) {
  ConvCase c = layer_case(kResNet[9], ConvDirection::kForward, DType::kFloat32);
  c.shape.dims[0].out += 1;
  EXPECT_THROW(conv_graph(c, {}), InternalError);
}

}  // namespace
}  // namespace tandem::testing
