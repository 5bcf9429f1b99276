// An input pipeline in C++: noisy points are shuffled, prepared by a compiled function on
// several threads, and read ahead of the training step that fits a line to them.
#include <cmath>

#include <fmt/core.h>

#include "tandem/data.h"
#include "tandem/tandem.h"

namespace td = tandem;

int main() {
  td::random::set_seed(1);
  const td::Tensor x = td::random::uniform({1024, 1}, {.minval = -3, .maxval = 3});
  const td::Tensor y = x * 2.f + 1.f + td::random::normal({1024, 1}, {.stddev = 0.1});

  const auto scale = td::function([](td::Tensor a) { return a / 3.f; });
  const td::data::Dataset batches =
      td::data::from_tensor_slices({x, y})
          .shuffle({.buffer_size = 1024, .seed = 7})
          .batch({.batch_size = 64})
          .map(
              [scale](std::span<const td::Tensor> batch) {
                return td::data::Element{scale(batch[0]), batch[1]};
              },
              {.num_parallel_calls = td::data::kAutotune})
          .prefetch();

  td::Variable slope(td::constant({{0.f}}));
  td::Variable offset(td::constant({0.f}));
  const auto step = td::function([&](td::Tensor bx, td::Tensor by) {
    td::GradientTape tape;
    const td::Tensor error = td::matmul(bx, slope.read()) + offset.read() - by;
    const td::Tensor loss = td::reduce_mean(error * error);
    const auto gradients = tape.gradient(loss, {td::Source(slope), td::Source(offset)});
    slope.assign_sub(gradients[0].dense() * 0.3f);
    offset.assign_sub(gradients[1].dense() * 0.3f);
    return loss;
  });

  float loss = 0;
  for (int epoch = 0; epoch < 5; ++epoch) {
    for (const td::data::Element& batch : batches) {
      loss = step(batch[0], batch[1]).item<float>();
    }
    fmt::print("epoch {}: loss {:.4f}\n", epoch + 1, loss);
  }
  fmt::print("y = {:.2f} x + {:.2f}\n", slope.read().item<float>() / 3.f,
             offset.read().item<float>());
  return std::isfinite(loss) && loss < 0.05f ? 0 : 1;
}
