// Random ops with parameters for every element: definitions.
#include "tandem/ops/random_parameters.h"

#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/expected_shape.h"
#include "ops/random_parameters.h"

namespace tandem {

namespace {

void infer_like_parameters(InferContext& c) {
  c.rank(1, 1);
  c.rank(2, 1);
  expect_shape(c, 1, {1});
  c.require(!c.shape(2).is_known() || c.shape(2)[0] >= 2,
            "counter must have 2 elements, got shape " + c.shape(2).debug_str());
  const int first = 3;
  for (int i = first; i < c.num_inputs(); ++i) {
    if (c.shape(i).is_known() && c.shape(first).is_known() &&
        !(c.shape(i) == c.shape(first))) {
      c.fail(
          fmt::format("parameters must have one shape, got {} and {}. Broadcast them "
                      "first",
                      c.shape(first).debug_str(), c.shape(i).debug_str()));
    }
  }
  c.add_output(c.dtype(first), c.shape(first));
}

// Input 0, the shape of the result, is that of the parameters already.
OpDef sampler(const char* name, const char* doc, std::vector<const char*> parameters) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {{'S', kIndices},
               {'K', mask(DType::kUInt64)},
               {'T', mask(DType::kFloat32, DType::kFloat64)}};
  def.inputs = {{.name = "shape", .type = 'S', .host = true},
                {.name = "key", .type = 'K'},
                {.name = "counter", .type = 'K'}};
  for (const char* p : parameters) def.inputs.push_back({.name = p});
  def.infer = infer_like_parameters;
  def.differentiable = false;
  return def;
}

}  // namespace

void register_random_parameter_ops(OpTable& table) {
  table.add(
      sampler("StatelessRandomPoissonV2", "Counts of Poisson distributions.", {"lam"}));
  table.add(sampler("StatelessRandomBinomialV2", "Successes among independent tries.",
                    {"counts", "probs"}));
  table.add(sampler("StatelessParameterizedTruncatedNormalV2",
                    "Normal numbers between bounds.",
                    {"means", "stddevs", "minvals", "maxvals"}));
}

namespace random {

namespace {
Tensor no_shape() { return constant(std::vector<int32_t>{}, {0}); }
}  // namespace

Tensor stateless_poisson(const KeyCounter& state, const Tensor& lam) {
  static const OpHandle op("StatelessRandomPoissonV2");
  return emit(op, {no_shape(), state.key, state.counter, lam});
}
Tensor stateless_binomial(const KeyCounter& state, const Tensor& counts,
                          const Tensor& probs) {
  static const OpHandle op("StatelessRandomBinomialV2");
  return emit(op, {no_shape(), state.key, state.counter, counts, probs});
}
Tensor stateless_bounded_normal(const KeyCounter& state, const Tensor& means,
                                const Tensor& stddevs, const Tensor& minvals,
                                const Tensor& maxvals) {
  static const OpHandle op("StatelessParameterizedTruncatedNormalV2");
  return emit(op,
              {no_shape(), state.key, state.counter, means, stddevs, minvals, maxvals});
}

}  // namespace random

}  // namespace tandem
