// The CPU and a second device work on one program at the same time. Run it with `make
// demo`, or with TANDEM_EMULATE_GPUS=1 on a machine without a GPU.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sched.h>
#include <time.h>

#include <tandem/tandem.h>

namespace td = tandem;

namespace {

double seconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
double now() { return seconds(CLOCK_MONOTONIC); }

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<long>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

/// Hardware threads that this process may use.
int usable_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/// Processor time in seconds that the whole machine has used since it started.
double machine_seconds() {
  std::ifstream file("/proc/stat");
  std::string line;
  std::getline(file, line);
  std::istringstream fields(line.substr(std::min<size_t>(line.size(), 4)));
  double user = 0, nice = 0, system = 0;
  fields >> user >> nice >> system;
  return (user + nice + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// What other programs computed, in cores, while this lives.
class Others {
 public:
  double cores() const {
    const double mine = seconds(CLOCK_PROCESS_CPUTIME_ID) - mine_;
    return std::max(0.0, (machine_seconds() - all_ - mine) / (now() - begin_));
  }

 private:
  double begin_ = now(), all_ = machine_seconds(),
         mine_ = seconds(CLOCK_PROCESS_CPUTIME_ID);
};

// ---- what this machine can give at most ----------------------------------------------

/// Plain arithmetic that needs no memory.
void compute(int64_t turns) {
  double sums[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (int64_t i = 0; i < turns; ++i) {
    for (double& s : sums) s = s * 0.999 + 0.001;
  }
  volatile double kept = sums[0] + sums[7];
  (void)kept;
}

/// How much more two threads compute than one: 2 on two cores, less on two hardware
/// threads of one core or where others compute, too.
double two_threads_beside_one() {
  constexpr int64_t kTurns = 8'000'000;
  std::vector<double> ratios;
  for (int i = 0; i < 5; ++i) {
    const double begin = now();
    compute(kTurns);
    const double one = now() - begin;
    std::thread other([] { compute(kTurns); });
    compute(kTurns);
    other.join();
    ratios.push_back(2 * one / (now() - begin - one));
  }
  return std::clamp(median(ratios), 1.0, 2.0);
}

// ---- work for two devices ------------------------------------------------------------

/// A chain of matrix products on one device; returns at once where work is asynchronous.
td::Tensor chain(const std::string& device, const td::Tensor& start, int steps) {
  td::DeviceScope scope(device);
  td::Tensor x = start;
  for (int i = 0; i < steps; ++i) x = td::tanh(td::matmul(x, start));
  return x;
}

template <class F>
double time_of(F&& body) {
  const double begin = now();
  body();
  return now() - begin;
}

/// As many steps as take `wanted` seconds.
template <class F>
int steps_for(double wanted, F&& work) {
  work(3);  // prepares
  int steps = 4;
  double taken = time_of([&] { work(steps); });
  while (taken < wanted / 8) taken = time_of([&] { work(steps *= 2); });
  return std::max(1, static_cast<int>(steps * wanted / taken + 0.5));
}

/// A square matrix whose product takes so long that a few hundred of them fill a quarter
/// of a second: a device's queue has room for them, and the host is not held up.
td::Tensor matrix_for(const std::string& device) {
  constexpr double kLeast = 0.5e-3;
  constexpr int kTried = 10;
  td::DeviceScope scope(device);
  for (int64_t side = 512;; side *= 2) {
    const td::Tensor made = td::random::normal({side, side}) * 0.05f;
    chain(device, made, 2).wait();  // prepares
    const double taken = time_of([&] { chain(device, made, kTried).wait(); });
    if (taken >= kLeast * kTried || side == 8192) return made;
  }
}

struct Times {
  double cpu = 0, gpu = 0, both = 0;
  double speed_up() const { return (cpu + gpu) / both; }
};

// ---- the picture ---------------------------------------------------------------------

constexpr int kColumns = 60;

/// A line for each lane: # where it computes or copies for more than half of a column's
/// time, - for less, . for nothing.
void draw(const std::vector<td::RecordedEvent>& events,
          const std::vector<std::string>& lanes) {
  double begin = 1e30, end = 0;
  for (const td::RecordedEvent& e : events) {
    if (e.kind != "op" && e.kind != "copy") continue;
    begin = std::min(begin, e.begin);
    end = std::max(end, e.end);
  }
  if (end <= begin) return;
  const double column = (end - begin) / kColumns;
  for (const std::string& lane : lanes) {
    std::vector<std::pair<double, double>> busy;  // by begin, disjoint
    for (const td::RecordedEvent& e : events) {
      if (e.lane != lane || (e.kind != "op" && e.kind != "copy")) continue;
      if (!busy.empty() && e.begin <= busy.back().second) {
        busy.back().second = std::max(busy.back().second, e.end);
      } else {
        busy.emplace_back(e.begin, e.end);
      }
    }
    std::vector<double> shares(kColumns, 0.0);
    for (const auto& [from, to] : busy) {
      for (int i = 0; i < kColumns; ++i) {
        const double left = begin + i * column, right = left + column;
        shares[static_cast<size_t>(i)] +=
            std::max(0.0, std::min(to, right) - std::max(from, left)) / column;
      }
    }
    std::string line;
    for (const double share : shares) line += share > 0.5 ? '#' : share > 0 ? '-' : '.';
    fmt::print("  {:<14} |{}|\n", lane, line);
  }
  fmt::print("  {:<14}  0{:>{}.0f} ms\n", "", (end - begin) * 1e3, kColumns - 1);
}

void one_program_two_devices() {
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
}

}  // namespace

int main() {
  // An emulated GPU computes on a core of this machine. Where there is none to spare, it
  // is made slower than its core, so that the core is free most of the time.
  const bool asked = std::getenv("TANDEM_EMULATE_GPUS") != nullptr;
  const int threads = usable_threads();
  const double machine = threads > 1 ? two_threads_beside_one() : 1;
  constexpr double kTwoCores = 1.5, kModelledSpeed = 0.1;
  if (asked && machine < kTwoCores && !std::getenv("TANDEM_EMULATED_SPEED")) {
    setenv("TANDEM_EMULATED_SPEED", std::to_string(kModelledSpeed).c_str(), 1);
  }
  const char* speed_text = std::getenv("TANDEM_EMULATED_SPEED");

  one_program_two_devices();
  if (td::device_count("GPU") == 0) {
    fmt::print("No second device: set TANDEM_EMULATE_GPUS=1 to emulate one.\n");
    return 0;
  }
  const bool emulated =
      td::config::get_device_details(td::config::list_physical_devices("GPU")[0])
          .emulated;
  const double speed = emulated && speed_text ? std::strtod(speed_text, nullptr) : 1;

  fmt::print("2. Both at the same time\n");
  if (!emulated) {
    fmt::print("  GPU:0 is real.\n");
  } else if (speed == 1) {
    fmt::print(
        "  GPU:0 is emulated: a core of this machine plays it, CPU:0 has the others.\n");
  } else {
    fmt::print(
        "  GPU:0 is emulated and modelled: its kernels take {:.0f} times as long as on a "
        "core, "
        "which\n  is free meanwhile (two threads compute {:.2f} times as much as one "
        "here).\n",
        1 / speed, machine);
  }
  const td::Tensor on_cpu = matrix_for("/CPU:0"), on_gpu = matrix_for("/GPU:0");
  // As much work for each as takes about the same time alone.
  const auto cpu_work = [&](int n) { chain("/CPU:0", on_cpu, n); };
  const auto gpu_work = [&](int n) { chain("/GPU:0", on_gpu, n).wait(); };
  constexpr double kAlone = 0.25;
  const int cpu_steps = steps_for(kAlone, cpu_work);
  const int gpu_steps = steps_for(kAlone, gpu_work);
  const auto together = [&] {
    const td::Tensor pending = chain("/GPU:0", on_gpu, gpu_steps);  // only enqueued
    cpu_work(cpu_steps);
    pending.wait();
  };

  // Until the middle of what was measured no longer moves.
  constexpr int kLeast = 5, kMost = 15;
  const Others others;
  std::vector<double> cpu, gpu, both;
  Times times;
  double machine_now = machine;
  for (int round = 1; round <= kMost; ++round) {
    cpu.push_back(time_of([&] { cpu_work(cpu_steps); }));
    gpu.push_back(time_of([&] { gpu_work(gpu_steps); }));
    both.push_back(time_of(together));
    const Times before = times;
    times = {median(cpu), median(gpu), median(both)};
    if (round > kLeast && std::abs(times.speed_up() / before.speed_up() - 1) < 0.01)
      break;
  }
  if (emulated && threads > 1)
    machine_now = two_threads_beside_one();  // in the same minute
  // Nothing is faster than the longer of the two. What an emulated GPU computes also
  // takes a part of the machine.
  double at_most = (times.cpu + times.gpu) / std::max(times.cpu, times.gpu);
  if (emulated) {
    const double least = (times.cpu + times.gpu * speed) / std::min(machine, machine_now);
    at_most = std::min(at_most, (times.cpu + times.gpu) / least);
  }
  fmt::print("  CPU alone      {:7.1f} ms\n  GPU alone      {:7.1f} ms\n",
             times.cpu * 1e3, times.gpu * 1e3);
  fmt::print("  both together  {:7.1f} ms   (one after the other: {:.1f} ms)\n",
             times.both * 1e3, (times.cpu + times.gpu) * 1e3);
  const double share = times.speed_up() / at_most;
  fmt::print("  speed-up {:.2f}x; this machine can give {:.2f}x: {:.0f} % of it\n",
             times.speed_up(), at_most, 100 * share);
  if (share < 0.9) {
    const double busy = others.cores();
    if (busy > 0.1) {
      fmt::print("  Disturbed: other programs used {:.1f} of {} cores meanwhile.\n", busy,
                 threads);
    } else {
      fmt::print(
          "  Less than 90 %, though nothing else ran: please tell us, with the output of "
          "`tandem doctor`.\n");
    }
  }

  fmt::print("\n3. Who worked when (# busy, - partly, . idle)\n");
  const td::CopyStats before = td::copy_stats();
  td::start_recording();
  const td::Tensor pending = chain("/GPU:0", on_gpu, gpu_steps);
  cpu_work(cpu_steps);
  const td::Tensor sum = td::reduce_sum(pending).to("/CPU:0");
  sum.wait();
  const auto events = td::stop_recording();
  const auto lanes = td::summarize(events);
  std::vector<std::string> names;
  for (const td::LaneSummary& lane : lanes) names.push_back(lane.lane);
  draw(events, names);
  for (const td::LaneSummary& lane : lanes) {
    fmt::print("  {:<14} {:5} events, busy {:7.1f} ms{}\n", lane.lane, lane.events,
               lane.busy * 1e3,
               lane.bytes ? fmt::format(", {} bytes", lane.bytes) : std::string());
  }
  const td::CopyStats copies = td::copy_stats();
  fmt::print("  copies between devices: {} ({} bytes)\n", copies.count - before.count,
             copies.bytes - before.bytes);
  return 0;
}
