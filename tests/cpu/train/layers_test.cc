// Outputs, gradients and state of layers against Keras.
#include "reference.h"
#include "tandem/train.h"

namespace tandem {
namespace {

using namespace layers;
using testing::expect_equal;
using testing::json;

/// A layer by its reference: how it is called, what gradients reach, all it keeps.
struct Built {
  std::function<Tensor(const Tensor&)> call;
  std::vector<Variable> trainable;
  std::vector<Variable> state;  // in Keras's order of weights
};

Built build(const std::string& name, const json& c) {
  const json& facts = c["facts"];
  const Shape x = testing::shape_of(c["inputs"]);
  const auto weight = [&](size_t i) { return testing::shape_of(c["weights"][i]); };
  const Activation activation =
      facts.value("relu", false) ? Activation(nn::relu) : Activation();
  const bool use_bias = facts.value("bias", true);
  const auto simple = [](const auto& layer) {
    return Built{[layer](const Tensor& t) { return layer(t); }, layer.variables(),
                 layer.variables()};
  };
  if (name == "Dense") {
    return simple(
        Dense(x.dim(-1), weight(0)[1], {.activation = activation, .use_bias = use_bias}));
  }
  if (name == "Conv2D") {
    const Shape k = weight(0);
    return simple(Conv2D(
        x.dim(-1), k[3], {k[0], k[1]},
        {.strides = {facts.value("stride", 1)},
         .padding = facts.value("same", false) ? nn::Padding::kSame : nn::Padding::kValid,
         .groups = facts.value("groups", 1),
         .activation = activation,
         .use_bias = use_bias}));
  }
  if (name == "BatchNorm") {
    const BatchNorm layer(x.dim(-1), {.momentum = facts.value("momentum", 0.99),
                                      .epsilon = facts.value("epsilon", 1e-3)});
    const bool training = facts["training"];
    return {[=](const Tensor& t) { return layer(t, training); }, layer.variables(),
            layer.state()};
  }
  if (name == "LayerNorm") {
    return simple(LayerNorm(x.dim(-1), {.epsilon = facts.value("epsilon", 1e-3)}));
  }
  if (name == "LSTM") {
    return simple(LSTM(x.dim(-1), weight(1)[0],
                       {.return_sequences = facts.value("sequences", false),
                        .go_backwards = facts.value("backwards", false)}));
  }
  if (name == "Embedding") return simple(Embedding(weight(0)[0], weight(0)[1]));
  const MultiHeadAttention layer(x.dim(-1), {.heads = facts["heads"],
                                             .key_size = facts["key_size"],
                                             .value_size = facts.value("value_size", 0),
                                             .use_bias = use_bias});
  const bool causal = facts.value("causal", false);
  return {[=](const Tensor& t) { return layer(t, {.causal = causal}); },
          layer.variables(), layer.variables()};
}

TEST(Layers, OutputsGradientsAndStateAreKeras) {
  for (const json& c : testing::reference("layers")) {
    const std::string name = c["layer"];
    SCOPED_TRACE(name + " " + c["facts"].dump());
    Built layer = build(name, c);
    ASSERT_EQ(layer.state.size(), c["weights"].size());
    for (size_t i = 0; i < layer.state.size(); ++i) {
      ASSERT_EQ(layer.state[i].shape(), testing::shape_of(c["weights"][i])) << i;
      layer.state[i].assign(testing::to_tensor(c["weights"][i]));
    }
    const Tensor x = testing::to_tensor(c["inputs"]);
    GradientTape tape;
    if (is_floating(x.dtype())) tape.watch(x);
    const Tensor y = layer.call(x);
    expect_equal(y, c["output"], 1e-5, "output");
    const Tensor along = reshape(cast(range(y.num_elements()), float32) * 0.1, y.shape());
    std::vector<Source> sources(layer.trainable.begin(), layer.trainable.end());
    if (is_floating(x.dtype())) sources.emplace_back(x);
    const Tensor target = reduce_sum(y * along);
    const auto gradients = tape.gradient(std::span(&target, 1), sources);
    ASSERT_EQ(gradients.size(), c["gradients"].size());
    for (size_t i = 0; i < gradients.size(); ++i) {
      expect_equal(gradients[i], c["gradients"][i], 1e-4,
                   "gradient " + std::to_string(i));
    }
    for (size_t i = 0; i < layer.state.size(); ++i) {
      expect_equal(layer.state[i], c["weights_after"][i], 1e-5, layer.state[i].name());
    }
  }
}

TEST(Layers, ACopyIsTheSameLayer) {
  Dense a(2, 1, {.seed = 3});
  const Dense b = a;
  a.kernel.assign(constant({{1.f}, {2.f}}));
  EXPECT_EQ(b(constant({{3.f, 4.f}})).item<float>(), 11.f);
}

TEST(Layers, LstmForgetBiasStartsAtOne) {
  const LSTM lstm(2, 2, {.seed = 1});
  EXPECT_EQ(lstm.bias.read().to_vector<float>(),
            (std::vector<float>{0, 0, 1, 1, 0, 0, 0, 0}));
}

TEST(Layers, MaskKeepsTheState) {
  const LSTM lstm(2, 3, {.seed = 1});
  const Tensor x = random::stateless_normal({1, 4, 2}, {1, 2});
  const Tensor mask = constant(std::vector<bool>{true, true, false, false}, {1, 4});
  const Tensor head = slice(x, {0, 0, 0}, {1, 2, 2});
  EXPECT_EQ(lstm(x, mask).to_vector<float>(), lstm(head).to_vector<float>());
}

TEST(Layers, RefuseSizesThatDoNotFit) {
  EXPECT_THROW(Conv2D(3, 4, {3, 3}, {.groups = 2}), ValueError);
  EXPECT_THROW(MultiHeadAttention(4, {.heads = 2}), ValueError);
}

}  // namespace
}  // namespace tandem
