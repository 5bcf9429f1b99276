// Collectives between threads: results, gradients, order, disagreement, failures. Runs
// again with emulated GPUs, where each replica has a device of its own.
#include "tandem/ops/collective.h"

#include <atomic>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "tandem/function.h"
#include "tandem/gradient.h"
#include "tandem/replica.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using Floats = std::vector<float>;

std::string device_of(int64_t replica) {
  const auto gpus = config::list_logical_devices("GPU");
  if (gpus.empty()) return "/CPU:0";
  return gpus[static_cast<size_t>(replica) % gpus.size()].name;
}

// Runs f(replica) on n threads; gives what each threw, "" for nothing.
std::vector<std::string> run_replicas(const ReplicaGroup& group,
                                      const std::function<void(int64_t)>& f) {
  std::vector<std::string> errors(static_cast<size_t>(group.replicas()));
  std::vector<std::thread> threads;
  for (int64_t r = 0; r < group.replicas(); ++r) {
    threads.emplace_back([&, r] {
      try {
        const ReplicaScope replica(group, r);
        const DeviceScope device(device_of(r));
        f(r);
      } catch (const Error& e) {
        errors[static_cast<size_t>(r)] =
            std::string(error_class_name(e.code())) + ": " + e.what();
      }
      group.leave(r);
    });
  }
  for (std::thread& t : threads) t.join();
  return errors;
}

// Every replica gives a tensor; nobody may fail.
std::vector<Floats> together(int64_t n, const std::function<Tensor(int64_t)>& f) {
  const ReplicaGroup group("together", n);
  std::vector<Floats> results(static_cast<size_t>(n));
  const auto errors = run_replicas(group, [&](int64_t r) {
    results[static_cast<size_t>(r)] = f(r).to_vector<float>();
  });
  for (const std::string& e : errors) EXPECT_EQ(e, "");
  return results;
}

Tensor ramp(int64_t replica) {
  const auto base = static_cast<float>(10 * replica);
  return constant({base + 1, base + 2, 5 - base, base + 4});
}

TEST(Collective, EveryOpOnThreeReplicas) {
  using All = std::vector<Floats>;
  const auto all = [](const Floats& f) { return All(3, f); };
  EXPECT_EQ(together(3, [](int64_t r) { return all_reduce(ramp(r)); }),
            all({33, 36, -15, 42}));
  EXPECT_EQ(together(3,
                     [](int64_t r) {
                       return all_reduce(ramp(r), {.reduction = Reduction::kMean});
                     }),
            all({11, 12, -5, 14}));
  EXPECT_EQ(together(3,
                     [](int64_t r) {
                       return all_reduce(ramp(r), {.reduction = Reduction::kMax});
                     }),
            all({21, 22, 5, 24}));
  EXPECT_EQ(together(3,
                     [](int64_t r) {
                       return all_reduce(ramp(r), {.reduction = Reduction::kMin});
                     }),
            all({1, 2, -15, 4}));
  EXPECT_EQ(together(3, [](int64_t r) { return broadcast_from(ramp(r), {.root = 1}); }),
            all({11, 12, -5, 14}));
  EXPECT_EQ(together(3, [](int64_t r) { return reduce_to(ramp(r), {.root = 2}); }),
            (All{{0, 0, 0, 0}, {0, 0, 0, 0}, {33, 36, -15, 42}}));
  EXPECT_EQ(together(3,
                     [](int64_t r) {
                       const auto v = static_cast<float>(r);
                       return all_gather(constant({{v, v + 10}, {v + 20, v + 30}}),
                                         {.axis = -1});
                     }),
            all({0, 10, 1, 11, 2, 12, 20, 30, 21, 31, 22, 32}));
  EXPECT_EQ(together(3,
                     [](int64_t r) {
                       const auto v = static_cast<float>(r);
                       return reduce_scatter(constant({v, v * 10, v * 100}));
                     }),
            (All{{3}, {30}, {300}}));
  EXPECT_EQ(together(3, [](int64_t) { return cast(replica_id(), DType::kFloat32); }),
            (All{{0}, {1}, {2}}));
}

