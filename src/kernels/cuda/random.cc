// Stateless random numbers, the same bits as the CPU's for integers and uniforms: floats,
// 32- and 64-bit integers.
#include <fmt/format.h>

#include "kernels/common/random_outputs.h"
#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/program.h"

namespace tandem::cuda {

std::string random_text(DType dtype) {
  return text_prefix(false) + fmt::format("typedef {} T;\n", type_text(dtype)) +
         std::string(device_text("random.cuh"));
}

namespace {

struct RandomPlan {
  Function function;
  int64_t n = 0;
  std::shared_ptr<ErrorSite> site;
};
RandomPlan plan_random(const Signature& s, const char* entry) {
  RandomPlan p;
  p.n = s.out().shape.num_elements();
  p.function = find_function(s.device, s.op->name, random_text(s.out().dtype), entry);
  return p;
}
RandomPlan prepare_uniform(const Signature& s) { return plan_random(s, "uniform"); }
RandomPlan prepare_normal(const Signature& s) { return plan_random(s, "normal"); }
RandomPlan prepare_truncated(const Signature& s) { return plan_random(s, "truncated"); }
RandomPlan prepare_full_int(const Signature& s) { return plan_random(s, "full_int"); }
void launch_random_fill(const RandomPlan& p, const LaunchArgs& a) {
  if (p.n == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, (p.n + 1) / 2), a.inputs[1],
         a.inputs[2], a.outputs[0], p.n);
}

RandomPlan prepare_uniform_int(const Signature& s) {
  RandomPlan p = plan_random(s, "uniform_int");
  p.site = std::make_shared<ErrorSite>(
      [](const Report& r) { return empty_range_text(r.value, r.position); });
  return p;
}
void launch_uniform_int(const RandomPlan& p, const LaunchArgs& a) {
  if (p.n == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, (p.n + 1) / 2), a.inputs[1],
         a.inputs[2], a.inputs[3], a.inputs[4], a.outputs[0], p.n, flags_of(a),
         p.site->id());
}

// One thread: a state is three words. It stays where it is once something has failed.
RandomPlan prepare_next_state(const Signature& s) {
  RandomPlan p;
  p.function =
      find_function(s.device, s.op->name, random_text(DType::kFloat32), "next_state");
  return p;
}
void launch_next_state(const RandomPlan& p, const LaunchArgs& a) {
  launch(p.function, *a.stream, {.threads = 1}, a.inputs[0], a.inputs[1], a.outputs[0],
         a.outputs[1], flags_of(a));
}

RandomPlan prepare_key_counter(const Signature& s) {
  RandomPlan p;
  p.function =
      find_function(s.device, s.op->name, random_text(DType::kFloat32),
                    s.in(0).dtype == DType::kInt64 ? "key_counter64" : "key_counter32");
  return p;
}
void launch_key_counter(const RandomPlan& p, const LaunchArgs& a) {
  launch(p.function, *a.stream, {.threads = 1}, a.inputs[0], a.outputs[0], a.outputs[1]);
}

}  // namespace

void register_random(Kernels& kernels) {
  kernels.add(make_kernel<prepare_next_state, launch_next_state>(
      "NextRandomState", "cuda.next_random_state"));
  kernels.add(make_kernel<prepare_key_counter, launch_key_counter>(
      "StatelessRandomGetKeyCounter", "cuda.key_counter",
      mask(DType::kInt32, DType::kInt64)));
  kernels.add(make_kernel<prepare_uniform, launch_random_fill>(
      "StatelessRandomUniformV2", "cuda.random.uniform", 0, floating_output));
  kernels.add(make_kernel<prepare_uniform, launch_random_fill>(
      "RandomUniformLike", "cuda.random.uniform_like", 0, floating_output));
  kernels.add(make_kernel<prepare_normal, launch_random_fill>(
      "StatelessRandomNormalV2", "cuda.random.normal", 0, floating_output));
  kernels.add(make_kernel<prepare_truncated, launch_random_fill>(
      "StatelessTruncatedNormalV2", "cuda.random.truncated_normal", 0, floating_output));
  kernels.add(make_kernel<prepare_full_int, launch_random_fill>(
      "StatelessRandomUniformFullIntV2", "cuda.random.full_int", 0, wide_integer_output));
  kernels.add(make_kernel<prepare_uniform_int, launch_uniform_int>(
      "StatelessRandomUniformIntV2", "cuda.random.uniform_int", 0, wide_integer_output));
}

}  // namespace tandem::cuda
