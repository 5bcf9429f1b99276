// Recurrent layers on a GPU are the ops that they are on the CPU, in the same captured
// step as everything around them.
#include <cmath>

#include <gtest/gtest.h>

#include "tandem/function.h"
#include "tandem/tandem.h"
#include "tandem/train.h"

namespace tandem {
namespace {

Tensor some(const Shape& shape) {
  std::vector<float> v(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < v.size(); ++i) v[i] = std::sin(static_cast<float>(i * 7 % 101));
  return reshape(constant(v), shape);
}

/// Two layers of the train library and a GRU of the op functions.
struct Net {
  layers::LSTM first{4, 6, {.return_sequences = true, .seed = 1}};
  layers::LSTM second{6, 5, {.return_sequences = true, .seed = 2}};
  Variable kernel{some({5, 9}), {.name = "kernel"}};
  Variable recurrent{some({3, 9}), {.name = "recurrent"}};
  Variable bias{some({2, 9}), {.name = "bias"}};
  optimizers::Adam adam{{.learning_rate = 0.02}};

  std::vector<Variable> variables() const {
    return layers::join_variables(
        {first.variables(), second.variables(), {kernel, recurrent, bias}});
  }
  Tensor step(const Tensor& x) {
    GradientTape tape;
    const Tensor h = nn::gru(second(first(x)), kernel, recurrent, bias).h;
    const Tensor loss = reduce_mean(h * h);
    adam.apply(tape.gradient(loss, variables()), variables());
    return loss;
  }
};

std::vector<float> train_recurrent(const std::string& device, std::string* plan) {
  const DeviceScope scope(device);
  Net net;
  // The same on both: random numbers differ from one layer made to the next.
  for (Variable v : net.variables()) v.assign(some(v.shape()));
  const Tensor x = some({3, 7, 4});
  const auto step = function([&](Tensor batch) {
    const DeviceScope on(device);
    return net.step(batch);
  });
  std::vector<float> losses;
  for (int i = 0; i < 5; ++i) losses.push_back(step(x).item<float>());
  if (plan) *plan = step.explain();
  return losses;
}

TEST(EmulatedRecurrent, AStepIsOneLaunchOfTheWholeLayers) {
  std::string plan;
  const std::vector<float> on_gpu = train_recurrent("/GPU:0", &plan);
  EXPECT_NE(plan.find("captured launches on GPU:0: 1\n"), std::string::npos) << plan;
  for (const char* op : {"Lstm", "LstmGrad", "Gru", "GruGrad"}) {
    EXPECT_NE(plan.find(std::string("GPU:0 ") + op + " "), std::string::npos)
        << op << " is missing in\n"
        << plan;
  }
  const std::vector<float> on_cpu = train_recurrent("/CPU:0", nullptr);
  EXPECT_LT(on_cpu.back(), on_cpu.front());
  for (size_t i = 0; i < on_cpu.size(); ++i) {
    EXPECT_NEAR(on_gpu[i], on_cpu[i], 1e-5) << "step " << i;
  }
}

}  // namespace
}  // namespace tandem
