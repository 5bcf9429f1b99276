// Compiled functions: signatures, variables, results, gradients, errors, threads.
#include "tandem/function.h"

#include <algorithm>
#include <array>
#include <limits>
#include <thread>

#include <gtest/gtest.h>

#include "tandem/tandem.h"

namespace tandem {
namespace {

using Floats = std::vector<float>;

TEST(Function, ComputesAndIsTracedOncePerSignature) {
  int traced = 0;
  auto f = function([&](Tensor x, Tensor y) {
    ++traced;
    return matmul(x, y) + 1.f;
  });
  const Tensor a = constant({{1.f, 2.f}, {3.f, 4.f}});
  EXPECT_EQ(f(a, a).to_vector<float>(), Floats({8, 11, 16, 23}));
  EXPECT_EQ(f(a, a + 1.f).to_vector<float>(), Floats({11, 14, 23, 30}));
  EXPECT_EQ(traced, 1);
  const Tensor b = constant({{1.f, 2.f}});
  EXPECT_EQ(f(b, a).to_vector<float>(), Floats({8, 11}));
  EXPECT_EQ(traced, 2);
  EXPECT_EQ(f.tracing_count(), 2);
}

TEST(Function, NumbersSpecialise) {
  int traced = 0;
  auto f = function([&](Tensor x, double factor) {
    ++traced;
    return x * factor;
  });
  const Tensor x = constant({1.f, 2.f});
  EXPECT_EQ(f(x, 2.0).to_vector<float>(), Floats({2, 4}));
  EXPECT_EQ(f(x, 3.0).to_vector<float>(), Floats({3, 6}));
  EXPECT_EQ(f(x, 2.0).to_vector<float>(), Floats({2, 4}));
  EXPECT_EQ(traced, 2);
}

// No value of the function lives on the variable's device, but what it assigns has to.
TEST(Function, AssignsConstantsAlone) {
  Variable v(constant({1.f, 2.f, 3.f})), rows(ones({3, 2}));
  auto reset = function([&] { v.assign(constant({0.f, 0.f, 5.f})); });
  auto scatter =
      function([&] { rows.scatter_update(constant({1}), constant({{7.f, 8.f}})); });
  for (int i = 0; i < 3; ++i) {
    reset();
    EXPECT_EQ(v.read().to_vector<float>(), Floats({0, 0, 5}));
    v.assign(ones({3}));
    scatter();
    EXPECT_EQ(rows.read().to_vector<float>(), Floats({1, 1, 7, 8, 1, 1}));
    rows.assign(ones({3, 2}));
  }
}

TEST(Function, ResultsOfManyForms) {
  auto pair = function([](Tensor x) { return std::pair(x + 1.f, x * 2.f); });
  const auto [p, q] = pair(constant({1.f}));
  EXPECT_EQ(p.item<float>(), 2);
  EXPECT_EQ(q.item<float>(), 2);
  auto list = function([](std::vector<Tensor> xs) {
    std::vector<Tensor> out;
    for (const Tensor& x : xs) out.push_back(x * x);
    return out;
  });
  const auto squares = list(std::vector<Tensor>{constant(2.f), constant(3.f)});
  EXPECT_EQ(squares[0].item<float>(), 4);
  EXPECT_EQ(squares[1].item<float>(), 9);
  // An argument, a constant, the same value twice, a view.
  const Tensor c = constant({5.f, 6.f});
  auto odd = function([&](Tensor x) {
    const Tensor y = x + 1.f;
    return std::vector<Tensor>{x, c, y, y, reshape(y, {2, 1}), reshape(x, {1, 2})};
  });
  const auto r = odd(constant({1.f, 2.f}));
  EXPECT_EQ(r[0].to_vector<float>(), Floats({1, 2}));
  EXPECT_EQ(r[1].to_vector<float>(), Floats({5, 6}));
  EXPECT_EQ(r[2].to_vector<float>(), Floats({2, 3}));
  EXPECT_EQ(r[3].to_vector<float>(), Floats({2, 3}));
  EXPECT_EQ(r[4].shape(), Shape({2, 1}));
  EXPECT_EQ(r[4].to_vector<float>(), Floats({2, 3}));
  EXPECT_EQ(r[5].shape(), Shape({1, 2}));
}

TEST(Function, ResultsOfEarlierCallsStay) {
  auto f = function([](Tensor x) { return x + 1.f; });
  const Tensor one = f(constant({1.f, 1.f}));
  const Tensor two = f(constant({2.f, 2.f}));
  const Tensor three = f(constant({3.f, 3.f}));
  EXPECT_EQ(one.to_vector<float>(), Floats({2, 2}));
  EXPECT_EQ(two.to_vector<float>(), Floats({3, 3}));
  EXPECT_EQ(three.to_vector<float>(), Floats({4, 4}));
}

// Its memory, and all that stands for it, may be used for the next one.
TEST(Function, AResultIsAnotherTensorThanTheOneBefore) {
  auto f = function([](Tensor x) { return x * 2.f; });
  const Tensor x = constant({1.f, 2.f});
  for (int i = 0; i < 3; ++i) f(x);
  GradientTape tape;
  tape.watch(f(x));
  const Tensor y = f(x);
  EXPECT_FALSE(tape.gradient(reduce_sum(y * 3.f), y).defined());
}

TEST(Function, PlacesOfResultsMayBeThoseOfArguments) {
  auto f = function([](Tensor x, Tensor y) { return std::pair(y, x); });
  std::array<Tensor, 2> both = {constant({1.f}), constant({2.f})};
  for (int i = 1; i < 4; ++i) {
    f.call(both, both);
    EXPECT_EQ(both[0].item<float>(), i % 2 ? 2.f : 1.f);
    EXPECT_EQ(both[1].item<float>(), i % 2 ? 1.f : 2.f);
  }
}

TEST(Function, WritesVariables) {
  Variable v(constant({1.f, 2.f}));
  auto f = function([&](Tensor x) {
    v.assign_add(x);
    const Tensor after = v.read();
    v.assign(after * 2.f);
    return after + v.read();
  });
  EXPECT_EQ(f(constant({1.f, 1.f})).to_vector<float>(), Floats({6, 9}));
  EXPECT_EQ(v.read().to_vector<float>(), Floats({4, 6}));
  EXPECT_EQ(f(constant({1.f, 1.f})).to_vector<float>(), Floats({15, 21}));
  EXPECT_EQ(v.read().to_vector<float>(), Floats({10, 14}));
}

TEST(Function, SnapshotsSurviveWrites) {
  Variable v(constant({1.f, 2.f}));
  auto f = function([&](Tensor x) { v.assign_add(x); });
  const Tensor before = v.read();
  f(constant({1.f, 1.f}));
  const Tensor between = v.read();
  f(constant({1.f, 1.f}));
  EXPECT_EQ(before.to_vector<float>(), Floats({1, 2}));
  EXPECT_EQ(between.to_vector<float>(), Floats({2, 3}));
  EXPECT_EQ(v.read().to_vector<float>(), Floats({3, 4}));
}

TEST(Function, SwapsVariables) {
  Variable a(constant({1.f, 2.f})), b(constant({3.f, 4.f}));
  auto f = function([&] {
    const Tensor x = a.read(), y = b.read();
    a.assign(y + 0.5f);
    b.assign(x + 0.5f);
  });
  f();
  EXPECT_EQ(a.read().to_vector<float>(), Floats({3.5, 4.5}));
  EXPECT_EQ(b.read().to_vector<float>(), Floats({1.5, 2.5}));
}

TEST(Function, AssignsWhatReadsTheOldValueElsewhere) {
  Variable w(constant({{1.f, 2.f}, {3.f, 4.f}}));
  auto f = function([&](Tensor x) { w.assign(matmul(w, x)); });
  f(constant({{0.f, 1.f}, {1.f, 0.f}}));
  EXPECT_EQ(w.read().to_vector<float>(), Floats({2, 1, 4, 3}));
}

TEST(Function, GradientInside) {
  Variable w(constant({2.f, 3.f}));
  auto f = function([&](Tensor x) {
    GradientTape tape;
    const Tensor y = reduce_sum(square(w * x));
    return Tensor(tape.gradient(y, w));
  });
  EXPECT_EQ(f(constant({1.f, 2.f})).to_vector<float>(), Floats({4, 24}));
}

TEST(Function, GradientOutsideOfAnyOrder) {
  Variable w(constant({2.f, 3.f}));
  auto f = function([&](Tensor x) { return reduce_sum(w * x * x * x); });
  const Tensor x = constant({1.f, 2.f});
  GradientTape outer({.persistent = true});
  outer.watch(x);
  Tensor dx, dw;
  {
    GradientTape inner({.persistent = true});
    inner.watch(x);
    const Tensor y = f(x);
    dx = inner.gradient(y, x);
    dw = inner.gradient(y, w);
  }
  EXPECT_EQ(dx.to_vector<float>(), Floats({6, 36}));
  EXPECT_EQ(dw.to_vector<float>(), Floats({1, 8}));
  EXPECT_EQ(outer.gradient(dx, x).dense().to_vector<float>(), Floats({12, 36}));
  EXPECT_EQ(outer.gradient(dw, x).dense().to_vector<float>(), Floats({3, 12}));
}

TEST(Function, ShapesThatDependOnData) {
  auto f = function([](Tensor x) {
    const Tensor kept = boolean_mask(x, x > 0.f);
    return reduce_sum(kept * 2.f) + cast(size(kept), DType::kFloat32);
  });
  EXPECT_EQ(f(constant({1.f, -2.f, 3.f})).item<float>(), 10);
  EXPECT_EQ(f(constant({-1.f, -2.f, 3.f})).item<float>(), 7);
  EXPECT_EQ(f(constant({-1.f, -2.f, -3.f})).item<float>(), 0);
  EXPECT_EQ(f.tracing_count(), 1);
  EXPECT_NE(f.explain().find("depend on data"), std::string::npos);
}

TEST(Function, ShapesThatDependOnArguments) {
  auto f = function([](Tensor x, Tensor shape) { return reshape(x, shape) + 1.f; });
  const Tensor x = constant({1.f, 2.f, 3.f, 4.f});
  EXPECT_EQ(f(x, constant({2, 2})).shape(), Shape({2, 2}));
  EXPECT_EQ(f(x, constant({4, 1})).shape(), Shape({4, 1}));
  EXPECT_EQ(f.tracing_count(), 1);
}

TEST(Function, InputSignature) {
  auto f =
      function([](Tensor x, Tensor y) { return x + y; },
               {.input_signature = {{{.shape = {kUnknownDim, 2}, .dims = {"n", ""}},
                                     {.shape = {kUnknownDim, 2}, .dims = {"n", ""}}}}});
  const Tensor one = constant({{1.f, 2.f}}), two = constant({{1.f, 2.f}, {3.f, 4.f}});
  EXPECT_EQ(f(one, one).to_vector<float>(), Floats({2, 4}));
  EXPECT_EQ(f(two, two).to_vector<float>(), Floats({2, 4, 6, 8}));
  EXPECT_EQ(f.tracing_count(), 1);
  EXPECT_THROW(f(one, two), ValueError);
  EXPECT_THROW(f(constant({1.f, 2.f}), one), ValueError);
  EXPECT_THROW(f(constant({{1, 2}}), one), ValueError);
}

TEST(Function, ReduceRetracing) {
  auto f = function([](Tensor x) { return x * 2.f; }, {.reduce_retracing = true});
  for (int64_t n = 1; n < 8; ++n) {
    EXPECT_EQ(f(ones({n, 3})).shape(), Shape({n, 3}));
  }
  EXPECT_EQ(f.tracing_count(), 2);
}

TEST(Function, AFailedCallChangesNothing) {
  Variable v(constant({1.f, 2.f, 3.f}));
  auto f = function([&](Tensor index) {
    v.assign_add(constant({1.f, 1.f, 1.f}));
    return gather(constant({10.f, 20.f}), index);
  });
  EXPECT_EQ(f(constant({1})).to_vector<float>(), Floats({20}));
  EXPECT_EQ(v.read().to_vector<float>(), Floats({2, 3, 4}));
  EXPECT_THROW(f(constant({7})).wait(), InvalidArgumentError);
  EXPECT_EQ(v.read().to_vector<float>(), Floats({2, 3, 4}));
  EXPECT_EQ(f(constant({0})).to_vector<float>(), Floats({10}));
  EXPECT_EQ(v.read().to_vector<float>(), Floats({3, 4, 5}));
}

TEST(Function, NestedFunctionsAreTracedIn) {
  auto inner = function([](Tensor x) { return x * x; });
  auto outer = function([&](Tensor x) { return inner(x) + inner(x + 1.f); });
  EXPECT_EQ(outer(constant({2.f})).item<float>(), 13);
}

TEST(Function, ControlFlow) {
  auto f = function([](Tensor x) {
    return cond(reduce_sum(x) > 0.f, [&] { return x * 2.f; }, [&] { return x - 1.f; });
  });
  EXPECT_EQ(f(constant({1.f, 2.f})).to_vector<float>(), Floats({2, 4}));
  EXPECT_EQ(f(constant({-1.f, -2.f})).to_vector<float>(), Floats({-2, -3}));
  Variable v(constant(0.f));
  auto g = function([&](Tensor n) {
    const auto out = while_loop([&](const std::vector<Tensor>& s) { return s[0] < n; },
                                [&](const std::vector<Tensor>& s) {
                                  v.assign_add(constant(1.f));
                                  return std::vector<Tensor>{s[0] + 1, s[1] * 2.f};
                                },
                                {constant(0), constant({1.f, 3.f})});
    return out[1];
  });
  EXPECT_EQ(g(constant(3)).to_vector<float>(), Floats({8, 24}));
  EXPECT_EQ(v.read().item<float>(), 3);
  EXPECT_EQ(g(constant(0)).to_vector<float>(), Floats({1, 3}));
  EXPECT_EQ(v.read().item<float>(), 3);
}

TEST(Function, FromManyThreads) {
  Variable w(constant({1.f, 2.f, 3.f}));
  Variable total(constant(0.f));
  auto read = function([&](Tensor x) { return reduce_sum(w * x); });
  auto write = function([&](Tensor x) { total.assign_add(x); });
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const float k = static_cast<float>(t * 1000 + i);
        if (read(constant({k, k, k})).item<float>() != 6 * k) ++wrong;
        write(constant(1.f));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(total.read().item<float>(), 800);
}

TEST(Function, ExplainsItself) {
  Variable w(ones({4, 3}));
  auto f = function([&](Tensor x) { return nn::relu(matmul(x, w) + 1.f); });
  EXPECT_EQ(f.explain(), "");
  f(ones({2, 4}));
  const std::string text = f.explain();
  EXPECT_NE(text.find("lane CPU:0"), std::string::npos) << text;
  EXPECT_NE(text.find("copies between devices: 0"), std::string::npos) << text;
  EXPECT_NE(f.dot().find("digraph"), std::string::npos);
  EXPECT_NE(f.dump().find("MatMul"), std::string::npos) << f.dump();
}

// ---- Numbers and options

TEST(Function, NumbersAreToldApartByTheirBits) {
  auto f = function([](Tensor x, int64_t k) { return x + constant(k); });
  const Tensor zero = constant(int64_t{0});
  const int64_t large = int64_t{1} << 53;
  EXPECT_EQ(f(zero, large).item<int64_t>(), large);
  EXPECT_EQ(f(zero, large + 1).item<int64_t>(), large + 1);
  int traced = 0;
  auto g = function([&](Tensor x, double k) {
    ++traced;
    return x / k;
  });
  const Tensor one = constant(1.f);
  EXPECT_GT(g(one, 0.0).item<float>(), 0);
  EXPECT_LT(g(one, -0.0).item<float>(), 0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (int i = 0; i < 3; ++i) g(one, nan);
  EXPECT_EQ(traced, 3);
}

TEST(Function, RefusesNonsense) {
  const auto body = [](Tensor x) { return x + 1.f; };
  EXPECT_THROW(function(body, {.max_traces = 0}), ValueError);
  EXPECT_THROW(function(body, {.max_plans = 0}), ValueError);
  auto f = function(body);
  EXPECT_THROW(f.prepare({}), ValueError);
  EXPECT_THROW(static_cast<Function&>(f)({Argument(std::string("x"))}), ValueError);
  EXPECT_THROW(f(Tensor()), ValueError);
  auto undefined = function([](Tensor x) { return x + Tensor(); });
  EXPECT_THROW(undefined(constant(1.f)), InvalidArgumentError);
}

TEST(Function, SymbolicTensorsStayInside) {
  Tensor leaked;
  auto f = function([&](Tensor x) {
    leaked = x * 2.f;
    return x + 1.f;
  });
  f(constant(1.f));
  EXPECT_THROW(f(leaked), InvalidArgumentError);
  EXPECT_THROW(leaked + 1.f, InvalidArgumentError);
  auto g = function([&](Tensor x) { return x + leaked; });
  EXPECT_THROW(g(constant(1.f)), InvalidArgumentError);
  auto make = function([](Tensor x) { return Variable(x).read(); });
  EXPECT_THROW(make(constant(1.f)), InvalidArgumentError);
}

TEST(Function, EndlessRecursionIsAnError) {
  std::function<Tensor(Tensor)> self;
  int64_t seen = -1;
  std::function<int64_t()> count;
  auto f = function([&](Tensor x) {
    seen = count();
    return self(x);
  });
  self = [&](Tensor x) { return f(x); };
  count = [&] { return f.tracing_count(); };
  EXPECT_THROW(f(constant(1.f)), InvalidArgumentError);
  EXPECT_EQ(seen, 0);
}

TEST(Function, InputSignatureHoldsInsideOtherFunctions) {
  auto inner = function([](Tensor x) { return x * 2.f; },
                        {.input_signature = {{{.shape = {2}, .dims = {"n"}}}}});
  auto outer = function([&](Tensor x) { return inner(x); });
  EXPECT_EQ(outer(ones({2})).to_vector<float>(), Floats({2, 2}));
  EXPECT_THROW(outer(ones({3})), ValueError);
}

TEST(Function, DeviceScopesSpecialise) {
  auto f = function([](Tensor x) { return x + 1.f; });
  const Tensor x = ones({2});
  const std::string last = "/GPU:" + std::to_string(device_count("GPU") - 1);
  for (int i = 0; i < 2; ++i) {
    {
      const DeviceScope scope("/CPU:0");
      EXPECT_NE(f(x).device().find("CPU:0"), std::string::npos);
    }
    if (device_count("GPU") == 0) continue;
    const DeviceScope scope(last);
    EXPECT_NE(f(x).device().find(last.substr(1)), std::string::npos);
  }
  EXPECT_EQ(f.tracing_count(), device_count("GPU") ? 2 : 1);
}

// ---- Lists in loops

TEST(Function, GradientOfALoopFromOutside) {
  auto f = function([](Tensor a) {
    return while_loop([&](const std::vector<Tensor>& s) { return s[0] < 3; },
                      [&](const std::vector<Tensor>& s) {
                        return std::vector<Tensor>{s[0] + 1, s[1] * a};
                      },
                      {constant(0), ones_like(a)})[1];
  });
  const Tensor a = constant({2.f, 3.f});
  GradientTape tape;
  tape.watch(a);
  EXPECT_EQ(tape.gradient(f(a), a).dense().to_vector<float>(), Floats({12, 27}));
  EXPECT_NE(f.explain().find("its gradient"), std::string::npos) << f.explain();
}

TEST(Function, LoopsReadListsFromOutside) {
  const TensorArray of({.size = 3, .element_shape = {}});
  const TensorArray eager = of.unstack(constant({1.f, 2.f, 3.f}));
  auto sum = function([&](Tensor x) {
    const TensorArray mine = of.unstack(x);
    return while_loop([](const std::vector<Tensor>& s) { return s[0] < 3; },
                      [&](const std::vector<Tensor>& s) {
                        return std::vector<Tensor>{
                            s[0] + 1, s[1] + mine.read(s[0]) * eager.read(s[0])};
                      },
                      {constant(0), constant(0.f)})[1];
  });
  EXPECT_EQ(sum(constant({4.f, 5.f, 6.f})).item<float>(), 32);
  auto overwrite = function([&](Tensor n) {
    const auto end =
        while_loop([&](const std::vector<Tensor>& s) { return s[0] < n; },
                   [&](const std::vector<Tensor>& s) {
                     return std::vector<Tensor>{
                         s[0] + 1, of.from_flow(s[1]).write(s[0], constant(9.f)).flow()};
                   },
                   {constant(0), eager.flow()});
    return of.from_flow(end[1]).stack();
  });
  EXPECT_EQ(overwrite(constant(1)).to_vector<float>(), Floats({9, 2, 3}));
  EXPECT_EQ(overwrite(constant(3)).to_vector<float>(), Floats({9, 9, 9}));
  EXPECT_EQ(eager.stack().to_vector<float>(), Floats({1, 2, 3}));
}

TEST(Function, LoopsExchangeLists) {
  const TensorArray of({.size = 1, .element_shape = {}});
  auto f = function([&](Tensor n) {
    const Tensor p = of.write(constant(0), constant(1.f)).flow();
    const Tensor q = of.write(constant(0), constant(2.f)).flow();
    const auto end = while_loop([&](const std::vector<Tensor>& s) { return s[0] < n; },
                                [&](const std::vector<Tensor>& s) {
                                  return std::vector<Tensor>{s[0] + 1, s[2], s[1]};
                                },
                                {constant(0), p, q});
    return stack(
        {of.from_flow(end[1]).read(constant(0)), of.from_flow(end[2]).read(constant(0))});
  });
  for (int n = 0; n < 4; ++n) {
    const Floats expected = n % 2 ? Floats({2, 1}) : Floats({1, 2});
    EXPECT_EQ(f(constant(n)).to_vector<float>(), expected) << n;
  }
}

// ---- Placement

TEST(Function, AScopeWithoutItsDeviceIsRefusedWhenPlacementIsHard) {
  auto f = function([](Tensor x) {
    Tensor there;
    {
      const DeviceScope scope("/GPU:42");
      there = square(x);
    }
    const DeviceScope scope("/CPU:0");
    return reduce_mean(there);
  });
  EXPECT_EQ(f(constant({1.f, 3.f})).item<float>(), 5.f);  // soft: another device
  config::set_soft_device_placement(false);
  auto hard = function([](Tensor x) {
    const DeviceScope scope("/GPU:42");
    return square(x);
  });
  try {
    hard(constant({1.f, 3.f})).wait();
    ADD_FAILURE() << "it ran";
  } catch (const InvalidArgumentError& e) {
    const std::string words = e.what();
    EXPECT_NE(words.find("explicitly assigned to /device:GPU:42"), std::string::npos)
        << words;
    EXPECT_NE(words.find("available devices are"), std::string::npos) << words;
  }
  config::set_soft_device_placement(true);
}

// ---- Writes and sizes

TEST(Function, AVariableMayChangeItsShape) {
  Variable v(ones({2}), {.shape = {kUnknownDim}});
  auto f = function([&](Tensor x) {
    v.assign(concat({v.read(), x}, {.axis = 0}));
    return reduce_sum(v);
  });
  for (int64_t n = 3; n < 6; ++n) {
    EXPECT_EQ(f(ones({1})).item<float>(), static_cast<float>(n));
    EXPECT_EQ(v.read().shape(), Shape({n}));
  }
}

TEST(Function, AFailureAfterSizesAreKnownChangesNothing) {
  Variable v(constant({1.f, 2.f}));
  auto f = function([&](Tensor x, Tensor index) {
    v.assign_add(constant({1.f, 1.f}));
    const Tensor kept = boolean_mask(x, x > 0.f);
    return gather(kept, index) + reduce_sum(v);
  });
  const Tensor x = constant({5.f, -1.f});
  EXPECT_THROW(f(x, constant({7})).wait(), InvalidArgumentError);
  EXPECT_EQ(v.read().to_vector<float>(), Floats({1, 2}));
  EXPECT_EQ(f(x, constant({0})).to_vector<float>(), Floats({10}));
  EXPECT_EQ(v.read().to_vector<float>(), Floats({2, 3}));
}

// A branch that writes one variable reads another, which is written after it.
TEST(Function, ABranchReadsWhatIsWrittenLater) {
  Variable v(constant(1.0)), w(constant(0.0));
  const auto step = function([&](Tensor p) {
    cond(
        p,
        [&] {
          w.assign(v.read() * 10.0);
          return w.read();
        },
        [&] {
          w.assign(v.read());
          return w.read();
        });
    v.assign_add(constant(1.0));
  });
  step(constant(true));
  EXPECT_EQ(w.read().item<double>(), 10);
  step(constant(false));
  EXPECT_EQ(w.read().item<double>(), 2);
  EXPECT_EQ(v.read().item<double>(), 3);
}

// As in TensorFlow's executor; in the threads of the team, too.
TEST(Function, DenormalsAreZero) {
  const DeviceScope cpu("/CPU:0");
  const auto half = function([](Tensor x) { return x * 0.5; });
  for (const int64_t n : {int64_t{3}, int64_t{1} << 20}) {
    const std::vector<float> values =
        half(fill(Shape{n}, constant(2e-38f))).to_vector<float>();
    EXPECT_EQ(std::count(values.begin(), values.end(), 0.0f), n);
  }
  EXPECT_GT((constant(2e-38f) * 0.5).item<float>(), 0);  // outside they are numbers
}

}  // namespace

}  // namespace tandem
