// Fill, ZerosLike, OnesLike, Empty: by element size. Range: integers, float16, bfloat16,
// float32, float64. LinSpace: the floating ones.
#include <array>

#include "base/parallel.h"
#include "kernels/common/one_element.h"
#include "kernels/cpu/array_common.h"
#include "ops/array_range.h"
#include "tandem/ops/array.h"

namespace tandem::cpu {

namespace {

struct FillPlan {
  StridedCopy copy;
};
FillPlan prepare_fill(const Signature& s) {
  return {StridedCopy::fill(s.out().dtype, s.out().shape.num_elements())};
}
void launch_fill(const FillPlan& p, const LaunchArgs& a) {
  p.copy.run(a.in<void>(1), a.out<void>());
}

struct ZeroPlan {
  size_t bytes;
};
ZeroPlan prepare_zeros(const Signature& s) { return {zeroed_bytes(s.out())}; }
ZeroPlan prepare_empty(const Signature& s) {
  return {s.attrs.as<EmptyAttrs>().init ? zeroed_bytes(s.out()) : 0};
}
void launch_zeros(const ZeroPlan& p, const LaunchArgs& a) {
  fill_zero(a.out<void>(), p.bytes);
}

struct OnesPlan {
  StridedCopy copy;
  OneElement one;
};
OnesPlan prepare_ones(const Signature& s) {
  return {StridedCopy::fill(s.out().dtype, s.out().shape.num_elements()),
          one_element(s.out().dtype)};
}
void launch_ones(const OnesPlan& p, const LaunchArgs& a) {
  p.copy.run(p.one.bytes.data(), a.out<void>());
}

struct RangePlan {
  RangeSpec spec;
  DType dtype;
};
RangePlan prepare_range(const Signature& s) {
  return {*range_spec(s.inputs), s.out().dtype};
}
template <class T>
void range_of_ints(const RangeSpec& r, T* out) {
  const auto start = static_cast<uint64_t>(r.start),
             delta = static_cast<uint64_t>(r.delta);
  parallel_for(r.n, 32 << 10, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      out[i] = static_cast<T>(start + static_cast<uint64_t>(i) * delta);
    }
  });
}
template <class T, class C>
void range_of_floats(const RangeSpec& r, T* out) {
  const C start = static_cast<C>(r.start_f), delta = static_cast<C>(r.delta_f);
  parallel_for(r.n, 32 << 10, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      out[i] = static_cast<T>(start + static_cast<C>(i) * delta);
    }
  });
}
void launch_range(const RangePlan& p, const LaunchArgs& a) {
  switch (p.dtype) {
    case DType::kInt8:
    case DType::kUInt8:
      range_of_ints(p.spec, a.out<uint8_t>());
      break;
    case DType::kInt16:
    case DType::kUInt16:
      range_of_ints(p.spec, a.out<uint16_t>());
      break;
    case DType::kInt32:
    case DType::kUInt32:
      range_of_ints(p.spec, a.out<uint32_t>());
      break;
    case DType::kInt64:
    case DType::kUInt64:
      range_of_ints(p.spec, a.out<uint64_t>());
      break;
    case DType::kFloat16:
      range_of_floats<float16, float>(p.spec, a.out<float16>());
      break;
    case DType::kBFloat16:
      range_of_floats<bfloat16, float>(p.spec, a.out<bfloat16>());
      break;
    case DType::kFloat32:
      range_of_floats<float, float>(p.spec, a.out<float>());
      break;
    default:
      range_of_floats<double, double>(p.spec, a.out<double>());
      break;
  }
}

struct LinSpacePlan {
  int64_t outer, num, inner;
  DType dtype;
};
LinSpacePlan prepare_linspace(const Signature& s) {
  const auto& attrs = s.attrs.as<LinSpaceAttrs>();
  const Shape& out = s.out().shape;
  const int axis =
      static_cast<int>(attrs.axis < 0 ? attrs.axis + out.rank() : attrs.axis);
  return {out.slice(0, axis).num_elements(), attrs.num,
          out.slice(axis + 1, out.rank()).num_elements(), s.out().dtype};
}
template <class T, class C>
void linspace_of(const LinSpacePlan& p, const T* start, const T* stop, T* out) {
  const C steps = static_cast<C>(std::max<int64_t>(p.num - 1, 1));
  parallel_for(p.outer * p.num, copy_grain(p.inner, 16), [&](int64_t b, int64_t e) {
    for (int64_t row = b; row < e; ++row) {
      const int64_t o = row / p.num * p.inner, i = row % p.num;
      T* to = out + row * p.inner;
      const bool last = i == p.num - 1 && i > 0;
      for (int64_t k = 0; k < p.inner; ++k) {
        const C from = static_cast<C>(start[o + k]), until = static_cast<C>(stop[o + k]);
        to[k] = last ? stop[o + k]
                     : static_cast<T>(from + (until - from) / steps * static_cast<C>(i));
      }
    }
  });
}
void launch_linspace(const LinSpacePlan& p, const LaunchArgs& a) {
  const auto run = [&]<class T, class C>(T, C) {
    linspace_of<T, C>(p, a.in<T>(0), a.in<T>(1), a.out<T>());
  };
  switch (p.dtype) {
    case DType::kFloat16:
      run(float16(), 0.0f);
      break;
    case DType::kBFloat16:
      run(bfloat16(), 0.0f);
      break;
    case DType::kFloat32:
      run(0.0f, 0.0f);
      break;
    default:
      run(0.0, 0.0);
      break;
  }
}

}  // namespace

void register_array_fill_kernels(KernelRegistry& registry) {
  registry.add(make_kernel<prepare_fill, launch_fill>("Fill", "cpu.fill"));
  registry.add(make_kernel<prepare_zeros, launch_zeros>("ZerosLike", "cpu.zeros_like"));
  registry.add(make_kernel<prepare_ones, launch_ones>("OnesLike", "cpu.ones_like"));
  registry.add(make_kernel<prepare_empty, launch_zeros>("Empty", "cpu.empty"));
  registry.add(make_kernel<prepare_range, launch_range>("Range", "cpu.range"));
  registry.add(
      make_kernel<prepare_linspace, launch_linspace>("LinSpace", "cpu.linspace"));
}

}  // namespace tandem::cpu
