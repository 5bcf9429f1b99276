// On a real GPU, with an empty cache on disk: what the build compiled ahead runs without
// the compiler, and a fused plan takes over from single ops when its kernels are there.
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/json.h"
#include "gpu/gpu.h"
#include "tandem/error.h"
#include "tandem/function.h"
#include "tandem/profile.h"
#include "tandem/train.h"

namespace tandem::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class CudaPrebuilt : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    folder = fs::temp_directory_path() / "tandem-empty-cache";
    fs::remove_all(folder);
    setenv("TANDEM_CACHE_DIR", folder.c_str(), 1);
    setenv("TANDEM_BACKGROUND_COMPILE", "1", 1);
  }
  void TearDown() override {
    setenv("TANDEM_BACKGROUND_COMPILE", "0", 1);
    if (before.empty()) {
      unsetenv("TANDEM_CACHE_DIR");
    } else {
      setenv("TANDEM_CACHE_DIR", before.c_str(), 1);
    }
    fs::remove_all(folder);
    GpuTest::TearDown();
  }
  const std::string before =
      std::getenv("TANDEM_CACHE_DIR") ? std::getenv("TANDEM_CACHE_DIR") : "";
  fs::path folder;
};

/// From one to the other in equal steps, made by the host.
Tensor equal_steps(int n, float from, float to) {
  Floats list;
  for (int i = 0; i < n; ++i) {
    list.push_back(from + (to - from) * static_cast<float>(i) / static_cast<float>(n));
  }
  return constant(list);
}
/// Names of programs that were "compile"d or "load"ed.
std::vector<std::string> builds(const Profile& profile, const std::string& how) {
  std::vector<std::string> found;
  const json trace = json::parse(profile.chrome_trace());
  for (const json& e : trace.at("traceEvents")) {
    const auto name = e.at("name").get<std::string>();
    if (name.starts_with(how + " ")) found.push_back(name);
  }
  return found;
}
bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Ops that no other test of this program uses: nothing of them is in memory yet.
TEST_F(CudaPrebuilt, SingleOpsNeedNoCompiler) {
  NEEDS_PREBUILT();
  const Tensor x = on("/CPU:0", [] { return equal_steps(24, 0.5f, 2.0f); });
  const auto body = [](const Tensor& t) {
    const Tensor m = reshape(t, {4, 6});
    return std::vector<Tensor>{expm1(m),       log1p(m),
                               nn::selu(m),    ceil(m),
                               reduce_prod(m), cast(cast(m, DType::kInt32), DType::kBool),
                               nn::softmax(m)};
  };
  start_profile();
  const auto there = on("/GPU:0", [&] { return body(x); });
  for (const Tensor& t : there) t.wait();
  const Profile profile = stop_profile();
  const auto compiled = builds(profile, "compile");
  EXPECT_TRUE(compiled.empty()) << compiled[0];
  EXPECT_FALSE(builds(profile, "load").empty());
  EXPECT_FALSE(fs::exists(folder / "cuda"));
  const auto here = on("/CPU:0", [&] { return body(x); });
  for (size_t i = 0; i < here.size(); ++i) {
    const Floats a = floats(cast(there[i], float32)), b = floats(cast(here[i], float32));
    ASSERT_EQ(a.size(), b.size());
    for (size_t k = 0; k < a.size(); ++k) {
      EXPECT_NEAR(a[k], b[k], 1e-5f * (1 + std::abs(b[k]))) << i << " " << k;
    }
  }
}

/// A training step with variables and an optimizer's state.
struct Trained {
  explicit Trained(const char* where) : device(where) {
    const DeviceScope scope(device);
    w.emplace(reshape(equal_steps(64 * 10, -0.5f, 0.5f), {64, 10}));
    b.emplace(zeros({10}));
  }
  Tensor step(const Tensor& x, const Tensor& y) {
    const DeviceScope scope(device);
    GradientTape tape;
    const Tensor logits = tanh(matmul(x, *w) + *b) * 2.0f;
    const Tensor loss =
        losses::sparse_categorical_crossentropy(y, logits, {.from_logits = true});
    adam.apply(tape.gradient(loss, std::vector<Variable>{*w, *b}), {*w, *b});
    return loss;
  }
  const char* device;
  std::optional<Variable> w, b;
  optimizers::Adam adam{{.learning_rate = 0.01}};
};

TEST_F(CudaPrebuilt, TheFusedPlanTakesOver) {
  NEEDS_PREBUILT();
  Trained on_gpu("/GPU:0"), on_cpu("/CPU:0");
  const auto gpu_step = function([&](Tensor x, Tensor y) { return on_gpu.step(x, y); });
  const auto cpu_step = function([&](Tensor x, Tensor y) { return on_cpu.step(x, y); });
  const Tensor x =
      on("/CPU:0", [] { return sin(reshape(equal_steps(2048, 0, 2048), {32, 64})); });
  const Tensor y = on("/CPU:0", [] { return floormod(range(32), constant(10)); });
  std::string text;
  int calls = 0;
  const auto call = [&] {
    const float there = gpu_step(x, y).item<float>();
    const float here = cpu_step(x, y).item<float>();
    EXPECT_NEAR(there, here, 2e-3f * (1 + std::abs(here))) << "call " << calls;
    text = gpu_step.explain();
    ++calls;
  };
  call();
  EXPECT_TRUE(says(text, "single ops stand in for the fused plan")) << text;
  EXPECT_FALSE(says(text, "captured launches")) << text;
  while (calls < 2000 && !says(text, "stood in")) {
    call();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(says(text, "single ops stood in for the fused plan in ")) << text;
  EXPECT_TRUE(says(text, "captured launches on GPU:0: 1")) << text;
  EXPECT_TRUE(says(text, "Fused")) << text;
  for (int i = 0; i < 10; ++i) call();
  const Floats there = floats(on_gpu.w->read()), here = floats(on_cpu.w->read());
  for (size_t i = 0; i < there.size(); i += 37)
    EXPECT_NEAR(there[i], here[i], 5e-3f) << i;
}

// A step that fails while single ops stand in changes nothing either.
TEST_F(CudaPrebuilt, AFailureMeanwhileLeavesVariablesAsTheyWere) {
  const DeviceScope scope("/GPU:0");
  Variable w(reshape(equal_steps(96, -1.0f, 1.0f), {32, 3}));
  const auto step = function([&](Tensor x, Tensor labels) {
    GradientTape tape;
    const Tensor loss = reduce_mean(
        nn::sparse_softmax_cross_entropy(labels, sigmoid(matmul(x, w)) * 3.0f));
    w.assign(w - tape.gradient(loss, w).dense() * 0.25f);
    return loss;
  });
  const Tensor x = ones({32, 32});
  std::vector<int64_t> labels(32, 2);
  const Tensor good = constant(labels);
  labels[5] = 7;
  const Tensor bad = constant(labels);
  const Floats first = floats(w.read());
  EXPECT_THROW(step(x, bad).item<float>(), InvalidArgumentError);
  EXPECT_EQ(floats(w.read()), first);
  for (int i = 0; i < 200 && !says(step.explain(), "stood in"); ++i) {
    step(x, good).wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const Floats later = floats(w.read());
  EXPECT_NE(later, first);
  EXPECT_THROW(step(x, bad).item<float>(), InvalidArgumentError);
  EXPECT_EQ(floats(w.read()), later);
}

}  // namespace
}  // namespace tandem::testing
