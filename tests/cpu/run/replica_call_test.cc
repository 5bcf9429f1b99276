// Replicas inside compiled functions: a step over two devices gives what one device gives
// with the whole batch, gradients pass through, variables keep a copy per replica.
#include "run/replica_call.h"

#include <gtest/gtest.h>

#include "tandem/ops/collective.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using Tensors = std::vector<Tensor>;
constexpr CollectiveAttrs kTwo{.replicas = 2};

// Two GPUs where they are (the emulated variant), else the CPU twice.
std::vector<std::string> devices() {
  return config::list_logical_devices("GPU").size() >= 2
             ? std::vector<std::string>{"/device:GPU:0", "/device:GPU:1"}
             : std::vector<std::string>{"/device:CPU:0", "/device:CPU:0"};
}

struct Mirrored {
  explicit Mirrored(const Tensor& initial) {
    for (const std::string& device : devices()) {
      const DeviceScope scope(device);
      copies.emplace_back(initial);
    }
  }
  Variable& operator*() { return copies[0]; }
  std::vector<Variable> copies;
};

FindCopies copies_among(const std::vector<Mirrored*>& variables) {
  return [variables](const Tensor& handle) {
    Tensors found;
    for (const Mirrored* m : variables) {
      if (!m->copies[0].handle().is(handle)) continue;
      for (const Variable& v : m->copies) found.push_back(v.handle());
    }
    return found;
  };
}

void expect_close(const Tensor& a, const Tensor& b) {
  const auto x = a.to_vector<float>(), y = b.to_vector<float>();
  ASSERT_EQ(x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 1e-5f) << i;
}

TEST(ReplicaCall, AStepGivesWhatOneDeviceGives) {
  const Tensor x = random::stateless_normal(Shape{8, 3}, {1, 2});
  const Tensor y = random::stateless_normal(Shape{8, 1}, {3, 4});
  const Tensor initial = random::stateless_normal(Shape{3, 1}, {5, 6});
  Variable alone(initial);
  Mirrored weights(initial);

  const auto loss_of = [](Variable& w, const Tensor& in, const Tensor& wanted) {
    return reduce_sum(square(matmul(in, w.read()) - wanted)) / 8.f;
  };
  const auto step_alone = function([&](const Tensor& in, const Tensor& wanted) {
    GradientTape tape;
    const Tensor loss = loss_of(alone, in, wanted);
    alone.assign_sub(tape.gradient(loss, alone) * 0.1f);
    return loss;
  });
  const auto step = function([&](const Tensor& in, const Tensor& wanted) {
    const Tensors xs = split(in, {.num = 2}), ys = split(wanted, {.num = 2});
    const auto losses = call_replicas(
        devices(), copies_among({&weights}), {{xs[0], ys[0]}, {xs[1], ys[1]}},
        [&](const Tensors& a) {
          GradientTape tape;
          const Tensor loss = loss_of(*weights, a[0], a[1]);
          (*weights).assign_sub(all_reduce(tape.gradient(loss, *weights), kTwo) * 0.1f);
          return Tensors{loss};
        });
    return losses[0][0] + losses[1][0];
  });
  for (int i = 0; i < 5; ++i) expect_close(step(x, y), step_alone(x, y));
  EXPECT_EQ(weights.copies[0].read().to_vector<float>(),
            weights.copies[1].read().to_vector<float>());
  expect_close(weights.copies[1].read(), alone.read());
  EXPECT_EQ(step.tracing_count(), 1);
}

TEST(ReplicaCall, ATapeOutsideSeesThroughIt) {
  const auto f = function([&](const Tensor& a, const Tensor& b) {
    GradientTape tape;
    tape.watch(a);
    tape.watch(b);
    const auto out = call_replicas(
        devices(), [](const Tensor&) { return Tensors{}; }, {{a}, {b}},
        [](const Tensors& v) {
          return Tensors{all_reduce(square(v[0]), kTwo) *
                         cast(replica_id(kTwo) + 1, float32)};
        });
    const auto [of_a, of_b] = tape.gradient(out[0][0] + out[1][0], {a, b});
    return Tensors{of_a, of_b};
  });
  const Tensors g = f(constant(3.f), constant(5.f));  // 3 (a² + b²)
  EXPECT_EQ(g[0].to_vector<float>(), (std::vector<float>{18}));
  EXPECT_EQ(g[1].to_vector<float>(), (std::vector<float>{30}));
}

TEST(ReplicaCall, ReplicasMayHaveDifferentSizes) {
  const auto f = function([&](const Tensor& a, const Tensor& b) {
    const auto out = call_replicas(
        devices(), [](const Tensor&) { return Tensors{}; }, {{a}, {b}},
        [](const Tensors& v) { return Tensors{reduce_sum(v[0]), v[0] * 2.f}; });
    return Tensors{out[0][0], out[1][0], out[1][1]};
  });
  const Tensors out = f(constant({1.f, 2.f, 3.f}), constant({4.f}));
  EXPECT_EQ(out[0].to_vector<float>(), (std::vector<float>{6}));
  EXPECT_EQ(out[1].to_vector<float>(), (std::vector<float>{4}));
  EXPECT_EQ(out[2].to_vector<float>(), (std::vector<float>{8}));
}

TEST(ReplicaCall, ArgumentsMustFitEachOther) {
  const auto call = [](const std::vector<Tensors>& arguments) {
    return function([&](const Tensor& a) {
      call_replicas(
          devices(), [](const Tensor&) { return Tensors{}; }, arguments,
          [](const Tensors& v) { return v; });
      return a;
    })(constant(1.f));
  };
  EXPECT_THROW(call({{constant(1.f)}}), InvalidArgumentError);
  EXPECT_THROW(call({{constant(1.f)}, {}}), InvalidArgumentError);
  EXPECT_THROW(call({{constant(1.f)}, {constant(1)}}), InvalidArgumentError);
}

}  // namespace
}  // namespace tandem
