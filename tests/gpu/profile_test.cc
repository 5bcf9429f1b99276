// Profiles with CUPTI on a real GPU: kernels have the GPU's times and the names of their
// ops, eager and captured.
#include "tandem/profile.h"

#include <map>

#include "base/json.h"
#include "gpu/gpu.h"
#include "tandem/function.h"

namespace tandem::testing {
namespace {

using nlohmann::json;
using CudaProfile = GpuTest;

struct Recorded {
  json activities = json::array(), marks = json::array(), notes = json::array();
};

template <class F>
Recorded record(F&& body) {
  start_profile();
  body();
  const json trace = json::parse(stop_profile().chrome_trace());
  Recorded r;
  for (const json& e : trace.at("traceEvents")) {
    if (e.value("cat", "") == "activity") r.activities.push_back(e);
    if (e.value("cat", "") == "mark") r.marks.push_back(e);
  }
  if (trace.contains("otherData")) r.notes = trace["otherData"]["notes"];
  return r;
}

std::map<std::string, int> by_op(const json& activities) {
  std::map<std::string, int> count;
  for (const json& e : activities) {
    ++count[e.contains("args") ? e["args"].value("op", "") : ""];
  }
  return count;
}

double end_of(const json& e) { return e["ts"].get<double>() + e["dur"].get<double>(); }

TEST_F(CudaProfile, KernelsHaveTheTimesAtWhichTheyRan) {
  const DeviceScope scope("/GPU:0");
  const Tensor x = ones({4096, 4096});
  exp(x).wait();
  const Recorded r = record([&] {
    const ProfileMark mark("around");
    for (int i = 0; i < 10; ++i) exp(x).wait();
  });
  if (!r.notes.empty()) GTEST_SKIP() << r.notes.dump();
  ASSERT_EQ(by_op(r.activities)["Exp"], 10) << r.activities.dump();
  double busy = 0, before = 0;
  for (const json& e : r.activities) {
    busy += e["dur"].get<double>();
    // The clocks agree to some ten microseconds: far less than the mark is long.
    EXPECT_GE(e["ts"].get<double>(), r.marks.at(0)["ts"].get<double>() - 100);
    EXPECT_LE(end_of(e), end_of(r.marks.at(0)) + 100);
    EXPECT_GE(e["ts"].get<double>(), before);
    before = end_of(e);
  }
  EXPECT_GT(busy, 0);
  EXPECT_LE(busy, r.marks.at(0)["dur"].get<double>());
}

// Captured before anybody recorded, and again in a second recording.
TEST_F(CudaProfile, CapturedKernelsHaveTheNamesOfTheirSteps) {
  const DeviceScope scope("/GPU:0");
  Variable w(constant(Floats(64 * 64, 0.01f), {64, 64}));
  const auto step = function([&](Tensor x) {
    GradientTape tape;
    const Tensor loss = reduce_mean(square(nn::softmax(matmul(x, w))));
    w.assign(w - tape.gradient(loss, w).dense() * 0.1f);
    return loss;
  });
  const Tensor x = constant(Floats(32 * 64, 0.5f), {32, 64});
  step(x).wait();
  step(x).wait();
  for (int recording = 0; recording < 2; ++recording) {
    const Recorded r = record([&] {
      for (int i = 0; i < 5; ++i) step(x).wait();
    });
    if (!r.notes.empty()) GTEST_SKIP() << r.notes.dump();
    auto count = by_op(r.activities);
    EXPECT_EQ(count[""], 0) << r.activities.dump();
    EXPECT_EQ(count["captured step"], 0) << r.activities.dump();
    EXPECT_GE(count["MatMul"], 5) << r.activities.dump();
    EXPECT_EQ(r.activities.size() % 5, 0u);
  }
  EXPECT_LT(step(x).item<float>(), 1.0f);
}

TEST_F(CudaProfile, CopiesHaveBytesAndTimes) {
  const Recorded r = record([&] {
    const DeviceScope scope("/GPU:0");
    const Tensor x = constant(Floats(100000, 2.0f)) * 2.0f;
    EXPECT_EQ(floats(x)[99999], 4.0f);
  });
  if (!r.notes.empty()) GTEST_SKIP() << r.notes.dump();
  int in = 0, out = 0;
  for (const json& e : r.activities) {
    in += e["name"] == "copy to the GPU" && e["args"]["bytes"] == 400000;
    out += e["name"] == "copy from the GPU" && e["args"]["bytes"] == 400000;
  }
  EXPECT_EQ(in, 1) << r.activities.dump();
  EXPECT_EQ(out, 1) << r.activities.dump();
}

}  // namespace
}  // namespace tandem::testing
