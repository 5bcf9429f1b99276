// Convolutions of sizes that NVIDIA's libraries take, on a real GPU against the CPU: all
// directions, layouts and dtypes, in a compiled step too.
#include <cmath>

#include "gpu/gpu.h"
#include "support/alone.h"

namespace tandem::testing {
namespace {

using CudaConv = GpuTest;

struct ConvLayer {
  const char* name;
  Shape input, filter;
  nn::ConvAttrs attrs;
};

using nn::DataFormat;
using nn::Padding;

// Above 2^27 operations each, so that the library is the default.
const std::vector<ConvLayer>& conv_layers() {
  static const std::vector<ConvLayer> all = {
      {"same", {8, 28, 28, 64}, {3, 3, 64, 64}, {.padding = Padding::kSame}},
      {"same, odd strides",
       {16, 30, 29, 48},
       {3, 3, 48, 72},
       {.strides = {2}, .padding = Padding::kSame}},
      {"few channels",
       {32, 64, 64, 3},
       {7, 7, 3, 64},
       {.strides = {2}, .padding = Padding::kSame}},
      {"groups", {16, 28, 28, 64}, {3, 3, 16, 64}, {.padding = Padding::kSame}},
      {"dilations",
       {8, 28, 28, 64},
       {3, 3, 64, 64},
       {.padding = Padding::kSame, .dilations = {2}}},
      {"explicit",
       {8, 28, 28, 64},
       {3, 3, 64, 64},
       {.strides = {2, 1},
        .padding = Padding::kExplicit,
        .explicit_paddings = {0, 0, 0, 2, 1, 0, 0, 0}}},
      {"channels first",
       {8, 64, 27, 28},
       {3, 3, 64, 64},
       {.strides = {1, 1, 1, 2},
        .padding = Padding::kSame,
        .data_format = DataFormat::kNCHW}},
      {"one tap", {8, 28, 28, 96}, {1, 1, 96, 160}, {}},
      {"one tap, strides", {16, 56, 56, 96}, {1, 1, 96, 128}, {.strides = {2}}},
      {"one per channel", {32, 28, 28, 256}, {3, 3, 1, 256}, {.padding = Padding::kSame}},
      {"three dimensions",
       {4, 12, 14, 13, 32},
       {3, 3, 3, 32, 48},
       {.strides = {1, 2, 1}, .padding = Padding::kSame}},
  };
  return all;
}

/// The result and the gradients by input and filter, on a device.
std::vector<Tensor> run(const ConvLayer& l, DType dtype, const char* device) {
  return on(device, [&] {
    const Tensor x = cast(noise(l.input, 1), dtype), w = cast(noise(l.filter, 2), dtype);
    GradientTape tape;
    tape.watch(x);
    tape.watch(w);
    const Tensor y =
        l.input.rank() == 5 ? nn::conv3d(x, w, l.attrs) : nn::conv2d(x, w, l.attrs);
    // Upstream gradients that differ from place to place.
    const Tensor loss = reduce_sum(cast(y, DType::kFloat32) * noise(y.shape(), 3));
    std::vector<Tensor> out = {y};
    for (const Gradient& g : tape.gradient(loss, {x, w})) out.push_back(g.dense());
    for (Tensor& t : out) t = cast(t, DType::kFloat32);
    return out;
  });
}

/// Relative to the largest element: sums of thousands of products cancel.
void expect_near(const Tensor& a, const Tensor& b, float tolerance, const char* what) {
  const Floats x = floats(a), y = floats(b);
  ASSERT_EQ(x.size(), y.size()) << what;
  float largest = 0, off = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    largest = std::max(largest, std::abs(y[i]));
    off = std::max(off, std::isfinite(x[i]) ? std::abs(x[i] - y[i]) : INFINITY);
  }
  EXPECT_LE(off, tolerance * largest) << what;
}

TEST_F(CudaConv, AllDirectionsAreTheCpusInFullPrecision) {
  for (const ConvLayer& l : conv_layers()) {
    SCOPED_TRACE(l.name);
    const auto cpu = run(l, DType::kFloat32, "/CPU:0"),
               here = run(l, DType::kFloat32, "/GPU:0");
    // Less than TF32 would be off; the filter's sums are the longest.
    expect_near(here[0], cpu[0], 2e-5f, "forward");
    expect_near(here[1], cpu[1], 2e-5f, "by input");
    expect_near(here[2], cpu[2], 4e-5f, "by filter");
  }
}

TEST_F(CudaConv, HalfPrecisionRoundsOnlyOperandsAndResults) {
  for (const DType dtype : {DType::kBFloat16, DType::kFloat16}) {
    for (const ConvLayer& l : conv_layers()) {
      SCOPED_TRACE(std::string(l.name) + " " + std::string(dtype_name(dtype)));
      const auto cpu = run(l, dtype, "/CPU:0"), here = run(l, dtype, "/GPU:0");
      const float tolerance = dtype == DType::kBFloat16 ? 1e-2f : 2e-3f;
      expect_near(here[0], cpu[0], tolerance, "forward");
      expect_near(here[1], cpu[1], tolerance, "by input");
      expect_near(here[2], cpu[2], tolerance, "by filter");
    }
  }
}

TEST_F(CudaConv, ViewsAtOddOffsetsAreTaken) {
  const Shape whole{9, 27, 27, 63}, filter{3, 3, 63, 64};
  const auto work = [&](const char* device) {
    return on(device, [&] {
      const Tensor all = cast(noise(whole, 5), DType::kBFloat16);
      const Tensor x = slice(all, {1, 0, 0, 0}, {8, 27, 27, 63});
      const Tensor w = cast(noise(filter, 6), DType::kBFloat16);
      return cast(nn::conv2d(x, w, {.padding = Padding::kSame}), DType::kFloat32);
    });
  };
  expect_near(work("/GPU:0"), work("/CPU:0"), 1e-2f, "a view");
}

TEST_F(CudaConv, ACompiledStepMeasuresItsCandidates) {
  const ConvLayer& l = conv_layers()[0];
  const auto step = function([&](Tensor x, Tensor w, Tensor b) {
    return nn::relu(nn::bias_add(nn::conv2d(x, w, l.attrs), b));
  });
  const Tensor bias = noise({64}, 7);
  const auto work = [&](const char* device) {
    return on(device, [&] {
      const Tensor x = noise(l.input, 1), w = noise(l.filter, 2);
      Tensor y;
      for (int i = 0; i < 3; ++i) y = step(x, w, bias);
      return y;
    });
  };
  expect_near(work("/GPU:0"), work("/CPU:0"), 1e-5f, "bias and relu");
}

// A block with a shortcut, as residual networks have them: convolution, normalisation,
// relu, and the same again with a sum before relu.
TEST_F(CudaConv, ABlockWithAShortcutTrainsAsOnTheCpu) {
  const auto block = function([](Tensor x, Tensor w, Tensor scale, Tensor offset) {
    GradientTape tape;
    for (const Tensor& t : {x, w, scale, offset}) tape.watch(t);
    const auto layer = [&](const Tensor& in) {
      const Tensor y = nn::conv2d(in, w, {.padding = Padding::kSame});
      return nn::fused_batch_norm(y, scale, offset, {}, {}).y;
    };
    const Tensor y = nn::relu(layer(nn::relu(layer(x))) + x);
    const Tensor loss = reduce_mean(cast(y * y, DType::kFloat32));
    std::vector<Tensor> out = {cast(y, DType::kFloat32)};
    for (const Gradient& g : tape.gradient(loss, {x, w, scale, offset})) {
      out.push_back(cast(g.dense(), DType::kFloat32) * 1e3f);
    }
    return out;
  });
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    SCOPED_TRACE(std::string(dtype_name(dtype)));
    const auto work = [&](const char* device) {
      return on(device, [&] {
        return block(cast(noise({8, 14, 14, 64}, 1), dtype),
                     cast(noise({3, 3, 64, 64}, 2), dtype), noise({64}, 3) + 2.0f,
                     noise({64}, 4));
      });
    };
    const auto cpu = work("/CPU:0"), here = work("/GPU:0");
    const float tolerance = dtype == DType::kFloat32 ? 2e-4f : 5e-2f;
    for (size_t i = 0; i < cpu.size(); ++i) {
      expect_near(here[i], cpu[i], tolerance, "result");
    }
  }
}

ALONE_TEST(CudaConvAlone, DeterminismGivesTheSameBits, {}) {
  if (!real_gpu()) GTEST_SKIP() << why_no_gpu();
  config::enable_op_determinism();
  for (const ConvLayer& l : conv_layers()) {
    SCOPED_TRACE(l.name);
    const auto first = run(l, DType::kFloat32, "/GPU:0"),
               again = run(l, DType::kFloat32, "/GPU:0");
    for (size_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ(floats(first[i]), floats(again[i])) << i;
    }
  }
}

}  // namespace
}  // namespace tandem::testing
