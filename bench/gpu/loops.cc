#include "gpu/loops.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "common/worker.h"
#include "tandem/control_flow.h"
#include "tandem/function.h"
#include "tandem/tandem.h"

namespace bench::gpu {

namespace {

namespace td = tandem;
using td::Tensor;
using Tensors = std::vector<Tensor>;

struct LoopCase {
  const char* name;
  const char* what;
  std::function<Tensor(const Tensor&)> run;
  td::Shape shape;
};

// A square root by Newton's method, until the largest error is small.
Tensor newton(const Tensor& x) {
  return td::while_loop(
      [&](const Tensors& s) {
        return td::reduce_max(td::abs(s[0] * s[0] - x)) > td::constant(1e-3f);
      },
      [&](const Tensors& s) { return Tensors{(s[0] + x / s[0]) * td::constant(0.5f)}; },
      {x * td::constant(1e6f)})[0];
}

Tensor counted_by_the_device(const Tensor& x) {
  return td::while_loop(
      [](const Tensors& s) { return td::reduce_max(s[1]) < td::constant(1000.f); },
      [](const Tensors& s) {
        return Tensors{td::tanh(td::matmul(s[0], s[0])) + td::constant(0.01f),
                       s[1] + td::constant(1.f)};
      },
      {x * td::constant(0.05f), td::zeros({4})})[0];
}

// As loss scaling has it: an update that is left out when a value is not finite.
Tensor branch(const Tensor& x) {
  const Tensor y = td::matmul(x, x);
  return td::cond(
             td::reduce_all(td::is_finite(y)), [&] { return y + x; }, [&] { return x; }) *
         td::constant(2.f);
}

struct Quartiles {
  double low, middle, high;
};
Quartiles quartiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double q) {
    return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
  };
  return {at(0.25), at(0.5), at(0.75)};
}

// A function with its plan; whether nodes are used is asked when that is made.
auto prepare(const LoopCase& c, const Tensor& x, bool nodes) {
  setenv("TANDEM_CONDITIONAL_NODES", nodes ? "1" : "0", 1);
  auto f = td::function([&c](Tensor t) { return c.run(t); });
  f(x).wait();
  unsetenv("TANDEM_CONDITIONAL_NODES");
  return f;
}

void print_case(const LoopCase& c) {
  constexpr int kRounds = 31;
  const Tensor x = td::identity(td::fill(c.shape, td::constant(2.f)));
  const auto decided = prepare(c, x, true), looked = prepare(c, x, false);
  if (decided(x).to_vector<float>() != looked(x).to_vector<float>()) {
    fmt::print("{}: the results differ\n", c.name);
    return;
  }
  std::vector<double> device, host, ratio;
  for (int i = 0; i < kRounds; ++i) {
    device.push_back(time_ns([&](int64_t) { decided(x).wait(); }, 1) / 1e3);
    host.push_back(time_ns([&](int64_t) { looked(x).wait(); }, 1) / 1e3);
    ratio.push_back(host.back() / device.back());
  }
  const Quartiles d = quartiles(device), h = quartiles(host), r = quartiles(ratio);
  fmt::print(
      "{{\"loop\": \"{}\", \"node_us\": {:.2f}, \"host_us\": {:.2f}, \"ratio\": {:.3f}, "
      "\"spread\": {:.3f}}}\n",
      c.name, d.middle, h.middle, r.middle, (r.high - r.low) / 2);
  fmt::print("{:<10} {:>10.1f} us as a node {:>10.1f} us by the host  {:.2f} times  {}\n",
             c.name, d.middle, h.middle, r.middle, c.what);
}

}  // namespace

void print_loops() {
  const LoopCase cases[] = {
      {"newton", "Newton's method on 65536 numbers until it converges", newton, {65536}},
      {"thousand", "1000 turns of a product 16x16", counted_by_the_device, {16, 16}},
      {"branch", "an update that depends on finite values, 256x256", branch, {256, 256}},
  };
  for (const LoopCase& c : cases) print_case(c);
}

}  // namespace bench::gpu
