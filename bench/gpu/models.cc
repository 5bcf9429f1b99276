#include "models.h"

#include <memory>

#include "tandem/train.h"

namespace bench::gpu {

namespace td = tandem;
using step::Block;
using step::BlockOptions;
using step::ConvNorm;
using step::Model;
using td::Tensor;
namespace layers = td::layers;

namespace {

// ---- GPT-2 -------------------------------------------------------------------------

struct Gpt2Size {
  int64_t features = 768, heads = 12, blocks = 12, time = 1024;
  /// 50,257 and what is missing to a multiple of 64, as is usual: products over odd
  /// sizes are slow on tensor cores, for everybody.
  int64_t vocabulary = 50304;
};

/// The next token's logits in float32 for every position, [batch * time, vocabulary].
/// Variables are float32, the rest is computed in `compute`; the table of tokens is
/// that of the last product too.
Model gpt2(const Gpt2Size& size, td::DType compute) {
  constexpr double kEpsilon = 1e-5;
  const layers::Embedding tokens(size.vocabulary, size.features);
  const td::Variable positions(td::zeros({size.time, size.features}));
  std::vector<Block> blocks;
  std::vector<std::vector<td::Variable>> lists = {tokens.variables(), {positions}};
  for (int64_t i = 0; i < size.blocks; ++i) {
    blocks.emplace_back(BlockOptions{
        .features = size.features,
        .heads = size.heads,
        .feed_forward = 4 * size.features,
        .activation = [](const Tensor& x) { return td::nn::gelu(x, {true}); },
        .causal = true,
        .epsilon = kEpsilon});
    lists.push_back(blocks.back().variables());
  }
  const layers::LayerNorm norm(size.features, {.epsilon = kEpsilon});
  lists.push_back(norm.variables());
  return {[=](const Tensor& ids) {
            Tensor x = td::cast(tokens(ids) + positions, compute);
            for (const Block& b : blocks) x = b(x);
            const Tensor rows = td::reshape(norm(x), {-1, size.features});
            const Tensor table = td::cast(tokens.table, compute);
            return td::cast(td::matmul(rows, table, {.transpose_b = true}), td::float32);
          },
          layers::join_variables(lists)};
}

// ---- ResNet-50 ---------------------------------------------------------------------

struct Resnet50Size {
  int64_t width = 64;  // channels after the stem
  std::vector<int64_t> blocks = {3, 4, 6, 3};
  int64_t classes = 1000;
};

/// 1×1, 3×3 with the stride, 1×1 to four times the width.
struct Bottleneck {
  ConvNorm first, second, third;
  std::shared_ptr<const ConvNorm> shortcut;  // null: the input itself

  Bottleneck(int64_t inputs, int64_t width, int64_t stride)
      : first(inputs, width, 1, 1),
        second(width, width, 3, stride),
        third(width, 4 * width, 1, 1) {
    if (stride != 1 || inputs != 4 * width) {
      shortcut = std::make_shared<ConvNorm>(inputs, 4 * width, 1, stride);
    }
  }
  Tensor operator()(const Tensor& x) const {
    const Tensor y = third(td::nn::relu(second(td::nn::relu(first(x)))));
    return td::nn::relu(y + (shortcut ? (*shortcut)(x) : x));
  }
  std::vector<td::Variable> variables() const {
    auto all = layers::join_variables(
        {first.variables(), second.variables(), third.variables()});
    return shortcut ? layers::join_variables({all, shortcut->variables()}) : all;
  }
};

Model resnet50(const Resnet50Size& size, td::DType compute) {
  const ConvNorm stem(3, size.width, 7, 2);
  std::vector<Bottleneck> blocks;
  std::vector<std::vector<td::Variable>> lists = {stem.variables()};
  int64_t channels = size.width;
  for (size_t stage = 0; stage < size.blocks.size(); ++stage) {
    const int64_t width = size.width << stage;
    for (int64_t i = 0; i < size.blocks[stage]; ++i) {
      blocks.emplace_back(channels, width, stage && i == 0 ? 2 : 1);
      lists.push_back(blocks.back().variables());
      channels = 4 * width;
    }
  }
  const layers::Dense last(channels, size.classes);
  lists.push_back(last.variables());
  return {[=](const Tensor& images) {
            Tensor x = step::stem_pool(td::nn::relu(stem(td::cast(images, compute))));
            for (const Bottleneck& b : blocks) x = b(x);
            // Few numbers are left: the mean and the logits are worth full precision.
            return last(td::reduce_mean(td::cast(x, td::float32), {.axis = {1, 2}}));
          },
          layers::join_variables(lists)};
}

}  // namespace

std::vector<step::ModelCase> large_cases(bool small) {
  const step::TransformerSize transformer =
      small ? step::TransformerSize{.block = {.features = 64,
                                              .heads = 8,
                                              .feed_forward = 256},
                                    .blocks = 2,
                                    .time = 16}
            : step::TransformerSize{
                  .block = {.features = 512, .heads = 8, .feed_forward = 2048},
                  .blocks = 8};
  const Gpt2Size gpt = small ? Gpt2Size{.features = 64,
                                        .heads = 4,
                                        .blocks = 2,
                                        .time = 32,
                                        .vocabulary = 512}
                             : Gpt2Size{};
  const Resnet50Size resnet =
      small ? Resnet50Size{.width = 16, .blocks = {1, 2, 1, 1}, .classes = 10}
            : Resnet50Size{};
  const td::Shape sequences{small ? 2 : 8, gpt.time};
  const td::Shape images = small ? td::Shape{8, 64, 64, 3} : td::Shape{128, 224, 224, 3};
  return {
      {"transformer_512_b8",
       [=] { return step::transformer(transformer); },
       {small ? 2 : 8, transformer.time},
       transformer.vocabulary},
      {"gpt2_b8_bf16", [=] { return gpt2(gpt, td::bf16); }, sequences, gpt.vocabulary,
       1e-4, gpt.vocabulary, true},
      {"resnet50_b128_tf32", [=] { return resnet50(resnet, td::float32); }, images, 0,
       1e-5, resnet.classes},
      {"resnet50_b128_bf16", [=] { return resnet50(resnet, td::bf16); }, images, 0, 1e-5,
       resnet.classes},
  };
}

}  // namespace bench::gpu
