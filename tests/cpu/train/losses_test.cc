// Values and gradients of losses against Keras, and what they refuse.
#include "reference.h"
#include "tandem/train.h"

namespace tandem {
namespace {

using namespace losses;
using testing::expect_equal;
using testing::json;

Reduction reduction_of(const json& options) {
  const std::string name = options.value("reduction", "sum_over_batch_size");
  return name == "sum" ? Reduction::kSum
                       : (name == "none" ? Reduction::kNone : Reduction::kMean);
}

Tensor compute(const std::string& name, const json& c, const Tensor& predictions) {
  const json& options = c["options"];
  const Tensor targets = testing::to_tensor(c["targets"]);
  const Tensor weight =
      c["sample_weight"].is_null() ? Tensor() : testing::to_tensor(c["sample_weight"]);
  const Reduction reduction = reduction_of(options);
  if (name == "Huber") {
    return huber(targets, predictions,
                 {.delta = options.value("delta", 1.0),
                  .reduction = reduction,
                  .sample_weight = weight});
  }
  if (name == "MeanSquaredError") {
    return mean_squared_error(targets, predictions, {reduction, weight});
  }
  if (name == "MeanAbsoluteError") {
    return mean_absolute_error(targets, predictions, {reduction, weight});
  }
  const CrossentropyOptions o{.from_logits = options.value("from_logits", false),
                              .label_smoothing = options.value("label_smoothing", 0.0),
                              .reduction = reduction,
                              .sample_weight = weight};
  if (name == "BinaryCrossentropy") return binary_crossentropy(targets, predictions, o);
  if (name == "CategoricalCrossentropy") {
    return categorical_crossentropy(targets, predictions, o);
  }
  return sparse_categorical_crossentropy(targets, predictions, o);
}

TEST(Losses, ValuesAndGradientsAreKeras) {
  for (const json& c : testing::reference("losses")) {
    const std::string name = c["loss"];
    SCOPED_TRACE(name + " " + c["options"].dump());
    const Tensor predictions = testing::to_tensor(c["predictions"]);
    GradientTape tape;
    tape.watch(predictions);
    const Tensor value = compute(name, c, predictions);
    expect_equal(value, c["value"], 1e-5, "value");
    const Tensor total = reduce_sum(value);
    expect_equal(tape.gradient(total, predictions), c["gradient"], 1e-5, "gradient");
  }
}

TEST(Losses, ShapesThatDoNotFitAreRefused) {
  const Tensor a = constant({{1.f, 2.f}}), b = constant({{1.f, 2.f, 3.f}});
  EXPECT_THROW(mean_squared_error(a, b), ValueError);
  EXPECT_THROW(categorical_crossentropy(a, b), ValueError);
  EXPECT_THROW(
      sparse_categorical_crossentropy(constant({0}), b, {.label_smoothing = 0.1}),
      ValueError);
  EXPECT_THROW(sparse_categorical_crossentropy(constant({3}), b).wait(),
               InvalidArgumentError);
}

}  // namespace
}  // namespace tandem
