// Control flow in compiled functions: a loop that runs until Newton's method has
// converged with a gradient through it, a list of unknown length, and a branch that
// writes a variable and prints.
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include <tandem/tandem.h>

namespace td = tandem;

namespace {

// x³ + x - a: it grows everywhere, so there is one root for every a.
td::Tensor cubic(const td::Tensor& x, const td::Tensor& a) { return x * x * x + x - a; }

}  // namespace

int main() {
  // The root for every element of a, found by as many turns as the slowest one needs.
  auto root = td::function(
      [](td::Tensor a) {
        const td::Tensor start = td::zeros_like(a);
        const auto far = [&](const std::vector<td::Tensor>& state) {
          return td::reduce_any(td::abs(cubic(state[1], a)) > 1e-5f * (td::abs(a) + 1.f));
        };
        const auto newton = [&](const std::vector<td::Tensor>& state) {
          const td::Tensor& x = state[1];
          const td::Tensor next = x - cubic(x, a) / (3.f * x * x + 1.f);
          return std::vector<td::Tensor>{state[0] + 1, next};
        };
        const auto end = td::while_loop(far, newton, {td::constant(0), start},
                                        {.maximum_iterations = 50});
        return std::pair(end[1], end[0]);
      },
      {.name = "root"});

  const td::Tensor a = td::constant({0.f, 2.f, 10.f, 1000.f});
  const auto [x, turns] = root(a);
  fmt::print("roots {}\nafter {} turns\n", x, turns.item<int32_t>());

  // d root / d a = 1 / (3 x² + 1): the tape goes back through the turns that were made.
  td::GradientTape tape;
  tape.watch(a);
  const td::Tensor again = root(a).first;
  fmt::print("derivative {}\nformula    {}\n", tape.gradient(again, a).dense(),
             1.f / (3.f * x * x + 1.f));

  // Rows of a table that is filled element by element; the length is a tensor.
  auto powers = td::function([](td::Tensor base, td::Tensor count) {
    const td::TensorArray empty(count,
                                {.dtype = td::DType::kFloat32, .element_shape = {}});
    const auto end = td::while_loop(
        [&](const std::vector<td::Tensor>& s) { return s[0] < count; },
        [&](const std::vector<td::Tensor>& s) {
          return std::vector<td::Tensor>{s[0] + 1, s[1] * base,
                                         empty.from_flow(s[2]).write(s[0], s[1]).flow()};
        },
        {td::constant(0), td::constant(1.f), empty.flow()});
    return empty.from_flow(end[2]).stack();
  });
  fmt::print("powers {}\n", powers(td::constant(2.f), td::constant(8)));
  fmt::print("powers {}\n", powers(td::constant(3.f), td::constant(4)));

  // A branch: loss scaling backs off when a value is not finite.
  td::Variable scale(td::constant(1024.f), {.name = "scale"});
  auto adapt = td::function([&](td::Tensor value) {
    return td::cond(
        td::reduce_all(td::is_finite(value)), [&] { return scale.read(); },
        [&] {
          scale.assign(scale.read() * 0.5f);
          td::print("not finite: the scale is now", scale);
          return scale.read();
        });
  });
  adapt(td::constant({1.f, 2.f}));
  adapt(td::constant({1.f, INFINITY}));
  fmt::print("scale {}\n", scale.read().item<float>());
  return 0;
}
