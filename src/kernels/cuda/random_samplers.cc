// Samplers that reject numbers: StatelessRandomGammaV3 (floats), Poisson, binomial and
// bounded normal numbers (float32, float64), StatelessMultinomialV2 (floats),
// StatelessShuffleV2 (everything but strings). The random bits are the CPU's.
#include <fmt/format.h>

#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/program.h"

namespace tandem::cuda {

std::string random_text(DType dtype);

std::string sampler_text(DType dtype, const char* file) {
  return random_text(dtype) + std::string(device_text(file));
}

namespace {

// ---- Numbers with parameters ---------------------------------------------------------

struct SamplerPlan {
  Function function;
  int64_t n = 0, alphas = 0;
};
SamplerPlan plan_sampler(const Signature& s, const char* entry) {
  SamplerPlan p;
  p.n = s.out().shape.num_elements();
  p.function = find_function(s.device, s.op->name,
                             sampler_text(s.out().dtype, "random_samplers.cuh"), entry);
  return p;
}
SamplerPlan prepare_gamma(const Signature& s) {
  SamplerPlan p = plan_sampler(s, "gamma_samples");
  p.alphas = s.in(3).shape.num_elements();
  return p;
}
void launch_gamma(const SamplerPlan& p, const LaunchArgs& a) {
  if (p.n == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.n), a.inputs[1], a.inputs[2],
         a.inputs[3], a.outputs[0], p.alphas, p.n / p.alphas);
}
SamplerPlan prepare_poisson(const Signature& s) {
  return plan_sampler(s, "poisson_samples");
}
void launch_poisson(const SamplerPlan& p, const LaunchArgs& a) {
  if (p.n == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.n), a.inputs[1], a.inputs[2],
         a.inputs[3], a.outputs[0], p.n);
}
SamplerPlan prepare_binomial(const Signature& s) {
  return plan_sampler(s, "binomial_samples");
}
void launch_binomial(const SamplerPlan& p, const LaunchArgs& a) {
  if (p.n == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.n), a.inputs[1], a.inputs[2],
         a.inputs[3], a.inputs[4], a.outputs[0], p.n);
}
SamplerPlan prepare_bounded(const Signature& s) {
  return plan_sampler(s, "bounded_samples");
}
void launch_bounded(const SamplerPlan& p, const LaunchArgs& a) {
  if (p.n == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.n), a.inputs[1], a.inputs[2],
         a.inputs[3], a.inputs[4], a.inputs[5], a.inputs[6], a.outputs[0], p.n);
}

// ---- Classes -------------------------------------------------------------------------

struct ClassesPlan {
  Function sums, draw;
  int64_t rows = 0, classes = 0, samples = 0;
  size_t workspace_bytes = 0;  // sums of probabilities
};
bool index_output(const Signature& s) {
  return s.out().dtype == DType::kInt32 || s.out().dtype == DType::kInt64;
}
ClassesPlan prepare_classes(const Signature& s) {
  const Shape& logits = s.in(0).shape;
  ClassesPlan p;
  p.rows = logits[0];
  p.classes = logits[1];
  p.samples = s.out().shape[1];
  const std::string text = sampler_text(s.in(0).dtype, "random_classes.cuh");
  p.sums = find_function(s.device, s.op->name, text, "class_sums");
  p.draw =
      find_function(s.device, s.op->name, text,
                    s.out().dtype == DType::kInt64 ? "draw_classes64" : "draw_classes32");
  p.workspace_bytes = static_cast<size_t>(p.rows * p.classes) * sizeof(double);
  return p;
}
void launch_classes(const ClassesPlan& p, const LaunchArgs& a) {
  const int64_t n = p.rows * p.samples;
  if (n == 0) return;
  const Grid grid{.x = static_cast<unsigned>(std::min<int64_t>(p.rows, 1 << 20)),
                  .threads = 128};
  launch(p.sums, *a.stream, grid, a.inputs[0], a.workspace, p.rows, p.classes);
  launch(p.draw, *a.stream, grid_for(p.draw, n), a.workspace, a.inputs[1], a.inputs[2],
         a.outputs[0], p.rows, p.classes, p.samples);
}

// ---- Shuffled rows -------------------------------------------------------------------

struct ShufflePlan {
  Function clear, link, follow, take;
  int64_t rows = 0, row = 0;
  size_t workspace_bytes = 0;  // heads and links of lists, the order
};
ShufflePlan prepare_shuffle(const Signature& s) {
  const Shape& shape = s.in(0).shape;
  ShufflePlan p;
  p.rows = shape.rank() > 0 ? shape[0] : 1;
  p.row = p.rows ? shape.num_elements() / p.rows : 0;
  const std::string text =
      text_prefix(false) +
      fmt::format("typedef {} T;\n", bits_text(dtype_size(s.in(0).dtype))) +
      std::string(device_text("random.cuh")) +
      std::string(device_text("random_shuffle.cuh"));
  const auto find = [&](const char* entry) {
    return find_function(s.device, s.op->name, text, entry);
  };
  p.clear = find("clear_steps");
  p.link = find("link_steps");
  p.follow = find("follow_steps");
  p.take = find("take_rows");
  p.workspace_bytes = 3 * static_cast<size_t>(p.rows) * sizeof(int64_t);
  return p;
}
void launch_shuffle(const ShufflePlan& p, const LaunchArgs& a) {
  if (p.rows * p.row == 0) return;
  auto* heads = static_cast<int64_t*>(a.workspace);
  int64_t *next = heads + p.rows, *order = next + p.rows;
  const Grid grid = grid_for(p.clear, p.rows);
  launch(p.clear, *a.stream, grid, heads, p.rows);
  launch(p.link, *a.stream, grid, a.inputs[1], a.inputs[2], heads, next, p.rows);
  launch(p.follow, *a.stream, grid, a.inputs[1], a.inputs[2], heads, next, order, p.rows);
  launch(p.take, *a.stream, grid_for(p.take, p.rows * p.row), a.inputs[0], a.outputs[0],
         order, p.rows, p.row);
}

}  // namespace

void register_random_samplers(Kernels& kernels) {
  constexpr DTypeMask kWide = mask(DType::kFloat32, DType::kFloat64);
  kernels.add(make_kernel<prepare_gamma, launch_gamma>("StatelessRandomGammaV3",
                                                       "cuda.random.gamma", kFloats));
  kernels.add(make_kernel<prepare_poisson, launch_poisson>("StatelessRandomPoissonV2",
                                                           "cuda.random.poisson", kWide));
  kernels.add(make_kernel<prepare_binomial, launch_binomial>(
      "StatelessRandomBinomialV2", "cuda.random.binomial", kWide));
  kernels.add(make_kernel<prepare_bounded, launch_bounded>(
      "StatelessParameterizedTruncatedNormalV2", "cuda.random.bounded_normal", kWide));
  kernels.add(make_kernel<prepare_classes, launch_classes>(
      "StatelessMultinomialV2", "cuda.random.multinomial", kFloats, index_output));
  kernels.add(make_kernel<prepare_shuffle, launch_shuffle>(
      "StatelessShuffleV2", "cuda.random.shuffle", kPlain));
}

}  // namespace tandem::cuda
