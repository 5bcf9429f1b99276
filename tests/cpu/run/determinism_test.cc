// The same bits whatever the number of threads, when that is asked for.
#include <gtest/gtest.h>

#include "device/runtime.h"
#include "tandem/tandem.h"
#include "tandem/train.h"

namespace tandem {
namespace {

// A few training steps from the same start with a team of `threads`.
std::vector<std::vector<float>> train(int threads) {
  Team& team = *Runtime::get().cpu().team();
  const int before = team.threads();
  team.set_threads(threads);
  std::vector<Variable> variables{
      Variable(random::stateless_normal({300, 200}, {1, 2}) * 0.1f),
      Variable(zeros({200})),
      Variable(random::stateless_normal({200, 10}, {3, 4}) * 0.1f),
      Variable(zeros({10}))};
  optimizers::Adam adam({.learning_rate = 0.01});
  const Tensor x = random::stateless_normal({512, 300}, {5, 6});
  const Tensor y = cast(random::stateless_uniform({512}, {7, 8}, {.maxval = 10}), int64);
  auto step = function([&] {
    GradientTape tape;
    const Tensor h = nn::relu(matmul(x, variables[0]) + variables[1]);
    const Tensor kept =
        h * cast(random::stateless_uniform({512, 200}, {9, 9}) < 0.8f, float32);
    const Tensor logits = matmul(kept, variables[2]) + variables[3];
    const Tensor loss =
        losses::sparse_categorical_crossentropy(y, logits, {.from_logits = true});
    adam.apply(tape.gradient(loss, variables), variables);
    return loss;
  });
  std::vector<std::vector<float>> values;
  for (int i = 0; i < 4; ++i) values.push_back(step().to_vector<float>());
  for (const Variable& v : variables) values.push_back(v.read().to_vector<float>());
  team.set_threads(before);
  return values;
}

TEST(Determinism, ThreadsDoNotShowInTheBits) {
  config::enable_op_determinism();
  const auto one = train(1);
  for (int threads : {2, 3, 4}) EXPECT_EQ(train(threads), one) << threads << " threads";
}

}  // namespace
}  // namespace tandem
