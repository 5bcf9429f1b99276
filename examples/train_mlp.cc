// Trains a small classifier with a compiled step: forward pass, gradients and Adam's
// update are one plan. The data is synthetic: two spirals that no straight line
// separates. Run it with TANDEM_EMULATE_GPUS=1 to see the same program planned for a
// second device.
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include <tandem/tandem.h>
#include <tandem/train.h>

namespace td = tandem;

namespace {

struct Batch {
  td::Tensor points;   // float32 [n, 2]
  td::Tensor classes;  // int32 [n]
};

// n points around two spirals.
Batch spirals(int64_t n) {
  const td::Tensor classes =
      td::random::uniform({n}, {.minval = 0, .maxval = 2, .dtype = td::DType::kInt32});
  const td::Tensor along = td::random::uniform({n}, {.minval = 0.3, .maxval = 2});
  const td::Tensor turn = along * M_PI + td::cast(classes, td::DType::kFloat32) * M_PI;
  const td::Tensor exact =
      td::stack({along * td::cos(turn), along * td::sin(turn)}, {.axis = 1});
  return {exact + td::random::normal({n, 2}, {.stddev = 0.03}), classes};
}

}  // namespace

int main() {
  td::random::set_seed(42);
  const auto relu = [](const td::Tensor& x) { return td::nn::relu(x); };
  const td::layers::Dense first(2, 64, {.activation = relu, .seed = 1, .name = "first"});
  const td::layers::Dense second(64, 64,
                                 {.activation = relu, .seed = 2, .name = "second"});
  const td::layers::Dense third(64, 2, {.seed = 3, .name = "third"});
  const std::vector<td::Variable> weights = td::layers::join_variables(
      {first.variables(), second.variables(), third.variables()});
  const auto model = [&](const td::Tensor& x) { return third(second(first(x))); };

  td::optimizers::Adam adam({.learning_rate = 0.01});
  adam.build(weights);  // its state exists before the step is traced

  auto step = td::function(
      [&](td::Tensor points, td::Tensor classes) {
        td::GradientTape tape;
        const td::Tensor loss = td::losses::sparse_categorical_crossentropy(
            classes, model(points), {.from_logits = true});
        adam.apply(tape.gradient(loss, weights), weights);
        return loss;
      },
      {.name = "step"});

  // One trace for batches of any size.
  auto accuracy = td::function(
      [&](td::Tensor points, td::Tensor classes) {
        const td::Tensor guess = td::argmax(model(points), {.axis = 1});
        const td::Tensor right = td::equal(guess, td::cast(classes, td::DType::kInt64));
        return td::reduce_mean(td::cast(right, td::DType::kFloat32));
      },
      {.name = "accuracy",
       .input_signature = {{{.shape = {td::kUnknownDim, 2}, .name = "points"},
                            {.shape = {td::kUnknownDim},
                             .dtype = td::DType::kInt32,
                             .name = "classes"}}}});

  for (int i = 0; i <= 300; ++i) {
    const Batch batch = spirals(128);
    const td::Tensor loss = step(batch.points, batch.classes);
    if (i % 100 == 0) fmt::print("step {:3}: loss {:.4f}\n", i, loss.item<float>());
  }
  const Batch test = spirals(1000);
  fmt::print("accuracy on {} new points: {:.3f}\n", 1000,
             accuracy(test.points, test.classes).item<float>());

  fmt::print("\nstep was traced {} time(s). What a call runs:\n{}", step.tracing_count(),
             step.explain());
  return 0;
}
