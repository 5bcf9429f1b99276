// Cross products of vectors of 3.
// dtypes: all integers and floating-point ones; halves compute through float.
#include <cstdint>

#include "base/parallel.h"
#include "kernels/cpu/lapack.h"

namespace tandem::cpu {

namespace {

struct CrossPlan {
  int64_t vectors;
};
CrossPlan prepare_cross(const Signature& s) { return {s.out().shape.num_elements() / 3}; }

template <class T, class Compute>
void launch_cross(const CrossPlan& p, const LaunchArgs& args) {
  const T *a = args.in<T>(0), *b = args.in<T>(1);
  T* c = args.out<T>();
  parallel_for(p.vectors, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * 3; i < end * 3; i += 3) {
      const auto x = [&](int k) { return static_cast<Compute>(a[i + k]); };
      const auto y = [&](int k) { return static_cast<Compute>(b[i + k]); };
      c[i] = static_cast<T>(x(1) * y(2) - x(2) * y(1));
      c[i + 1] = static_cast<T>(x(2) * y(0) - x(0) * y(2));
      c[i + 2] = static_cast<T>(x(0) * y(1) - x(1) * y(0));
    }
  });
}

template <class T, class Compute>
void add_cross(KernelRegistry& registry, const char* id, DTypeMask dtypes) {
  registry.add(
      make_kernel<&prepare_cross, &launch_cross<T, Compute>>("Cross", id, dtypes));
}

}  // namespace

// Integers wrap around: products of unsigned numbers give the low bits that signed ones
// have.
void register_cross_kernel(KernelRegistry& registry) {
  using enum DType;
  add_cross<float, float>(registry, "cpu.cross.f32", mask(kFloat32));
  add_cross<double, double>(registry, "cpu.cross.f64", mask(kFloat64));
  add_cross<float16, float>(registry, "cpu.cross.f16", mask(kFloat16));
  add_cross<bfloat16, float>(registry, "cpu.cross.bf16", mask(kBFloat16));
  add_cross<uint8_t, uint32_t>(registry, "cpu.cross.i8", mask(kInt8, kUInt8));
  add_cross<uint16_t, uint32_t>(registry, "cpu.cross.i16", mask(kInt16, kUInt16));
  add_cross<uint32_t, uint32_t>(registry, "cpu.cross.i32", mask(kInt32, kUInt32));
  add_cross<uint64_t, uint64_t>(registry, "cpu.cross.i64", mask(kInt64, kUInt64));
}

}  // namespace tandem::cpu
