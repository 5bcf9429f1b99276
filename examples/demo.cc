// The CPU and a second device work on one program at the same time. Run it with `make
// demo`, or with TANDEM_EMULATE_GPUS=1 on a machine without a GPU.
#include <algorithm>
#include <chrono>
#include <vector>

#include <fmt/format.h>

#include <tandem/tandem.h>

namespace td = tandem;

namespace {

double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A chain of matrix products on one device; returns at once where work is asynchronous.
td::Tensor chain(const std::string& device, const td::Tensor& start, int steps) {
  td::DeviceScope scope(device);
  td::Tensor x = start;
  for (int i = 0; i < steps; ++i) x = td::nn::relu(td::matmul(x, start)) * 0.01;
  return x;
}

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<long>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

}  // namespace

int main() {
  fmt::print("1. One program, two devices\n");
  td::Tensor a, b;
  {
    td::DeviceScope cpu("/CPU:0");
    a = td::constant({{1.f, 2.f}, {3.f, 4.f}});
  }
  {
    td::DeviceScope gpu("/GPU:0");
    b = td::matmul(a, a, {.transpose_b = true});  // copied once, counted, asynchronous
  }
  fmt::print("{}\n  on {}\n", b, b.device());

  td::Variable w(td::random::normal({2, 2}));
  td::GradientTape tape;
  auto loss = td::reduce_mean(td::square(td::matmul(a, w)));
  auto [dw] = tape.gradient(loss, {w});
  fmt::print("  loss {:.4f}, gradient on {}\n\n", loss.item<float>(),
             dw.dense().device());

  const bool two = td::device_count("GPU") > 0;
  if (!two) {
    fmt::print("No second device: set TANDEM_EMULATE_GPUS=1 to emulate one.\n");
    return 0;
  }
  const auto physical = td::config::list_physical_devices("GPU");
  const bool emulated = td::config::get_device_details(physical[0]).emulated;

  fmt::print("2. Both at the same time ({})\n",
             emulated ? "GPU:0 is emulated on cores of its own" : "GPU:0 is real");
  td::Tensor on_cpu, on_gpu;
  {
    td::DeviceScope cpu("/CPU:0");
    on_cpu = td::random::normal({512, 512});
  }
  {
    td::DeviceScope gpu("/GPU:0");
    on_gpu = td::random::normal({512, 512});
  }
  // As much work for each as takes about the same time alone.
  const auto time_of = [](auto&& body) {
    const double begin = now();
    body();
    return now() - begin;
  };
  const auto cpu_work = [&](int n) { chain("/CPU:0", on_cpu, n); };
  const auto gpu_work = [&](int n) { chain("/GPU:0", on_gpu, n).wait(); };
  cpu_work(10);
  gpu_work(10);
  const int cpu_steps =
      std::max(1, static_cast<int>(10 * 0.3 / time_of([&] { cpu_work(10); })));
  const int gpu_steps =
      std::max(1, static_cast<int>(10 * 0.3 / time_of([&] { gpu_work(10); })));
  std::vector<double> cpu_alone, gpu_alone, together;
  for (int i = 0; i < 5; ++i) {
    cpu_alone.push_back(time_of([&] { cpu_work(cpu_steps); }));
    gpu_alone.push_back(time_of([&] { gpu_work(gpu_steps); }));
    together.push_back(time_of([&] {
      const td::Tensor pending = chain("/GPU:0", on_gpu, gpu_steps);  // only enqueued
      cpu_work(cpu_steps);
      pending.wait();
    }));
  }
  const double c = median(cpu_alone), g = median(gpu_alone), t = median(together);
  fmt::print("  CPU alone      {:7.1f} ms\n  GPU alone      {:7.1f} ms\n", c * 1e3,
             g * 1e3);
  fmt::print("  both together  {:7.1f} ms   (one after the other: {:.1f} ms)\n", t * 1e3,
             (c + g) * 1e3);
  fmt::print("  speed-up {:.2f}x of at most {:.2f}x\n\n", (c + g) / t,
             (c + g) / std::max(c, g));

  fmt::print("3. What ran where\n");
  td::start_recording();
  const td::Tensor pending = chain("/GPU:0", on_gpu, gpu_steps);
  cpu_work(cpu_steps);
  const td::Tensor sum = td::reduce_sum(pending).to("/CPU:0");
  sum.wait();
  const auto events = td::stop_recording();
  for (const td::LaneSummary& lane : td::summarize(events)) {
    fmt::print("  {:<16} {:5} events, busy {:7.1f} ms{}\n", lane.lane, lane.events,
               lane.busy * 1e3,
               lane.bytes ? fmt::format(", {} bytes", lane.bytes) : std::string());
  }
  const td::CopyStats copies = td::copy_stats();
  fmt::print("  copies between devices since the start: {} ({} bytes)\n", copies.count,
             copies.bytes);
  return 0;
}
