// The pretended GPU beside an emulated one: devices of two backends, which reach each
// other's memory only by way of the host.
#include "gpu/fake/gpu.h"
#include "tandem/function.h"

namespace tandem::testing {
namespace {

// Where in the log the first line is that begins so; its size: nowhere.
size_t place_of(const Lines& log, const std::string& start) {
  for (size_t i = 0; i < log.size(); ++i) {
    if (log[i].starts_with(start)) return i;
  }
  return log.size();
}

// What is copied to the other GPU is read after the step that makes it. A call of a
// compiled function gives the step to one stream and the copy to another.
ALONE_TEST(FakeOtherBackend, ACopyComesAfterTheStepThatMakesItsSource,
           {{"TANDEM_EMULATE_GPUS", "1"}}) {
  if (!real_gpu()) GTEST_SKIP() << why_no_gpu();
  const Tensor x = on("/GPU:0", [] { return constant(Floats{1, 2, 3}); });
  const auto step = function([](Tensor t) {
    const Tensor made = on("/GPU:0", [&] { return t + t; });
    return on("/GPU:1", [&] { return made * 3.0f; });
  });
  step(x).wait();
  fake::take_log();
  fake::run_at_once(false);
  const Tensor y = step(x);
  y.wait();
  EXPECT_EQ(y.device(), "/job:localhost/replica:0/task:0/device:GPU:1");
  const Lines log = fake::take_log();
  const size_t made = place_of(log, "graph"),
               read = place_of(log, "copy from the GPU 12");
  ASSERT_LT(read, log.size()) << ::testing::PrintToString(log);
  EXPECT_LT(made, read) << ::testing::PrintToString(log);
}

// A source that is an argument of the call.
ALONE_TEST(FakeOtherBackend, AnArgumentOfTheOtherBackendIsCopiedWhenItIsThere,
           {{"TANDEM_EMULATE_GPUS", "1"}}) {
  if (!real_gpu()) GTEST_SKIP() << why_no_gpu();
  const auto step =
      function([](Tensor t) { return on("/GPU:1", [&] { return t * 3.0f; }); });
  const auto argument = [](float value) {
    const Tensor made = on("/GPU:1", [&] { return constant(Floats{value}) + 1.0f; });
    return on("/GPU:0", [&] { return identity(made); });
  };
  EXPECT_EQ(floats(step(argument(1))), Floats{6});
  fake::run_at_once(false);
  EXPECT_EQ(floats(step(argument(2))), Floats{9});
}

}  // namespace
}  // namespace tandem::testing
