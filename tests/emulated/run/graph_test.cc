// Random programs over several devices give what the CPU alone gives: emulated GPUs run
// the same kernels, so every difference is a fault of copies, order or memory.
#include <random>

#include "emulated/run/gpu.h"

namespace tandem {
namespace {

using testing::Floats;
using testing::floats;

struct Step {
  int op;
  size_t a, b;
  int device;  // 0: CPU, else GPU
  bool drop;   // the first operand is forgotten afterwards
};

std::vector<Step> make_program(uint32_t seed, size_t inputs, size_t steps) {
  std::mt19937 random(seed);
  std::vector<Step> program;
  for (size_t i = 0; i < steps; ++i) {
    const auto tensors = static_cast<uint32_t>(inputs + i);
    program.push_back({static_cast<int>(random() % 7), random() % tensors,
                       random() % tensors, static_cast<int>(random() % 3),
                       random() % 4 == 0});
  }
  return program;
}

Tensor run_step(int op, const Tensor& a, const Tensor& b) {
  switch (op) {
    case 0:
      return a + b;
    case 1:
      return a * 0.5f - b;
    case 2:
      return matmul(a, b) * 0.125f;
    case 3:
      return transpose(a);
    case 4:
      return concat({slice(a, {4, 0}, {4, 8}), slice(b, {0, 0}, {4, 8})}, {.axis = 0});
    case 5:
      return reshape(reshape(a, Shape{64}) + reshape(b, Shape{64}), Shape{8, 8});
    default:
      return maximum(a, reshape(slice(b, {3, 0}, {1, 8}), Shape{8}));
  }
}

std::vector<Floats> run(const std::vector<Step>& program, size_t inputs, bool spread) {
  static const char* const kDevices[] = {"/CPU:0", "/GPU:0", "/GPU:1"};
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < inputs; ++i) {
    const DeviceScope scope(spread ? kDevices[i % 3] : "/CPU:0");
    tensors.push_back(random::stateless_uniform({8, 8}, {static_cast<int64_t>(i), 3}));
  }
  std::vector<Tensor> first = tensors;  // what a dropped tensor is replaced by
  for (const Step& s : program) {
    const DeviceScope scope(spread ? kDevices[s.device] : "/CPU:0");
    tensors.push_back(run_step(s.op, tensors[s.a], tensors[s.b]));
    if (s.drop) tensors[s.a] = first[s.a % inputs];
  }
  std::vector<Floats> results;
  for (const Tensor& t : tensors) results.push_back(floats(t));
  return results;
}

class RandomPrograms : public ::testing::TestWithParam<uint32_t> {};

TEST_P(RandomPrograms, GiveTheSameOnOneDeviceAndOnThree) {
  const std::vector<Step> program = make_program(GetParam(), 4, 60);
  const std::vector<Floats> expected = run(program, 4, false);
  const std::vector<Floats> got = run(program, 4, true);
  for (size_t i = 0; i < expected.size(); ++i) {
    for (size_t k = 0; k < expected[i].size(); ++k) {
      // matmul may block its sums by the number of threads a device has.
      ASSERT_NEAR(got[i][k], expected[i][k], 1e-4f * (1 + std::abs(expected[i][k])))
          << "tensor " << i << ", element " << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, ::testing::Range(1u, 13u));

}  // namespace
}  // namespace tandem
