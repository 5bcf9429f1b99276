// Copies and errors of a real GPU.
#include <cstring>
#include <numeric>

#include "device/copy.h"
#include "gpu/gpu.h"
#include "op/emitter.h"
#include "tandem/error.h"
#include "tandem/ops/nn_ctc.h"

namespace tandem::testing {
namespace {

using CudaDevice = GpuTest;

std::vector<uint32_t> words_from(size_t n, uint32_t seed) {
  std::vector<uint32_t> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = static_cast<uint32_t>(i * 2654435761u + seed);
  return v;
}

TEST_F(CudaDevice, BytesSurviveTheWayThereAndBack) {
  // Around the size of a staging block, and several of them.
  for (size_t n : {size_t{1}, size_t{1000}, (size_t{4} << 20) / 4,
                   (size_t{4} << 20) / 4 + 3, (size_t{50} << 20) / 4}) {
    const auto from = words_from(n, static_cast<uint32_t>(n));
    std::vector<uint32_t> back(n, 0);
    const size_t bytes = n * sizeof(uint32_t);
    const Allocation a = gpu->allocator().allocate(bytes, &gpu->copy_in());
    Device& cpu = Runtime::get().cpu();
    const TimePoint in = enqueue_copy(
        {gpu, a.address}, {&cpu, const_cast<uint32_t*>(from.data())}, bytes, {});
    const TimePoint out = enqueue_copy({&cpu, back.data()}, {gpu, a.address}, bytes, in);
    out.host_wait();
    EXPECT_TRUE(out.passed());
    EXPECT_EQ(from, back) << n;
    const TimePoint uses[] = {in, out};
    gpu->allocator().free(a, uses);
  }
}

TEST_F(CudaDevice, TheSourceMayChangeOnceTheCopyIsEnqueued) {
  std::vector<uint32_t> from = words_from(100000, 5), expected = from, back(100000, 0);
  const size_t bytes = from.size() * 4;
  Device& cpu = Runtime::get().cpu();
  const Allocation a = gpu->allocator().allocate(bytes, &gpu->copy_in());
  const TimePoint in = enqueue_copy({gpu, a.address}, {&cpu, from.data()}, bytes, {});
  std::fill(from.begin(), from.end(), 0);
  enqueue_copy({&cpu, back.data()}, {gpu, a.address}, bytes, in).host_wait();
  EXPECT_EQ(back, expected);
  gpu->allocator().free(a, {});
}

TEST_F(CudaDevice, CopiesAreCounted) {
  const CopyStats before = copy_stats();
  const Tensor x = on("/CPU:0", [] { return constant(Floats{1, 2, 3}); });
  const Tensor y = on("/GPU:0", [&] { return x + x; });
  EXPECT_EQ(floats(y), (Floats{2, 4, 6}));
  EXPECT_GE(copy_stats().count - before.count, 2);
}

TEST_F(CudaDevice, ABadIndexIsAnErrorAndTheDeviceGoesOn) {
  const Tensor params = on("/GPU:0", [] { return constant(Floats{1, 2, 3, 4}); });
  const Tensor bad = on("/CPU:0", [] { return constant(std::vector<int32_t>{0, 9}); });
  const Tensor got = on("/GPU:0", [&] { return gather(params, bad); });
  try {
    floats(got);
    FAIL() << "no error";
  } catch (const InvalidArgumentError& e) {
    EXPECT_NE(std::string(e.what()).find("indices[1] = 9 is not in [0, 4)"),
              std::string::npos)
        << e.what();
  }
  EXPECT_EQ(floats(on("/GPU:0", [&] { return params + params; })), (Floats{2, 4, 6, 8}));
}

TEST_F(CudaDevice, AnIntegerDividedByZeroIsAnError) {
  on("/GPU:0", [&] {
    const Tensor x = constant(std::vector<int32_t>{1, 2}), zero = zeros_like(x);
    const Tensor q = floordiv(x, zero);
    EXPECT_THROW(q.to_vector<int32_t>(), InvalidArgumentError);
    EXPECT_EQ(floordiv(x, x).to_vector<int32_t>(), (std::vector<int32_t>{1, 1}));
  });
}

// An op whose kernel on the CPU throws another class than most do.
TEST_F(CudaDevice, AReportHasTheClassThatTheCpuThrows) {
  const auto decode = [](const char* device, int32_t length) {
    return on(device, [&] {
      const Tensor logits = constant(Floats{0.1f, 2, 0.3f}, {1, 1, 3});
      const Tensor lengths = constant(std::vector<int32_t>{length});
      return nn::ctc_greedy_decode(logits, lengths).score.to_vector<float>();
    });
  };
  EXPECT_THROW(decode("/CPU:0", 4), FailedPreconditionError);
  EXPECT_THROW(decode("/GPU:0", 4), FailedPreconditionError);
  EXPECT_EQ(decode("/GPU:0", 1), decode("/CPU:0", 1));
}

TEST_F(CudaDevice, AVariableKeepsItsValueWhenAnUpdateFails) {
  on("/GPU:0", [&] {
    Variable v(constant(Floats{1, 2, 3}));
    const Tensor bad = constant(std::vector<int32_t>{5});
    const OpDef& op = OpTable::get().at("ResourceScatterAdd");
    std::vector<Tensor> none;
    const std::vector<Tensor> given = {v.handle(), bad, constant(Floats{10})};
    const std::vector<TensorArg> args(given.begin(), given.end());
    current_emitter().emit(op, default_attrs(op), args, none);
    EXPECT_THROW(synchronize("GPU:0"), InvalidArgumentError);
    EXPECT_EQ(floats(v.read()), (Floats{1, 2, 3}));
  });
}

TEST_F(CudaDevice, DetailsNameTheGpu) {
  const auto gpus = config::list_physical_devices("GPU");
  ASSERT_FALSE(gpus.empty());
  const auto details = config::get_device_details(gpus[0]);
  EXPECT_FALSE(details.device_name.empty());
  EXPECT_FALSE(details.emulated);
  EXPECT_GE(details.compute_capability, "7.5");
}

}  // namespace
}  // namespace tandem::testing
