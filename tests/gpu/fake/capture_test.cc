// Captured work on the pretended GPU: what comes after what, which addresses copies have,
// and how many launches a compiled function makes.
#include <algorithm>
#include <atomic>
#include <thread>

#include <cuda.h>

#include "device/capture_session.h"
#include "gpu/fake/gpu.h"
#include "tandem/error.h"
#include "tandem/function.h"

namespace tandem::testing {
namespace {

using FakeCapture = FakeGpuTest;

struct Bytes {
  explicit Bytes(Device& gpu, std::vector<uint8_t> values)
      : gpu_(gpu), made_(gpu.allocator().allocate(values.size(), &gpu.compute())) {
    std::copy(values.begin(), values.end(), data());
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() { gpu_.allocator().free(made_, {}); }
  uint8_t* data() const { return static_cast<uint8_t*>(made_.address); }

 private:
  Device& gpu_;
  Allocation made_;
};

TEST_F(FakeCapture, AStepComesAfterThoseItNamesAndNoOthers) {
  const Bytes a(*gpu, {1, 2}), b(*gpu, {0, 0});
  const auto step = [&](std::vector<int32_t> after, int copies) {
    CaptureSession& session = *CaptureSession::current();
    session.begin(after, {"step", nullptr, nullptr}, {});
    for (int i = 0; i < copies; ++i) session.copy(b.data(), a.data(), 2);
    session.end();
  };
  const auto captured = gpu->compute().capture([&](const StreamContext&) {
    step({}, 1);
    step({}, 2);
    step({0, 1}, 1);
    step({1}, 0);  // a step that enqueues nothing ends where it began
    step({3}, 1);
  });
  EXPECT_EQ(CaptureSession::current(), nullptr);
  EXPECT_EQ(fake::last_graph(),
            (Lines{"copy", "copy", "copy < copy", "copy < copy,copy", "copy < copy"}));
  captured->launch().host_wait();
  EXPECT_EQ(b.data()[1], 2);
}

// The real driver loses some waits that meet the launch of a graph by another thread.
TEST_F(FakeCapture, NoWaitMeetsTheLaunchOfAGraph) {
  const Bytes a(*gpu, {1}), b(*gpu, {2});
  const auto captured = gpu->compute().capture([&](const StreamContext&) {
    CaptureSession& session = *CaptureSession::current();
    session.begin({}, {"copy", nullptr, nullptr}, {});
    session.copy(b.data(), a.data(), 1);
    session.end();
  });
  fake::run_at_once(false);
  fake::take_time_to_launch_graphs(50);
  const int lost = fake::lost_waits();
  std::atomic<bool> over{false};
  std::thread launches([&] {
    for (int i = 0; i < 100; ++i) captured->launch().host_wait();
    over = true;
  });
  const uint8_t source = 3;
  while (!over) {
    const TimePoint copied = gpu->copy(gpu->copy_in(), b.data(), &source, 1);
    gpu->compute().wait(copied);
    gpu->compute().now().host_wait();
  }
  launches.join();
  fake::take_time_to_launch_graphs(0);
  EXPECT_EQ(fake::lost_waits(), lost);
}

TEST_F(FakeCapture, CopiesTakeOtherAddressesFromTheNextLaunchOn) {
  const Bytes a(*gpu, {1}), b(*gpu, {2}), x(*gpu, {0}), y(*gpu, {0});
  int32_t first = -1, second = -1;
  const auto captured = gpu->compute().capture([&](const StreamContext&) {
    CaptureSession& session = *CaptureSession::current();
    session.begin({}, {"copies", nullptr, nullptr}, {});
    first = session.copy(x.data(), a.data(), 1);
    second = session.copy(y.data(), a.data(), 1);
    session.end();
  });
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
  captured->launch().host_wait();
  EXPECT_EQ(*x.data() + *y.data(), 2);
  dynamic_cast<CapturedCopies&>(*captured).set_copy(second, y.data(), b.data());
  captured->launch().host_wait();
  EXPECT_EQ(*x.data(), 1);
  EXPECT_EQ(*y.data(), 2);
  EXPECT_EQ(count(fake::take_log(), "graph 2"), 2u);
}

// What a library records with the driver's copies and fills: kernels in the same places.
TEST_F(FakeCapture, CopiesAndFillsOfTheDriverBecomeKernels) {
  const Bytes a(*gpu, {1, 2}), b(*gpu, {0, 0}), c(*gpu, {0, 0});
  const auto captured = gpu->compute().capture([&](const StreamContext& context) {
    const auto stream = static_cast<CUstream>(context.native);
    const auto at = [](const Bytes& x) {
      return reinterpret_cast<CUdeviceptr>(x.data());
    };
    CaptureSession& session = *CaptureSession::current();
    session.begin({}, {"first", nullptr, nullptr}, {});
    session.copy(b.data(), a.data(), 2);
    EXPECT_EQ(cuMemsetD8Async(at(a), 7, 2, stream), CUDA_SUCCESS);
    session.end();
    session.begin(std::vector<int32_t>{0}, {"second", nullptr, nullptr}, {});
    EXPECT_EQ(cuMemcpyDtoDAsync(at(c), at(a), 1, stream), CUDA_SUCCESS);
    session.end();
  });
  EXPECT_EQ(fake::last_graph(), (Lines{"copy", "fill < copy", "copy < fill"}));
  captured->launch().host_wait();
  EXPECT_EQ(b.data()[1], 2);
  EXPECT_EQ(a.data()[1], 7);
  EXPECT_EQ(c.data()[0], 7);
  EXPECT_EQ(c.data()[1], 0);
}

// A launch that was given with one address keeps it, whatever comes later.
TEST_F(FakeCapture, ALaunchThatWaitsKeepsItsAddresses) {
  const Bytes a(*gpu, {1}), b(*gpu, {2}), x(*gpu, {0}), y(*gpu, {0});
  const auto captured = gpu->compute().capture([&](const StreamContext&) {
    CaptureSession& session = *CaptureSession::current();
    session.begin({}, {"copies", nullptr, nullptr}, {});
    session.copy(x.data(), a.data(), 1);
    session.end();
  });
  fake::run_at_once(false);
  captured->launch();
  dynamic_cast<CapturedCopies&>(*captured).set_copy(0, y.data(), b.data());
  captured->launch().host_wait();
  EXPECT_EQ(*x.data(), 1);
  EXPECT_EQ(*y.data(), 2);
}

TEST_F(FakeCapture, AFailureWhileRecordingLeavesTheStreamUsable) {
  const Bytes a(*gpu, {1}), b(*gpu, {0});
  const auto record = [&](const StreamContext&) {
    CaptureSession& session = *CaptureSession::current();
    session.begin({}, {"copy", nullptr, nullptr}, {});
    session.copy(b.data(), a.data(), 1);
    session.end();
  };
  fake::fail_next_launch(1);
  EXPECT_THROW(gpu->compute().capture(record), InternalError);
  EXPECT_EQ(CaptureSession::current(), nullptr);
  gpu->compute().capture(record)->launch().host_wait();
  EXPECT_EQ(*b.data(), 1);
}

TEST_F(FakeCapture, ACompiledStepIsOneLaunch) {
  const DeviceScope scope("/GPU:0");
  Variable w(ones({4, 4}));
  const auto step = function([&](Tensor x) {
    GradientTape tape;
    const Tensor loss = reduce_sum(square(matmul(x, w)));
    w.assign(w - tape.gradient(loss, w).dense() * 0.1f);
    return loss;
  });
  const Tensor x = ones({2, 4}), y = ones({2, 4});
  step(x).wait();
  const int made = fake::graphs_instantiated();
  gpu->synchronize();
  fake::take_log();
  for (int i = 0; i < 3; ++i) step(i % 2 ? x : y).wait();
  const Lines log = fake::take_log();
  EXPECT_EQ(count(log, "graph"), 3u);
  EXPECT_EQ(count(log, "copy to"), 0u);
  EXPECT_EQ(count(log, "copy from"), 0u);
  EXPECT_EQ(fake::graphs_instantiated(), made);
}

// Two products touch nothing of each other's; what is made of one waits for that one.
TEST_F(FakeCapture, IndependentPartsOfAStepAreBranches) {
  const auto both = function([](Tensor x, Tensor y) {
    const Tensor a = matmul(x, x), b = matmul(y, y);
    return std::vector<Tensor>{a, b, cumsum(a) * b};
  });
  const Tensor x = ones({8, 8}), y = ones({8, 8});
  both(x, y)[0].wait();
  const Lines graph = fake::last_graph();
  EXPECT_EQ(std::count(graph.begin(), graph.end(), "small_product"), 2)
      << ::testing::PrintToString(graph);
  EXPECT_EQ(std::count_if(graph.begin(), graph.end(),
                          [](const std::string& line) {
                            return line.ends_with(" < small_product");
                          }),
            1)
      << ::testing::PrintToString(graph);
}

// The scale of its gradient and the casts of mixed precision are part of the loss there.
TEST_F(FakeCapture, ACrossEntropyIsOneKernel) {
  const Tensor x = ones({4, 8}), labels = constant({1, 2, 3, 4});
  for (const DType dtype : {float32, bf16}) {
    const auto step = function([](Tensor logits, Tensor classes) {
      GradientTape tape;
      tape.watch(logits);
      const Tensor losses =
          nn::sparse_softmax_cross_entropy(classes, cast(logits, float32));
      const Tensor loss = reduce_mean(losses);
      return std::vector<Tensor>{loss, tape.gradient(loss, {logits})[0].dense()};
    });
    step(cast(x, dtype), labels);
    const std::string text = step.explain();
    EXPECT_NE(text.find("[cuda.fused_sparse_cross_entropy;"), std::string::npos) << text;
    EXPECT_EQ(text.find("[cuda.cast"), std::string::npos) << text;
    EXPECT_EQ(text.find("[cuda.fused;"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace tandem::testing
