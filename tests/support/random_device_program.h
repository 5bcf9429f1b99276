// Random programs with branches and loops that depend on values of a device, nested, with
// a variable that they read and write. All values are small whole numbers, so that every
// device and every order of sums gives the same bits. A seed is a program.
#pragma once

#include <random>
#include <vector>

#include "tandem/control_flow.h"
#include "tandem/tandem.h"

namespace tandem::testing {

class RandomDeviceProgram {
 public:
  RandomDeviceProgram(uint64_t seed, Variable& variable)
      : seed_(seed), variable_(variable) {}

  /// Of a float32 [4]. Makes the same choices in every call.
  std::vector<Tensor> operator()(const Tensor& x) {
    random_.seed(seed_);
    std::vector<Tensor> state{x, x + constant(1.f), floormod(x * x, constant(8.f)),
                              constant(0)};
    for (int i = 0; i < 3; ++i) state = statement(state, 2);
    state.push_back(variable_.read());
    return state;
  }

 private:
  using Tensors = std::vector<Tensor>;

  int pick(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  size_t which() { return static_cast<size_t>(pick(3)); }
  static Tensor small(const Tensor& x) { return floormod(x, constant(16.f)); }

  Tensors block(Tensors state, int depth) {
    const int statements = 1 + pick(3);
    for (int i = 0; i < statements; ++i) state = statement(state, depth);
    return state;
  }

  // A seed for each part, so that it does not matter which parts are traced, or run, how
  // often.
  template <class F>
  auto part(uint64_t seed, const F& body) {
    const std::mt19937_64 outer = random_;
    random_.seed(seed);
    auto made = body();
    random_ = outer;
    return made;
  }

  Tensors statement(Tensors state, int depth) {
    const int kind = depth > 0 ? pick(9) : pick(6);
    if (kind >= 6) return kind == 8 ? branches(state, depth) : loop(state, depth);
    const Tensor a = state[which()], b = state[which()];
    Tensor& to = state[which()];
    switch (kind) {
      case 0:
        to = small(a + b);
        break;
      case 1:
        to = maximum(a, small(b * constant(3.f)));
        break;
      case 2:
        std::swap(state[0], state[static_cast<size_t>(1 + pick(2))]);
        break;
      case 3:
        to = where(a < b, b, small(a + constant(5.f)));
        break;
      case 4:
        to = small(a + reduce_sum(b));
        break;
      case 5:
        if (pick(2)) {
          variable_.assign(small(variable_.read() + a));
        } else {
          to = minimum(variable_.read(), a);
        }
    }
    return state;
  }

  Tensors branches(const Tensors& state, int depth) {
    const Tensor sum = reduce_sum(state[which()]);
    const float limit = static_cast<float>(pick(40));
    const uint64_t first = random_(), second = random_(), third = random_();
    const auto one = [&](uint64_t seed) {
      return [this, &state, seed, depth]() -> Tensors {
        return part(seed, [&] { return block(state, depth - 1); });
      };
    };
    if (pick(2)) return cond(sum > constant(limit), BranchFn(one(first)), one(second));
    return switch_case(cast(floordiv(sum, constant(12.f)), DType::kInt32),
                       {one(first), one(second), one(third)});
  }

  // At most as many turns as its counter says, and fewer when the values say so; the
  // counter is sometimes all that it looks at.
  Tensors loop(Tensors state, int depth) {
    const size_t watched = which();
    const int turns = 1 + pick(6);
    const bool counted = pick(4) == 0;
    const bool limited = pick(4) == 0;
    const float end = static_cast<float>(20 + pick(30));
    const uint64_t seed = random_();
    const Tensor before = state[3];
    state[3] = constant(0);
    Tensors made = while_loop(
        [&](const Tensors& s) {
          const Tensor more = s[3] < constant(turns);
          return counted ? more
                         : logical_and(more, reduce_sum(s[watched]) < constant(end));
        },
        [&](const Tensors& s) {
          Tensors next = part(seed, [&] { return block(s, depth - 1); });
          next[3] = s[3] + constant(1);
          return next;
        },
        state, {.maximum_iterations = limited ? 2 : -1});
    made[3] = made[3] + before;
    return made;
  }

  const uint64_t seed_;
  Variable& variable_;
  std::mt19937_64 random_;
};

}  // namespace tandem::testing
