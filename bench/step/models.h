// The models of `make bench-step`, written once with the train library. cases.py has the
// same for the peers: the order, shapes and first values of variables agree.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "blocks.h"

namespace bench::step {

inline constexpr int64_t kClasses = 10;

struct Model {
  std::function<tandem::Tensor(const tandem::Tensor& x)> logits;
  /// What is trained. Those of rank 2 and more start from random numbers that every
  /// worker makes in the same way.
  std::vector<tandem::Variable> variables;
};

struct ModelCase {
  std::string name;
  std::function<Model()> make;
  tandem::Shape input;  // with the batch
  int64_t tokens = 0;   // inputs are integers below it; 0: numbers in [-1, 1)
  /// Learning rate of the first steps, whose losses are compared: large enough that a
  /// wrong update shows, small enough that rounding does not.
  double check_rate = 1e-4;
  int64_t classes = kClasses;
  bool label_per_token = false;  // else one for each sample
};

struct TransformerSize {
  BlockOptions block = {};
  int64_t blocks = 4, time = 128, vocabulary = 1000;
};
/// Classifies sequences of `time` tokens.
Model transformer(const TransformerSize& size);

const std::vector<ModelCase>& model_cases();

}  // namespace bench::step
