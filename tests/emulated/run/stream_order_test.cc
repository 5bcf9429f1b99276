// Memory whose first writer is not the device's compute stream must not be given out in
// that stream's order, where queued work may still read it: here that work is held, the
// memory that it reads is let go, and a call whose copies run at once gets some.
#include <future>
#include <thread>

#include "device/runtime.h"
#include "emulated/run/gpu.h"
#include "run/executable.h"
#include "support/traced.h"

namespace tandem {
namespace {

using testing::filled;
using testing::Floats;
using testing::floats;
using testing::on;

constexpr int64_t kWholePieces = 1024;  // floats: whole pieces of the allocator

TEST(StreamOrder, APlansMemoryIsWrittenByCopiesFirst) {
  Device& gpu = Runtime::get().named("GPU:0");
  const std::vector<Tensor> x = {filled("CPU:0", {kWholePieces}, 100)};
  PlanOptions options;
  options.measure_kernels = false;
  const std::vector<Device*> devices = {&Runtime::get().cpu()};
  const auto graph = testing::trace(
      [](const std::vector<Tensor>& in) {
        return std::vector<Tensor>{on("GPU:0", [&] { return in[0] * 3.f; })};
      },
      x);
  Executable plan(make_plan(*graph, devices, options));
  // Recorded work holds no memory: that of a variable is let go when the variable gets
  // another value, and is free in the order of the stream.
  Variable v(filled("GPU:0", {kWholePieces}, 1));
  const Tensor last = filled("GPU:0", {kWholePieces}, 8);
  auto twice = function([v] { return on("GPU:0", [&] { return v + v; }); });
  twice().wait();  // what first calls wait for is over
  v.assign(filled("GPU:0", {kWholePieces}, 7));
  twice().wait();
  synchronize();

  std::promise<void> gate;
  gpu.compute().submit([&](const StreamContext&) { gate.get_future().wait(); });
  const Tensor queued = twice();
  {
    const Tensor shared = v.read();  // it cannot be written in place
    v.assign(last);
  }
  const uint64_t copies = gpu.copy_in().now().sequence;
  std::vector<Tensor> results;
  // A first call waits for its device.
  std::thread call([&] { results = plan.run(x); });
  while (gpu.copy_in().now().sequence == copies) std::this_thread::yield();
  gpu.copy_in().now().host_wait();
  gate.set_value();
  call.join();
  EXPECT_EQ(floats(queued), Floats(kWholePieces, 14));
  EXPECT_EQ(floats(results[0]), Floats(kWholePieces, 300));
}

}  // namespace
}  // namespace tandem
