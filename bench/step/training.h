// A model of the benchmarks with its optimizer, first weights and batch. One thread.
#pragma once

#include <cmath>

#include "common/worker.h"
#include "models.h"
#include "tandem/train.h"

namespace bench::step {

/// Small enough that thousands of steps on one batch stay near the first weights: a model
/// that has learnt its batch computes with denormal numbers.
inline constexpr double kTimingRate = 1e-6;
/// Adam's; small, since PyTorch adds it in another place than Keras.
inline constexpr double kEpsilon = 1e-9;
inline constexpr int kCheckSteps = 5;

inline tandem::Tensor first_value(const tandem::Variable& v, size_t index) {
  const tandem::Shape& s = v.shape();
  const double inputs = static_cast<double>(s.num_elements() / s.dim(-1));
  const auto limit = static_cast<float>(std::sqrt(3 / inputs));
  return tandem::constant(random_values(10 + index, s.num_elements(), -limit, limit), s);
}

struct Training {
  Model model;
  tandem::optimizers::Adam adam;
  tandem::Tensor x, y;

  explicit Training(const ModelCase& c)
      : model(c.make()), adam({.learning_rate = c.check_rate, .epsilon = kEpsilon}) {
    for (size_t i = 0; i < model.variables.size(); ++i) {
      tandem::Variable& v = model.variables[i];
      if (v.shape().rank() >= 2) v.assign(first_value(v, i));
    }
    const int64_t n = c.input.num_elements();
    x = c.tokens ? tandem::constant(random_indices(1, n, c.tokens), c.input)
                 : tandem::constant(random_values(1, n), c.input);
    const int64_t labels = c.label_per_token ? n : c.input[0];
    y = tandem::constant(random_indices(2, labels, c.classes));
  }

  tandem::Tensor step(const tandem::Tensor& inputs, const tandem::Tensor& labels) {
    tandem::GradientTape tape;
    const tandem::Tensor loss = tandem::losses::sparse_categorical_crossentropy(
        labels, model.logits(inputs), {.from_logits = true});
    adam.apply(tape.gradient(loss, model.variables), model.variables);
    return loss;
  }
};

}  // namespace bench::step
