// Functions of the nn family that no case of a single op covers, and errors with
// TensorFlow's key phrases.
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "tandem/tandem.h"

namespace tandem {
namespace {

Tensor counted(const Shape& shape, double scale = 0.25) {
  std::vector<float> v(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < v.size(); ++i) {
    v[i] = static_cast<float>(scale * std::sin(static_cast<double>(i * i % 17)));
  }
  return constant(v, shape);
}

void expect_near(const Tensor& a, const Tensor& b, double tolerance = 1e-5) {
  ASSERT_EQ(a.shape(), b.shape());
  const std::vector<float> x = a.to_vector<float>(), y = b.to_vector<float>();
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_NEAR(x[i], y[i], tolerance) << "element " << i;
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InvalidArgumentError& e) {
    return e.what();
  }
  return "no InvalidArgumentError";
}
#define EXPECT_MESSAGE(call, phrase)                               \
  do {                                                             \
    const std::string message = message_of([&] { (void)(call); }); \
    EXPECT_NE(message.find(phrase), std::string::npos) << message; \
  } while (false)

TEST(NnFunctions, Conv1dIsConv2dOfHeightOne) {
  const Tensor x = counted({2, 9, 3}), w = counted({3, 3, 4});
  const Tensor wide = nn::conv2d(reshape(x, {2, 1, 9, 3}), reshape(w, {1, 3, 3, 4}),
                                 {.strides = {1, 2}, .padding = nn::Padding::kSame});
  expect_near(nn::conv1d(x, w, {.strides = {2}, .padding = nn::Padding::kSame}),
              reshape(wide, {2, 5, 4}));
  expect_near(
      nn::convolution(x, w, {.strides = {1, 2, 1}, .padding = nn::Padding::kSame}),
      reshape(wide, {2, 5, 4}));
  // Channels first, with explicit padding.
  const Tensor first = nn::conv1d(transpose(x, {{0, 2, 1}}), w,
                                  {.padding = nn::Padding::kExplicit,
                                   .explicit_paddings = {0, 0, 0, 0, 2, 1},
                                   .data_format = nn::DataFormat::kNCW});
  const Tensor last = nn::conv1d(
      x, w, {.padding = nn::Padding::kExplicit, .explicit_paddings = {0, 0, 2, 1, 0, 0}});
  expect_near(first, transpose(last, {{0, 2, 1}}));
}

TEST(NnFunctions, TransposedConvolutionsReverseShapes) {
  const Tensor y = counted({2, 3, 4, 5}), w = counted({3, 3, 2, 5});
  const nn::ConvAttrs attrs{.strides = {2}, .padding = nn::Padding::kSame};
  const Tensor x = nn::conv2d_transpose(y, w, {2, 6, 8, 2}, attrs);
  EXPECT_EQ(x.shape(), (Shape{2, 6, 8, 2}));
  // <conv(a), y> = <a, conv_transpose(y)>
  const Tensor a = counted({2, 6, 8, 2}, 1);
  EXPECT_NEAR(reduce_sum(nn::conv2d(a, w, attrs) * y).item<float>(),
              reduce_sum(a * x).item<float>(), 1e-3);
  EXPECT_EQ(nn::conv1d_transpose(counted({1, 4, 3}), counted({2, 5, 3}), {1, 8, 5},
                                 {.strides = {2}})
                .shape(),
            (Shape{1, 8, 5}));
}

TEST(NnFunctions, SeparableIsDepthwiseThenPointwise) {
  const Tensor x = counted({1, 5, 5, 3}), d = counted({3, 3, 3, 2}),
               p = counted({1, 1, 6, 4});
  expect_near(nn::separable_conv2d(x, d, p, {.padding = nn::Padding::kSame}),
              nn::conv2d(nn::depthwise_conv2d(x, d, {.padding = nn::Padding::kSame}), p));
}

TEST(NnFunctions, CrossEntropiesTakeAnyRankAndAxis) {
  const Tensor logits = counted({2, 3, 4}, 2), labels = nn::softmax(counted({2, 3, 4}));
  const Tensor flat =
      nn::softmax_cross_entropy(reshape(labels, {6, 4}), reshape(logits, {6, 4}));
  expect_near(nn::softmax_cross_entropy(labels, logits), reshape(flat, {2, 3}));
  expect_near(nn::softmax_cross_entropy(transpose(labels, {{0, 2, 1}}),
                                        transpose(logits, {{0, 2, 1}}), {1}),
              reshape(flat, {2, 3}));
  const Tensor classes = constant(std::vector<int64_t>{0, 1, 2, 3, 0, 1}, {2, 3});
  EXPECT_EQ(nn::sparse_softmax_cross_entropy(classes, logits).shape(), (Shape{2, 3}));
}

TEST(NnFunctions, DropoutKeepsTheMean) {
  const Tensor x = ones({100, 100});
  const std::vector<float> y =
      nn::dropout(x, {.rate = 0.25, .seed = 3}).to_vector<float>();
  int64_t kept = 0;
  for (float v : y) {
    EXPECT_TRUE(v == 0 || std::abs(v - 4.0f / 3) < 1e-6);
    kept += v != 0;
  }
  EXPECT_NEAR(static_cast<double>(kept) / 1e4, 0.75, 0.03);
  // One decision per row.
  const std::vector<float> rows =
      nn::dropout(x, {.rate = 0.5, .noise_shape = {-1, 1}}).to_vector<float>();
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], rows[i / 100 * 100]);
  EXPECT_TRUE(nn::dropout(x, {.rate = 0}).is(x));
  EXPECT_EQ(nn::stateless_dropout(x, {1, 2}).to_vector<float>(),
            nn::stateless_dropout(x, {1, 2}).to_vector<float>());
  EXPECT_MESSAGE(nn::dropout(x, {.rate = 1}), "in the range [0, 1)");
}

