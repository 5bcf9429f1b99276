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

// Ops whose sums libraries and loops cut by the number of threads, and their gradients.
std::vector<std::vector<float>> many_ops(int threads) {
  Team& team = *Runtime::get().cpu().team();
  const int before = team.threads();
  team.set_threads(threads);
  const Tensor images = random::stateless_normal({8, 20, 20, 3}, {1, 2});
  const Tensor filters = random::stateless_normal({3, 3, 3, 16}, {3, 4});
  const Tensor rows = random::stateless_normal({3000, 37}, {5, 6});
  const Tensor segments =
      cast(random::stateless_uniform({3000}, {7, 8}, {.maxval = 50}), int64);
  auto f = function([&](Tensor x, Tensor w, Tensor r) {
    GradientTape tape({.persistent = true});
    for (const Tensor& t : {x, w, r}) tape.watch(t);
    const Tensor convolved = nn::conv2d(x, w);
    const Tensor summed = reduce_sum(nn::softmax(r) * r, {.axis = {0}});
    const Tensor squares = reduce_sum(r * r);
    const Tensor gathered = reduce_mean(tanh(gather(r, segments)));
    const Tensor loss =
        reduce_mean(convolved * convolved) + reduce_sum(summed) + squares + gathered;
    std::vector<Tensor> results{loss, summed, reduce_sum(convolved, {.axis = {0, 1, 2}})};
    for (const Tensor& t : {x, w, r}) results.push_back(tape.gradient(loss, t).dense());
    return results;
  });
  std::vector<std::vector<float>> values;
  for (const Tensor& t : f(images, filters, rows)) values.push_back(t.to_vector<float>());
  team.set_threads(before);
  return values;
}

TEST(Determinism, NorInManyOps) {
  config::enable_op_determinism();
  const auto one = many_ops(1);
  for (int threads : {2, 3, 4}) {
    const auto more = many_ops(threads);
    ASSERT_EQ(more.size(), one.size());
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(more[i], one[i]) << "result " << i << " with " << threads << " threads";
    }
  }
}

TEST(Determinism, ThreadsDoNotShowInTheBits) {
  config::enable_op_determinism();
  const auto one = train(1);
  for (int threads : {2, 3, 4}) EXPECT_EQ(train(threads), one) << threads << " threads";
}

}  // namespace
}  // namespace tandem