// The sum is that of replica 0, 1, 2, whoever comes last: these numbers tell.
TEST(Collective, SumsAddUpInTheOrderOfReplicas) {
  const float parts[] = {1e8f, -1e8f, 1.f};
  for (int64_t last = 0; last < 3; ++last) {
    std::atomic<int> before{0};
    const auto results = together(3, [&](int64_t r) {
      while (r == last && before.load() < 2) std::this_thread::yield();
      const Tensor x = constant({parts[r]});
      ++before;
      return all_reduce(x);
    });
    EXPECT_EQ(results, std::vector<Floats>(3, {1.f}));
  }
}

TEST(Collective, HalfsAddUpInFloat) {
  const auto results = together(4, [](int64_t r) {
    const Tensor x = cast(constant({r == 0 ? 2048.f : 1.f}), DType::kFloat16);
    return cast(all_reduce(x), DType::kFloat32);
  });
  // In float16 2048 + 1 is 2048; 2051 rounds to 2052.
  EXPECT_EQ(results, std::vector<Floats>(4, {2052.f}));
}

TEST(Collective, OneReplicaIsTheIdentity) {
  const Tensor x = ramp(0);
  for (const Tensor& y : {all_reduce(x), broadcast_from(x), reduce_to(x), all_gather(x),
                          reduce_scatter(x, {.reduction = Reduction::kMean})}) {
    EXPECT_EQ(y.to_vector<float>(), x.to_vector<float>());
  }
  EXPECT_EQ(replica_id().item<int32_t>(), 0);
  const ReplicaGroup alone("alone", 1);
  const ReplicaScope scope(alone, 0);
  EXPECT_EQ(all_reduce(x).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(replica_context().group, "alone");
}

TEST(Collective, ResultsLieWhereInputsDo) {
  const ReplicaGroup group("places", 2);
  const auto errors = run_replicas(group, [&](int64_t r) {
    const Tensor x = ramp(r) + 0.f;
    EXPECT_EQ(all_reduce(x).device(), x.device());
  });
  EXPECT_EQ(errors, std::vector<std::string>(2));
}

// Replica r's loss is sum(weights_r * f(x_r)); expected is the gradient of the sum of all
// losses, worked out by hand.
std::vector<Floats> gradients(int64_t n, const std::function<Tensor(const Tensor&)>& f,
                              const std::function<Tensor(int64_t)>& input,
                              const std::function<Tensor(int64_t)>& weight,
                              bool compiled) {
  const auto step = [f](Tensor x, Tensor w) {
    GradientTape tape;
    tape.watch(x);
    const Tensor loss = reduce_sum(f(x) * w);
    return tape.gradient(loss, x).dense();
  };
  auto once = function(step);
  return together(n, [&](int64_t r) {
    return compiled ? once(input(r), weight(r)) : step(input(r), weight(r));
  });
}

void expect_gradients(const std::function<Tensor(const Tensor&)>& f,
                      const std::vector<Floats>& inputs,
                      const std::vector<Floats>& weights,
                      const std::vector<Floats>& expected) {
  const auto at = [](const std::vector<Floats>& list) {
    return [&list](int64_t r) { return constant(list[static_cast<size_t>(r)]); };
  };
  const auto n = static_cast<int64_t>(inputs.size());
  EXPECT_EQ(gradients(n, f, at(inputs), at(weights), false), expected);
  EXPECT_EQ(gradients(n, f, at(inputs), at(weights), true), expected) << "compiled";
}

TEST(Collective, Gradients) {
  const std::vector<Floats> x = {{1, 8}, {3, 4}}, w = {{1, 10}, {2, 20}};
  expect_gradients([](const Tensor& t) { return all_reduce(t); }, x, w,
                   {{3, 30}, {3, 30}});
  expect_gradients(
      [](const Tensor& t) { return all_reduce(t, {.reduction = Reduction::kMean}); }, x,
      w, {{1.5, 15}, {1.5, 15}});
  // The larger value gets it all; equal ones share.
  expect_gradients(
      [](const Tensor& t) { return all_reduce(t, {.reduction = Reduction::kMax}); }, x, w,
      {{0, 30}, {3, 0}});
  expect_gradients(
      [](const Tensor& t) { return all_reduce(t, {.reduction = Reduction::kMin}); },
      {{1, 5}, {1, 7}}, w, {{1.5, 30}, {1.5, 0}});
  expect_gradients([](const Tensor& t) { return broadcast_from(t, {.root = 1}); }, x, w,
                   {{0, 0}, {3, 30}});
  expect_gradients([](const Tensor& t) { return reduce_to(t, {.root = 1}); }, x, w,
                   {{2, 20}, {2, 20}});
  expect_gradients([](const Tensor& t) { return all_gather(t); }, x,
                   {{1, 2, 3, 4}, {10, 20, 30, 40}}, {{11, 22}, {33, 44}});
  expect_gradients([](const Tensor& t) { return reduce_scatter(t); }, x, {{5}, {7}},
                   {{5, 7}, {5, 7}});
  expect_gradients(
      [](const Tensor& t) { return reduce_scatter(t, {.reduction = Reduction::kMax}); },
      x, {{5}, {7}}, {{0, 7}, {5, 0}});
}

// One trace for all replicas of a device scope; collectives keep their order though no
// value joins them.
TEST(Collective, ACompiledFunctionRunsOnAllReplicasAtOnce) {
  std::atomic<int> traced{0};
  auto f = function([&](Tensor x) {
    ++traced;
    const Tensor a = all_reduce(x * 2.f);
    const Tensor b = all_reduce(x, {.reduction = Reduction::kMax});
    const Tensor id = cast(replica_id(), DType::kFloat32);
    const Tensor c = all_gather(reshape(id, {1}));
    return std::tuple(a, b, c, id);
  });
  for (int turn = 0; turn < 5; ++turn) {
    const ReplicaGroup now("compiled", 4);
    const auto errors = run_replicas(now, [&](int64_t r) {
      for (int step = 0; step < 10; ++step) {
        const auto [a, b, c, id] = f(constant({static_cast<float>(r + step)}));
        EXPECT_EQ(a.item<float>(), static_cast<float>(2 * (6 + 4 * step)));
        EXPECT_EQ(b.item<float>(), static_cast<float>(3 + step));
        EXPECT_EQ(c.to_vector<float>(), Floats({0, 1, 2, 3}));
        EXPECT_EQ(id.item<float>(), static_cast<float>(r));
      }
    });
    EXPECT_EQ(errors, std::vector<std::string>(4));
  }
  // A scope around the call is part of its signature.
  EXPECT_EQ(traced.load(), std::max<int>(1, device_count("GPU")));
}

TEST(Collective, ReplicasKeepVariablesOfTheirOwnInStep) {
  const ReplicaGroup group("training", 2);
  std::vector<Floats> ends(2);
  const auto errors = run_replicas(group, [&](int64_t r) {
    Variable w(constant({1.f, 2.f}));
    auto step = function([&](Tensor x) {
      w.assign_sub(all_reduce(x, {.reduction = Reduction::kMean}) * w.read());
      return w.read();
    });
    for (int i = 0; i < 3; ++i) step(constant({r ? 0.25f : 0.75f}));
    ends[static_cast<size_t>(r)] = w.read().to_vector<float>();
  });
  EXPECT_EQ(errors, std::vector<std::string>(2));
  EXPECT_EQ(ends, std::vector<Floats>(2, {0.125f, 0.25f}));
}

// ---- What goes wrong

void expect_all(const std::vector<std::string>& errors, const std::string& part) {
  for (const std::string& e : errors) EXPECT_NE(e.find(part), std::string::npos) << e;
}

TEST(Collective, DisagreementIsAnErrorOnAllReplicas) {
  const auto shapes = run_replicas(
      ReplicaGroup("shapes", 3), [](int64_t r) { all_reduce(zeros({r == 1 ? 2 : 3})); });
  expect_all(shapes, "InvalidArgumentError: group 'shapes': the replicas do not agree");
  expect_all(shapes, "replica 1 calls AllReduce(");
  const auto ops = run_replicas(ReplicaGroup("ops", 2), [](int64_t r) {
    r ? all_reduce(zeros({2})) : broadcast_from(zeros({2}));
  });
  expect_all(ops, "InvalidArgumentError");
  const auto dtypes = run_replicas(ReplicaGroup("dtypes", 2), [](int64_t r) {
    all_reduce(zeros({2}, r ? DType::kFloat64 : DType::kFloat32));
  });
  expect_all(dtypes, "InvalidArgumentError");
}

// All replicas were told, so all are still in step.
TEST(Collective, AGroupSurvivesADisagreementThatIsCaught) {
  const ReplicaGroup group("caught", 2);
  const auto errors = run_replicas(group, [](int64_t r) {
    EXPECT_THROW(all_reduce(zeros({r + 1})), InvalidArgumentError);
    EXPECT_EQ(all_reduce(constant(1.f)).item<float>(), 2);
  });
  EXPECT_EQ(errors, std::vector<std::string>(2));
}

TEST(Collective, AFailingReplicaFailsTheOthers) {
  const auto errors = run_replicas(ReplicaGroup("failing", 3), [](int64_t r) {
    all_reduce(ramp(r));
    if (r == 1) throw ResourceExhaustedError("no memory");
    all_reduce(ramp(r));
  });
  EXPECT_EQ(errors[1], "ResourceExhaustedError: no memory");
  for (size_t r : {0, 2}) {
    EXPECT_EQ(errors[r], "AbortedError: group 'failing' was aborted: replica 1 failed");
  }
}

TEST(Collective, WhoLeavesEarlyIsNotWaitedFor) {
  const auto errors = run_replicas(ReplicaGroup("leaving", 2), [](int64_t r) {
    if (r == 0) all_reduce(ramp(r));
  });
  EXPECT_NE(errors[0].find("AbortedError: group 'leaving'"), std::string::npos)
      << errors[0];
  EXPECT_EQ(errors[1], "");
}

TEST(Collective, NobodyWaitsForEver) {
  const ReplicaGroup group("late", 2, {.timeout_s = 0.05});
  const ReplicaScope scope(group, 0);
  EXPECT_THROW(all_reduce(ramp(0)), DeadlineExceededError);
  // The others could not know: the group is of no use any more.
  EXPECT_THROW(all_reduce(ramp(0)), AbortedError);
}

TEST(Collective, MistakesOfOneReplica) {
  EXPECT_THROW(all_reduce(ramp(0), {.group = "nowhere", .replicas = 2}),
               FailedPreconditionError);
  EXPECT_THROW(broadcast_from(ramp(0), {.root = 1}), InvalidArgumentError);
  EXPECT_THROW(all_reduce(constant(1), {.reduction = Reduction::kMean}),
               InvalidArgumentError);
  const ReplicaGroup group("mistakes", 3);
  EXPECT_THROW(ReplicaScope(group, 3), ValueError);
  EXPECT_THROW(ReplicaGroup("none", 0), ValueError);
  const ReplicaScope scope(group, 0);
  EXPECT_THROW(reduce_scatter(zeros({4})), InvalidArgumentError);
  EXPECT_THROW(all_reduce(ramp(0), {.replicas = 2}), InvalidArgumentError);
}

}  // namespace
}  // namespace tandem
