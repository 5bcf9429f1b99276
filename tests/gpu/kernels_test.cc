// Kernels on a real GPU against the CPU, at sizes that take several blocks of threads.
#include <cmath>

#include "gpu/gpu.h"
#include "tandem/ops/image.h"
#include "tandem/ops/nn_ctc.h"
#include "tandem/ops/nn_image.h"
#include "tandem/ops/random_parameters.h"
#include "tandem/ops/signal.h"

namespace tandem::testing {
namespace {

using CudaKernels = GpuTest;

constexpr random::Seed2 kSeed{11, 1234567890123};

template <class F>
void expect_cpus_floats(const F& body, float tolerance) {
  const Floats cpu = floats(on("/CPU:0", body)), gpu = floats(on("/GPU:0", body));
  ASSERT_EQ(cpu.size(), gpu.size());
  for (size_t i = 0; i < cpu.size(); ++i) {
    ASSERT_NEAR(gpu[i], cpu[i], tolerance * std::max(1.0f, std::abs(cpu[i]))) << i;
  }
}
template <class F>
void expect_cpus_ints(const F& body) {
  EXPECT_EQ(on("/GPU:0", body).template to_vector<int64_t>(),
            on("/CPU:0", body).template to_vector<int64_t>());
}

random::KeyCounter state() { return random::next_state("sampler test", 5, 1); }

TEST_F(CudaKernels, RejectingSamplersDrawTheCpusNumbers) {
  const Tensor alpha = constant(Floats{0.3f, 1.0f, 2.5f, 70.0f});
  expect_cpus_floats([&] { return random::stateless_gamma({3000, 4}, kSeed, alpha); },
                     1e-5f);
  const random::KeyCounter at = state();
  const Tensor means = abs(random::stateless_normal({5000}, kSeed)) * 12.0f;
  expect_cpus_floats([&] { return random::stateless_poisson(at, means); }, 0.0f);
  const Tensor parts = random::stateless_uniform({5000}, kSeed);
  expect_cpus_floats(
      [&] { return random::stateless_binomial(at, floor(means * 9.0f), parts); }, 0.0f);
  const Tensor zero = zeros_like(means), one = ones_like(means);
  expect_cpus_floats(
      [&] {
        return random::stateless_bounded_normal(at, zero, one, means - 6.0f,
                                                means - 5.0f + parts);
      },
      1e-5f);
}

TEST_F(CudaKernels, ClassesAreTheCpus) {
  for (const int64_t classes : {2, 100, 1000, 50001}) {
    const Tensor logits = random::stateless_normal({7, classes}, kSeed) * 3.0f;
    expect_cpus_ints([&] { return random::stateless_categorical(logits, 33, kSeed); });
  }
}

TEST_F(CudaKernels, AShuffleIsTheCpus) {
  for (const int64_t rows : {1, 2, 3, 64, 1000, 100003}) {
    const Tensor x = reshape(range(0, 3 * rows, 1, DType::kInt64), Shape{rows, 3});
    expect_cpus_ints([&] { return random::stateless_shuffle(x, kSeed); });
  }
}

TEST_F(CudaKernels, ResizesAndTheirGradientsAreTheCpus) {
  const Tensor image = random::stateless_uniform({3, 61, 47, 5}, kSeed);
  for (const auto& [height, width] : {std::pair{200, 13}, std::pair{17, 320}}) {
    const Tensor size = constant(std::vector<int32_t>{height, width});
    const auto with_gradient = [&](auto resize) {
      expect_cpus_floats(
          [&] {
            GradientTape tape;
            tape.watch(image);
            const Tensor y = resize();
            const Tensor loss = reduce_sum(y * y);
            return concat({reshape(y, {-1}),
                           reshape(tape.gradient(loss, {image})[0].dense(), {-1})},
                          {.axis = 0});
          },
          2e-4f);
    };
    with_gradient([&] { return nn::resize_bilinear(image, size); });
    with_gradient(
        [&] { return nn::resize_bilinear(image, size, {.align_corners = true}); });
    with_gradient([&] { return nn::resize_nearest_neighbor(image, size); });
    const Tensor scale =
        constant(Floats{static_cast<float>(height) / 61, static_cast<float>(width) / 47});
    const Tensor shift = constant(Floats{1.5f, -2.25f});
    with_gradient([&] {
      return image::scale_and_translate(image, size, scale, shift,
                                        {.kernel_type = "lanczos5"});
    });
  }
}

TEST_F(CudaKernels, TransformsAreTheCpus) {
  // 37 and 127 are prime; 127 is filled up, 64 cut off.
  const Tensor x = random::stateless_normal({3, 37, 100}, kSeed);
  for (const int width : {64, 100, 127}) {
    expect_cpus_floats(
        [&] {
          const Tensor size = constant(std::vector<int32_t>{37, width});
          return signal::irfft(signal::rfft(x, size, 2), size, 2);
        },
        1e-4f);
  }
}

// More states than threads, labels that come again, lengths that differ.
TEST_F(CudaKernels, CtcLossesAndTheirGradientsAreTheCpus) {
  constexpr int64_t kTime = 330, kBatch = 3, kWidth = 150, kClasses = 40;
  const Tensor logits = random::stateless_normal({kTime, kBatch, kClasses}, kSeed);
  std::vector<int32_t> labels(static_cast<size_t>(kBatch * kWidth));
  for (size_t i = 0; i < labels.size(); ++i) {
    labels[i] = static_cast<int32_t>(1 + i * i % (kClasses - 1));
  }
  const Tensor wanted = reshape(constant(labels), Shape{kBatch, kWidth});
  const Tensor steps = constant(std::vector<int32_t>{330, 200, 0});
  const Tensor lengths = constant(std::vector<int32_t>{150, 3, 0});
  expect_cpus_floats(
      [&] {
        GradientTape tape;
        tape.watch(logits);
        const Tensor loss = nn::ctc_loss(logits, wanted, steps, lengths);
        return concat(
            {loss, reshape(tape.gradient(reduce_sum(loss), {logits})[0].dense(), {-1})},
            {.axis = 0});
      },
      1e-4f);
}

}  // namespace
}  // namespace tandem::testing
