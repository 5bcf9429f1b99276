// Training steps on an emulated GPU: one captured launch, counted copies, the same
// numbers as on the CPU, failures that change nothing.
#include <chrono>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "device/runtime.h"
#include "tandem/tandem.h"
#include "tandem/train.h"

namespace tandem {
namespace {

struct Model {
  Variable w1, b1, w2, b2;
  optimizers::Adam adam{{.learning_rate = 0.01}};
  explicit Model(const std::string& device) {
    const DeviceScope scope(device);
    w1 = Variable(random::stateless_normal({20, 16}, {1, 2}) * 0.3f);
    b1 = Variable(zeros({16}));
    w2 = Variable(random::stateless_normal({16, 5}, {3, 4}) * 0.3f);
    b2 = Variable(zeros({5}));
  }
  std::vector<Variable> variables() { return {w1, b1, w2, b2}; }
  Tensor step(const Tensor& x, const Tensor& y) {
    GradientTape tape;
    const Tensor logits = matmul(nn::relu(matmul(x, w1) + b1), w2) + b2;
    const Tensor loss =
        losses::sparse_categorical_crossentropy(y, logits, {.from_logits = true});
    adam.apply(tape.gradient(loss, variables()), variables());
    return loss;
  }
};

struct Batch {
  Tensor x, y;
  Batch() {
    const DeviceScope cpu("/CPU:0");
    x = random::stateless_normal({8, 20}, {5, 6});
    y = constant(std::vector<int64_t>{0, 1, 2, 3, 4, 0, 1, 2});
  }
};

TEST(EmulatedStep, IsOneCapturedLaunch) {
  Model model("/GPU:0");
  const Batch batch;
  auto step = [&] {
    const DeviceScope gpu("/GPU:0");
    return function([&](Tensor x, Tensor y) {
      const DeviceScope on("/GPU:0");
      return model.step(x, y);
    });
  }();
  step(batch.x, batch.y).wait();
  const std::string text = step.explain();
  EXPECT_NE(text.find("captured launches on GPU:0: 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("copies between devices: 2 "), std::string::npos) << text;
  // Nothing but the batch crosses.
  const CopyStats before = copy_stats();
  for (int i = 0; i < 10; ++i) step(batch.x, batch.y);
  synchronize("/GPU:0");
  EXPECT_EQ(copy_stats().count - before.count, 20);
}

TEST(EmulatedStep, GivesTheNumbersOfTheCpu) {
  Model on_gpu("/GPU:0"), on_cpu("/CPU:0");
  const Batch batch;
  auto gpu_step = function([&](Tensor x, Tensor y) {
    const DeviceScope scope("/GPU:0");
    return on_gpu.step(x, y);
  });
  auto cpu_step = function([&](Tensor x, Tensor y) {
    const DeviceScope scope("/CPU:0");
    return on_cpu.step(x, y);
  });
  for (int i = 0; i < 20; ++i) {
    const float gpu = gpu_step(batch.x, batch.y).item<float>();
    const float cpu = cpu_step(batch.x, batch.y).item<float>();
    ASSERT_NEAR(gpu, cpu, 1e-5f) << "step " << i;
  }
  EXPECT_LT(gpu_step(batch.x, batch.y).item<float>(), 1.5f);
}

TEST(EmulatedStep, StepsInFlightKeepTheirOrderAndResults) {
  Variable v;
  {
    const DeviceScope gpu("/GPU:0");
    v = Variable(constant(0.f));
  }
  auto step = function([&](Tensor x) {
    const DeviceScope gpu("/GPU:0");
    v.assign_add(x);
    return v.read() * 2.f;
  });
  std::vector<Tensor> results;
  const DeviceScope cpu("/CPU:0");
  for (int i = 1; i <= 50; ++i) results.push_back(step(constant(1.f)));
  for (int i = 1; i <= 50; ++i) {
    EXPECT_EQ(results[static_cast<size_t>(i - 1)].item<float>(),
              2.f * static_cast<float>(i));
  }
  EXPECT_EQ(v.read().item<float>(), 50);
}

// What was read between two steps is ready when the steps before it are; the variable
// itself follows whatever is submitted.
TEST(EmulatedStep, ReadsDoNotWaitForLaterWork) {
  const DeviceScope scope("/GPU:0");
  Variable v(zeros({4}));
  auto step = function([&] { v.assign_add(ones({4})); });
  for (int i = 0; i < 3; ++i) step();
  const Tensor before = v.read();
  step();
  synchronize();
  std::promise<void> gate;
  Stream& compute = Runtime::get().named("/GPU:0").compute();
  compute.submit([&](const StreamContext&) { gate.get_future().wait(); });
  step();
  EXPECT_TRUE(before.ready());
  EXPECT_EQ(before.to_vector<float>(), std::vector<float>(4, 3));
  EXPECT_FALSE(v.read().ready());
  gate.set_value();
  EXPECT_EQ(v.read().to_vector<float>(), std::vector<float>(4, 5));
}

// A lane of another device reads a variable when it comes to it; who writes the variable
// next comes after that.
TEST(EmulatedStep, AVariableIsWrittenAfterItsReadersElsewhere) {
  if (Runtime::get().devices().size() < 3) GTEST_SKIP() << "there is one GPU";
  const auto on = [](const char* device, auto body) {
    const DeviceScope scope(device);
    return body();
  };
  for (const char* home : {"/GPU:0", "/CPU:0"}) {
    SCOPED_TRACE(home);
    Variable v = on(home, [] { return Variable(ones({256})); });
    auto twice = function([&] { return on("/GPU:1", [&] { return v.read() * 2.f; }); });
    auto add = function([&] {
      on(home, [&] {
        v.assign_add(ones({256}));
        return 0;
      });
    });
    twice();
    add();
    for (float expected = 2; expected < 6; ++expected) {
      synchronize();
      std::promise<void> gate;
      Runtime::get().named("/GPU:1").copy_in().submit(
          [&](const StreamContext&) { gate.get_future().wait(); });
      std::thread opens([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        gate.set_value();
      });
      const Tensor doubled = twice();
      add();
      opens.join();
      EXPECT_EQ(doubled.to_vector<float>(), std::vector<float>(256, 2 * expected));
    }
  }
}

TEST(EmulatedStep, AFailedStepLeavesVariablesAndTheNextOneWorks) {
  Variable v;
  Tensor table;
  {
    const DeviceScope gpu("/GPU:0");
    v = Variable(constant(1.f));
    table = constant({10.f, 20.f});
  }
  auto step = function([&](Tensor index) {
    const DeviceScope gpu("/GPU:0");
    v.assign_add(constant(1.f));
    return gather(table, index);
  });
  const DeviceScope cpu("/CPU:0");
  EXPECT_EQ(step(constant({1})).to_vector<float>(), std::vector<float>({20}));
  EXPECT_THROW(step(constant({5})).to_vector<float>(), InvalidArgumentError);
  EXPECT_EQ(v.read().item<float>(), 2);
  EXPECT_EQ(step(constant({0})).to_vector<float>(), std::vector<float>({10}));
  EXPECT_EQ(v.read().item<float>(), 3);
}

TEST(EmulatedStep, BranchesOnCpuAndGpuOverlapInOnePlan) {
  auto f = function([](Tensor x) {
    Tensor a, b;
    {
      const DeviceScope gpu("/GPU:0");
      a = matmul(x, x);
    }
    {
      const DeviceScope cpu("/CPU:0");
      b = exp(x);
    }
    const DeviceScope cpu("/CPU:0");
    return a + b;
  });
  const DeviceScope cpu("/CPU:0");
  const Tensor x = constant({{1.f, 2.f}, {3.f, 4.f}});
  const std::vector<float> got = f(x).to_vector<float>();
  const std::vector<float> expected = (matmul(x, x) + exp(x)).to_vector<float>();
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(got[i], expected[i], 1e-4);
  // The GPU's work is given out before the host begins its own.
  const std::string text = f.explain();
  EXPECT_LT(text.find("GPU:0 MatMul"), text.find("CPU:0 Exp")) << text;
}

}  // namespace
}  // namespace tandem
