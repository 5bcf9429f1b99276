// A model of the benchmarks with its optimizer, first weights and batch, and its compiled
// step as a case. One thread.
#pragma once

#include <cmath>
#include <memory>
#include <utility>

#include "common/worker.h"
#include "models.h"
#include "tandem/function.h"
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

/// A step that has done its first, compared steps and is ready to be timed.
struct ReadyStep {
  std::shared_ptr<Training> training;
  tandem::TypedFunction<tandem::Tensor(tandem::Tensor, tandem::Tensor)> function;
  std::vector<double> losses = {};  // of the first steps

  explicit ReadyStep(const ModelCase& c)
      : training(std::make_shared<Training>(c)),
        function(tandem::function(
            [t = training.get()](tandem::Tensor inputs, tandem::Tensor labels) {
              return t->step(inputs, labels);
            })) {
    for (int i = 0; i < kCheckSteps; ++i) losses.push_back(run().item<float>());
    training->adam.set_learning_rate(kTimingRate);
  }
  tandem::Tensor run() const { return function(training->x, training->y); }
};

/// A case that times the step and answers with its losses, what it became and what `more`
/// says of it.
template <class More>
Case make_step_case(const ModelCase& c, More more) {
  const ReadyStep step(c);
  Case result;
  result.body = [step](int64_t n) {
    tandem::Tensor loss;
    for (int64_t i = 0; i < n; ++i) loss = step.run();
    loss.wait();
  };
  result.more = [step, more = std::move(more)] {
    return ", \"losses\": " + json_list(step.losses) +
           ", \"explain\": " + json_string(step.function.explain()) + more(step);
  };
  return result;
}

}  // namespace bench::step
