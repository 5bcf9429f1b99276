#include "models.h"

#include <memory>

namespace bench::step {

namespace td = tandem;
using td::Tensor;

namespace {

Model mlp(int64_t inputs, int64_t hidden) {
  const layers::Dense first(inputs, hidden, {.activation = td::nn::relu});
  const layers::Dense last(hidden, kClasses);
  return {[=](const Tensor& x) { return last(first(x)); },
          layers::join_variables({first.variables(), last.variables()})};
}

Model cnn() {
  const layers::Conv2D conv(3, 32, {3, 3}, {.activation = td::nn::relu});
  const layers::Dense last(26 * 26 * 32, kClasses);
  return {[=](const Tensor& x) { return last(td::reshape(conv(x), {-1, 26 * 26 * 32})); },
          layers::join_variables({conv.variables(), last.variables()})};
}

Model lstm() {
  const layers::LSTM first(32, 128, {.return_sequences = true});
  const layers::LSTM second(128, 128);
  const layers::Dense last(128, kClasses);
  return {
      [=](const Tensor& x) { return last(second(first(x))); },
      layers::join_variables({first.variables(), second.variables(), last.variables()})};
}

// ---- ResNet-18 ---------------------------------------------------------------------

struct Residual {
  ConvNorm first, second;
  std::shared_ptr<const ConvNorm> shortcut;  // null: the input itself

  Residual(int64_t inputs, int64_t filters, int64_t stride)
      : first(inputs, filters, 3, stride), second(filters, filters, 3, 1) {
    if (stride != 1 || inputs != filters) {
      shortcut = std::make_shared<ConvNorm>(inputs, filters, 1, stride);
    }
  }
  Tensor operator()(const Tensor& x) const {
    const Tensor y = second(td::nn::relu(first(x)));
    return td::nn::relu(y + (shortcut ? (*shortcut)(x) : x));
  }
  std::vector<td::Variable> variables() const {
    auto all = layers::join_variables({first.variables(), second.variables()});
    return shortcut ? layers::join_variables({all, shortcut->variables()}) : all;
  }
};

Model resnet18() {
  const ConvNorm stem(3, 64, 7, 2);
  std::vector<Residual> blocks;
  std::vector<std::vector<td::Variable>> lists = {stem.variables()};
  int64_t channels = 64;
  for (int64_t filters : {64, 128, 256, 512}) {
    blocks.emplace_back(channels, filters, filters == 64 ? 1 : 2);
    blocks.emplace_back(filters, filters, 1);
    channels = filters;
  }
  for (const Residual& b : blocks) lists.push_back(b.variables());
  const layers::Dense last(512, kClasses);
  lists.push_back(last.variables());
  return {[=](const Tensor& images) {
            Tensor x = stem_pool(td::nn::relu(stem(images)));
            for (const Residual& b : blocks) x = b(x);
            return last(td::reduce_mean(x, {.axis = {1, 2}}));
          },
          layers::join_variables(lists)};
}

}  // namespace

Model transformer(const TransformerSize& size) {
  const layers::Embedding embedding(size.vocabulary, size.block.features);
  const td::Variable positions(td::zeros({size.time, size.block.features}));
  std::vector<Block> blocks;
  std::vector<std::vector<td::Variable>> lists = {embedding.variables(), {positions}};
  for (int64_t i = 0; i < size.blocks; ++i) {
    blocks.emplace_back(size.block);
    lists.push_back(blocks.back().variables());
  }
  const layers::LayerNorm norm(size.block.features);
  const layers::Dense last(size.block.features, kClasses);
  lists.push_back(norm.variables());
  lists.push_back(last.variables());
  return {[=](const Tensor& ids) {
            Tensor x = embedding(ids) + positions;
            for (const Block& b : blocks) x = b(x);
            return last(td::reduce_mean(norm(x), {.axis = {1}}));
          },
          layers::join_variables(lists)};
}

const std::vector<ModelCase>& model_cases() {
  static const TransformerSize small;
  static const std::vector<ModelCase> cases = {
      {"mlp_100_64_b32", [] { return mlp(100, 64); }, {32, 100}},
      {"mlp_100_64_b1024", [] { return mlp(100, 64); }, {1024, 100}},
      {"mlp_784_128_b32", [] { return mlp(784, 128); }, {32, 784}},
      {"mlp_784_128_b1024", [] { return mlp(784, 128); }, {1024, 784}},
      {"cnn_b64", cnn, {64, 28, 28, 3}},
      {"lstm_b32", lstm, {32, 64, 32}},
      {"transformer_b8",
       [] { return transformer(small); },
       {8, small.time},
       small.vocabulary},
      {"resnet18_b16", resnet18, {16, 64, 64, 3}, 0, 1e-5},
  };
  return cases;
}

}  // namespace bench::step
