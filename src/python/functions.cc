// Functions of the C++ interface that are made of several ops (einsum, norms, random
// numbers from seeds), so that Python need not write them again. They take tensors, run
// without the interpreter lock, and are wrapped with TensorFlow's signatures in Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "ops/random_draw.h"
#include "python/bind.h"
#include "python/casters.h"
#include "tandem/lookup.h"
#include "tandem/ops.h"

namespace tandem::python {

namespace {

using random::Seed2;

Seed2 seed_of(const Ints& seed) {
  if (seed.size() != 2) throw ValueError("seed must have shape [2]");
  return {seed[0], seed[1]};
}

void bind_linalg(nb::module_& f) {
  f.def(
      "einsum",
      [](const std::string& equation, const std::vector<Tensor>& inputs) {
        return einsum(equation, inputs);
      },
      Unlocked());
  f.def(
      "tensordot",
      [](const Tensor& a, const Tensor& b, const Ints& a_axes, const Ints& b_axes) {
        return tensordot(a, b, a_axes, b_axes);
      },
      Unlocked());
  f.def("logdet", [](const Tensor& a) { return linalg::logdet(a); }, Unlocked());
  f.def(
      "pinv",
      [](const Tensor& a, std::optional<double> rcond) { return linalg::pinv(a, rcond); },
      nb::arg("a"), nb::arg("rcond").none(), Unlocked());
  f.def(
      "matrix_rank",
      [](const Tensor& a, std::optional<double> tol) {
        return linalg::matrix_rank(a, tol);
      },
      nb::arg("a"), nb::arg("tol").none(), Unlocked());
  f.def(
      "lstsq",
      [](const Tensor& a, const Tensor& rhs, double l2) {
        return linalg::lstsq(a, rhs, l2);
      },
      Unlocked());
  f.def(
      "cholesky_solve",
      [](const Tensor& chol, const Tensor& rhs) {
        return linalg::cholesky_solve(chol, rhs);
      },
      Unlocked());
}

void bind_random(nb::module_& f) {
  f.def("set_seed", [](int64_t seed) { random::set_seed(seed); });
  f.def("clear_seed", [] { random::clear_seed(); });
  // Key and counter for a traced op whose shape is known when the function runs.
  f.def(
      "draw_traced",
      [](int64_t seed, const Tensor& blocks) {
        random::KeyCounter state = draw_traced(seed, blocks);
        return std::make_pair(std::move(state.key), std::move(state.counter));
      },
      Unlocked());
  f.def(
      "uniform",
      [](const Shape& shape, double minval, double maxval, DType dtype, int64_t seed) {
        return random::uniform(shape, {minval, maxval, dtype, seed});
      },
      Unlocked());
  f.def(
      "normal",
      [](const Shape& shape, double mean, double stddev, DType dtype, int64_t seed) {
        return random::normal(shape, {mean, stddev, dtype, seed});
      },
      Unlocked());
  f.def(
      "truncated_normal",
      [](const Shape& shape, double mean, double stddev, DType dtype, int64_t seed) {
        return random::truncated_normal(shape, {mean, stddev, dtype, seed});
      },
      Unlocked());
  f.def(
      "gamma",
      [](const Shape& shape, const Tensor& alpha, const Tensor& beta, int64_t seed) {
        return beta.defined() ? random::gamma(shape, alpha, beta, {seed})
                              : random::gamma(shape, alpha, {seed});
      },
      nb::arg("shape"), nb::arg("alpha"), nb::arg("beta").none(), nb::arg("seed"),
      Unlocked());
  f.def(
      "categorical",
      [](const Tensor& logits, int64_t samples, DType dtype, int64_t seed) {
        return random::categorical(logits, samples, {dtype, seed});
      },
      Unlocked());
  f.def(
      "shuffle", [](const Tensor& x, int64_t seed) { return random::shuffle(x, {seed}); },
      Unlocked());
  f.def(
      "stateless_uniform",
      [](const Shape& shape, const Ints& seed, double minval, double maxval,
         DType dtype) {
        return random::stateless_uniform(shape, seed_of(seed), {minval, maxval, dtype});
      },
      Unlocked());
  f.def(
      "stateless_uniform_full_int",
      [](const Shape& shape, const Ints& seed, DType dtype) {
        return random::stateless_uniform_full_int(shape, seed_of(seed), dtype);
      },
      Unlocked());
  f.def(
      "stateless_normal",
      [](const Shape& shape, const Ints& seed, double mean, double stddev, DType dtype) {
        return random::stateless_normal(shape, seed_of(seed), {mean, stddev, dtype});
      },
      Unlocked());
  f.def(
      "stateless_truncated_normal",
      [](const Shape& shape, const Ints& seed, double mean, double stddev, DType dtype) {
        return random::stateless_truncated_normal(shape, seed_of(seed),
                                                  {mean, stddev, dtype});
      },
      Unlocked());
  f.def(
      "stateless_gamma",
      [](const Shape& shape, const Ints& seed, const Tensor& alpha) {
        return random::stateless_gamma(shape, seed_of(seed), alpha);
      },
      Unlocked());
  f.def(
      "stateless_categorical",
      [](const Tensor& logits, int64_t samples, const Ints& seed, DType dtype) {
        return random::stateless_categorical(logits, samples, seed_of(seed), dtype);
      },
      Unlocked());
  f.def(
      "stateless_shuffle",
      [](const Tensor& x, const Ints& seed) {
        return random::stateless_shuffle(x, seed_of(seed));
      },
      Unlocked());
}

}  // namespace

void bind_functions(nb::module_& m) {
  nb::module_ f = m.def_submodule("functions", "Functions made of several ops.");
  bind_linalg(f);
  bind_random(f);
  bind_nn_functions(f);
  f.def("make_table",
        [](DType key, DType value) { return lookup::make_table(key, value); });
  f.def("drop_table", [](int64_t table) { lookup::drop_table(table); });
  f.def(
      "boolean_mask",
      [](const Tensor& tensor, const Tensor& mask, int64_t axis) {
        return boolean_mask(tensor, mask, {axis});
      },
      Unlocked());
}

}  // namespace tandem::python
