// Programs on their way to a GPU, as far as that goes without one: one for equal texts,
// errors that name the op, and who compiles.
#include "kernels/cuda/program_build.h"

#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

#include "kernels/cuda/program.h"
#include "support/alone.h"
#include "tandem/error.h"

namespace tandem::cuda {
namespace {

struct Builds : ::testing::Test {
  Builds() : device(options()) { setenv("TANDEM_CACHE_DIR", "", 1); }
  ~Builds() override { unsetenv("TANDEM_CACHE_DIR"); }
  static CudaDevice::Options options() {
    CudaDevice::Options o;
    o.request.info.type = "GPU";
    o.arch = 90;
    o.imagined_multiprocessors = 1;
    return o;
  }
  CudaDevice device;
};

std::string wrong(int number) {
  return "extern \"C\" __global__ void f() { undeclared_" + std::to_string(number) +
         "(); }";
}

TEST_F(Builds, WhatDoesNotCompileIsSaidByNameToEveryoneWhoNeedsIt) {
  const auto build = find_build(device, "Wrong", wrong(1));
  EXPECT_TRUE(build->must_compile());
  build->ask(build);
  const FunctionRef function(build->function("f", 0));
  EXPECT_TRUE(static_cast<bool>(function));
  for (int i = 0; i < 3; ++i) {
    EXPECT_ERROR(static_cast<CUfunction>(function), InternalError,
                 "Wrong does not compile");
  }
  EXPECT_ERROR(build->get(), InternalError, "undeclared_1");
  EXPECT_TRUE(build->done());
  EXPECT_FALSE(build->must_compile());
}
TEST_F(Builds, EqualTextsAreOneProgram) {
  EXPECT_EQ(find_build(device, "A", wrong(2)), find_build(device, "B", wrong(2)));
  EXPECT_NE(find_build(device, "A", wrong(2)), find_build(device, "A", wrong(3)));
  CudaDevice other(options());
  EXPECT_NE(find_build(device, "A", wrong(2)), find_build(other, "A", wrong(2)));
}
// Nobody asked for it: who needs it compiles it, and others wait for that.
TEST_F(Builds, ThreadsThatNeedTheSameOneAllComeBack) {
  const auto build = find_build(device, "Wrong", wrong(4));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { build->wait(); });
  for (std::thread& t : threads) t.join();
  EXPECT_TRUE(build->done());
}
TEST_F(Builds, ScopesCollectWhatWasAskedFor) {
  const auto a = find_build(device, "A", wrong(5)), b = find_build(device, "B", wrong(6));
  const CollectBuilds outer;
  CollectBuilds::note(a);
  {
    const CollectBuilds inner(CollectBuilds::Ask::kExisting);
    CollectBuilds::note(b);
    CollectBuilds::note(b);
    EXPECT_EQ(inner.builds().size(), 1u);
    EXPECT_EQ(CollectBuilds::ask(), CollectBuilds::Ask::kExisting);
    const CollectBuilds innermost;
    EXPECT_EQ(CollectBuilds::ask(), CollectBuilds::Ask::kExisting);
  }
  EXPECT_EQ(CollectBuilds::ask(), CollectBuilds::Ask::kAll);
  EXPECT_EQ(outer.builds().size(), 2u);
  EXPECT_TRUE(outer.builds().must_compile());
  EXPECT_FALSE(outer.builds().done());
  outer.builds().wait();
  EXPECT_TRUE(outer.builds().done());
  EXPECT_THROW(outer.builds().get(), InternalError);
}

}  // namespace
}  // namespace tandem::cuda
