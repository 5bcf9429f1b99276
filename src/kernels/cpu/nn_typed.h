// Registers the float32, float64 and half-precision forms of one kernel template.
#pragma once

#include "kernels/cpu/nn_through_float.h"

namespace tandem::cpu {

/// Launch32 and Launch64 are the instances of a launch function; the prepare function is
/// shared.
template <auto kPrepare, auto kLaunch32, auto kLaunch64>
void add_float_kernels(KernelRegistry& registry, const char* op) {
  const std::string id = std::string("cpu.") + op;
  registry.add(make_kernel<kPrepare, kLaunch32>(op, id + ".f32", mask(DType::kFloat32)));
  registry.add(make_kernel<kPrepare, kLaunch64>(op, id + ".f64", mask(DType::kFloat64)));
  registry.add(make_half_kernel<kPrepare, kLaunch32>(op, id + ".half"));
}

}  // namespace tandem::cpu