TEST(NnFunctions, MomentsAndNormalizeMoments) {
  const Tensor x = counted({4, 3}, 2);
  const nn::Moments m = nn::moments(x, {.axis = {0}});
  const nn::Moments n = nn::normalize_moments(
      constant(4.0f), reduce_sum(x, {.axis = {0}}), reduce_sum(square(x), {.axis = {0}}));
  expect_near(m.mean, n.mean);
  expect_near(m.variance, n.variance);
  EXPECT_EQ(nn::moments(x, {.axis = {0, 1}, .keepdims = true}).mean.shape(),
            (Shape{1, 1}));
}

TEST(NnFunctions, LocalResponseNormalizationSumsOverNeighbours) {
  const Tensor x = constant(std::vector<float>{1, 2, 3}, {1, 1, 1, 3});
  const std::vector<float> y =
      nn::local_response_normalization(
          x, {.depth_radius = 1, .bias = 1, .alpha = 0.5, .beta = 0.5})
          .to_vector<float>();
  EXPECT_NEAR(y[0], 1 / std::sqrt(1 + 0.5 * 5), 1e-6);
  EXPECT_NEAR(y[1], 2 / std::sqrt(1 + 0.5 * 14), 1e-6);
  EXPECT_NEAR(y[2], 3 / std::sqrt(1 + 0.5 * 13), 1e-6);
}

TEST(NnErrors, NameOpShapesAndKeyPhrase) {
  const Tensor x = counted({2, 5, 5, 12});
  EXPECT_MESSAGE(nn::conv2d(x, counted({3, 3, 5, 4})),
                 "input depth must be evenly divisible by filter depth: 12 vs 5");
  EXPECT_MESSAGE(nn::conv2d(x, counted({8, 3, 12, 4})),
                 "Computed output size would be negative");
  EXPECT_MESSAGE(nn::conv2d(x, counted({3, 3, 12, 4}), {.strides = {2, 1, 1, 1}}),
                 "batch and depth dimensions");
  EXPECT_MESSAGE(nn::conv2d(counted({5, 5, 12}), counted({3, 3, 12, 4})),
                 "input must be 4-dimensional");
  EXPECT_MESSAGE(nn::conv2d(x, counted({3, 3, 12, 4}), {.strides = {0}}), "strides");
  EXPECT_MESSAGE(nn::max_pool2d(x, {.ksize = {9}, .strides = {1}}),
                 "Computed output size would be negative");
  EXPECT_MESSAGE(nn::bias_add(x, counted({11})), "Must provide as many biases");
  EXPECT_MESSAGE(nn::softmax(x, {4}), "axis 4 is out of range");
  EXPECT_MESSAGE(
      nn::sparse_softmax_cross_entropy(constant(std::vector<int32_t>{0, 9}),
                                       counted({2, 4})),
      "Received a label value of 9 which is outside the valid range of [0, 4)");
  EXPECT_MESSAGE(nn::softmax_cross_entropy(counted({2, 3}), counted({2, 4})),
                 "logits and labels must be broadcastable");
  EXPECT_MESSAGE(nn::fused_batch_norm(x, counted({11}), counted({12})),
                 "same number of elements");
  EXPECT_MESSAGE(nn::scaled_dot_product_attention(
                     counted({1, 2, 3, 4}), counted({1, 2, 2, 4}), counted({1, 2, 2, 4})),
                 "not a multiple");
  EXPECT_MESSAGE(nn::lstm(counted({1, 2, 3}), counted({3, 8}), counted({2, 9})),
                 "recurrent_kernel");
}

TEST(NnErrors, NextCallWorks) {
  const Tensor x = counted({1, 4, 4, 2});
  EXPECT_THROW(nn::conv2d(x, counted({9, 9, 2, 1})), InvalidArgumentError);
  EXPECT_EQ(nn::conv2d(x, counted({3, 3, 2, 1})).shape(), (Shape{1, 2, 2, 1}));
}

}  // namespace
}  // namespace tandem

#undef EXPECT_MESSAGE
