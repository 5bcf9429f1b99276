// Programs whose branches and loops depend on what a device computes, for tests of
// conditional nodes on every device. They run eagerly and traced alike, and give results
// that do not depend on where they ran.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tandem/control_flow.h"
#include "tandem/tandem.h"

namespace tandem::testing {

struct DeviceProgram {
  std::string name;
  std::function<std::vector<Tensor>(const Tensor&)> run;  // of a float32 [4]
  std::vector<std::vector<float>> arguments;
};

inline std::vector<DeviceProgram> device_programs() {
  using Tensors = std::vector<Tensor>;
  std::vector<DeviceProgram> all;
  all.push_back(
      {"newton",
       [](const Tensor& x) {
         return while_loop(
             [&](const Tensors& s) {
               return logical_and(
                   s[1]<constant(50), reduce_max(abs(s[0] * s[0] - x))> constant(1e-3f));
             },
             [&](const Tensors& s) {
               return Tensors{(s[0] + x / s[0]) * constant(0.5f), s[1] + constant(1)};
             },
             {x, constant(0)});
       },
       {{1, 4, 9, 2}, {100, 400, 3, 1}, {1, 1, 1, 1}}});
  all.push_back({"collatz",
                 [](const Tensor& x) {
                   const Tensor one = constant(int64_t{1}), two = constant(int64_t{2});
                   return while_loop(
                       [&](const Tensors& s) { return reduce_any(s[0] > one); },
                       [&](const Tensors& s) {
                         const Tensor odd = equal(floormod(s[0], two), one);
                         const Tensor next = where(odd, s[0] * constant(int64_t{3}) + one,
                                                   floordiv(s[0], two));
                         const Tensor ends = s[0] <= one;
                         return Tensors{where(ends, s[0], next),
                                        s[1] + cast(logical_not(ends), DType::kInt64)};
                       },
                       {cast(x, DType::kInt64), zeros({4}, DType::kInt64)});
                 },
                 {{1, 2, 7, 27}, {6, 1, 1, 1}, {97, 3, 5, 871}}});
  // Values change places: none can be written where it was read.
  all.push_back({"swap",
                 [](const Tensor& x) {
                   return while_loop(
                       [](const Tensors& s) { return reduce_sum(s[0]) < constant(50.f); },
                       [](const Tensors& s) {
                         return Tensors{s[1], s[0] + constant(1.f), s[1] * constant(2.f)};
                       },
                       {x, x * constant(2.f), x});
                 },
                 {{1, 2, 3, 4}, {50, 1, 1, 1}, {0, 0, 1, 0}}});
  all.push_back({"limited",
                 [](const Tensor& x) {
                   return while_loop(
                       [](const Tensors& s) { return reduce_sum(s[0]) < constant(1e6f); },
                       [](const Tensors& s) { return Tensors{s[0] + constant(1.f)}; },
                       {x}, {.maximum_iterations = 3});
                 },
                 {{1, 2, 3, 4}, {1e7f, 0, 0, 0}, {999995, 0, 0, 0}}});
  all.push_back(
      {"branch in a loop",
       [](const Tensor& x) {
         return while_loop(
             [](const Tensors& s) { return reduce_sum(s[0]) < constant(100.f); },
             [](const Tensors& s) {
               return Tensors{cond(
                                  reduce_sum(s[0]) > constant(20.f),
                                  [&] { return s[0] * constant(1.5f); },
                                  [&] { return s[0] + constant(1.f); }),
                              s[1] + constant(1)};
             },
             {x, constant(0)});
       },
       {{1, 2, 3, 4}, {99, 2, 3, 4}, {20, 0, 0, 0.5f}}});
  all.push_back(
      {"loops in a loop",
       [](const Tensor& x) {
         return while_loop(
             [](const Tensors& s) { return reduce_sum(s[0]) < constant(1000.f); },
             [](const Tensors& s) {
               const Tensors counted = while_loop(
                   [](const Tensors& t) { return t[0] < constant(3); },
                   [](const Tensors& t) {
                     return Tensors{t[0] + constant(1), t[1] + constant(0.25f)};
                   },
                   {constant(0), s[0]});
               const Tensors grown = while_loop(
                   [](const Tensors& t) { return reduce_max(t[0]) < constant(7.f); },
                   [](const Tensors& t) {
                     return Tensors{t[0] * constant(2.f) + constant(1.f)};
                   },
                   {counted[1]});
               return Tensors{s[0] + grown[0] * constant(3.f)};
             },
             {x});
       },
       {{1, 2, 3, 4}, {1000, 0, 0, 0}, {0, 0, 0, 0}}});
  all.push_back({"branch",
                 [](const Tensor& x) {
                   const Tensor y = x * constant(2.f);
                   const Tensors made = cond(
                       reduce_sum(y) > constant(10.f),
                       [&] { return Tensors{y + x, reduce_sum(x), x}; },
                       [&] { return Tensors{y * y, reduce_max(x), y}; });
                   return Tensors{made[0] * constant(3.f), made[1], made[2]};
                 },
                 {{1, 2, 3, 4}, {1, 1, 1, 1}, {-1, -2, 30, 4}}});
  all.push_back(
      {"case",
       [](const Tensor& x) {
         return switch_case(cast(reduce_sum(x), DType::kInt32),
                            {[&] { return Tensors{x + constant(1.f)}; },
                             [&] { return Tensors{x * constant(2.f)}; },
                             [&] {
                               const Tensor m = reshape(x, {2, 2});
                               return Tensors{reshape(matmul(m, m), {4})};
                             }});
       },
       {{0, 0, 0, 0}, {1, 0, 0, 0}, {2, 0, 0, 0}, {9, 1, 2, 3}, {-7, 0, 0, 0}}});
  return all;
}

}  // namespace tandem::testing
