// Array kernels: registration, copies behind views, integers that describe shapes,
// CheckNumerics (float16, bfloat16, float32, float64).
#include "tandem/ops/array.h"

#include <atomic>
#include <bit>

#include <fmt/format.h>

#include "base/parallel.h"
#include "kernels/cpu/array_common.h"
#include "kernels/register.h"
#include "ops/array_common.h"
#include "tandem/error.h"

namespace tandem::cpu {

void fill_zero(void* out, size_t bytes) {
  parallel_for(static_cast<int64_t>(bytes), 256 << 10, [&](int64_t b, int64_t e) {
    std::memset(static_cast<std::byte*>(out) + b, 0, static_cast<size_t>(e - b));
  });
}

size_t zeroed_bytes(const TensorInfo& t) {
  if (t.dtype == DType::kString) return 0;
  return static_cast<size_t>(t.shape.num_elements()) * dtype_size(t.dtype);
}

void launch_move(const MovePlan& p, const LaunchArgs& a) {
  if (p.zero_bytes) fill_zero(a.out<void>(), p.zero_bytes);
  for (const StridedCopy& c : p.copies) c.run(a.in<void>(0), a.out<void>());
}

namespace {

MovePlan prepare_copy(const Signature& s) {
  return {{StridedCopy::flat(s.in(0).dtype, s.in(0).shape.num_elements())}, 0};
}

// Outputs whose values inference knows: shapes, sizes, ranks.
struct ValuesPlan {
  std::vector<PartialValue> values;
  DType dtype;
};
ValuesPlan prepare_values(const Signature& s) {
  ValuesPlan p{{}, s.outputs.empty() ? DType::kInt32 : s.out().dtype};
  for (const TensorInfo& out : s.outputs) p.values.push_back(out.value);
  return p;
}
void launch_values(const ValuesPlan& p, const LaunchArgs& a) {
  for (size_t i = 0; i < p.values.size(); ++i) {
    const int o = static_cast<int>(i);
    for (size_t k = 0; k < p.values[i].size(); ++k) {
      if (p.dtype == DType::kInt32) {
        a.out<int32_t>(o)[k] = static_cast<int32_t>(p.values[i][k]);
      } else {
        a.out<int64_t>(o)[k] = p.values[i][k];
      }
    }
  }
}

struct CheckPlan {
  StridedCopy copy;
  int64_t n;
  DType dtype;
  std::string message;
};
CheckPlan prepare_check(const Signature& s) {
  const int64_t n = s.in(0).shape.num_elements();
  return {StridedCopy::flat(s.in(0).dtype, n), n, s.in(0).dtype,
          s.attrs.as<MessageAttrs>().message};
}
// Exponent bits all ones: infinite without a mantissa, NaN with one.
template <class U>
void find_bad(const U* p, int64_t n, U exponent, std::atomic<int>& found) {
  parallel_for(n, 64 << 10, [&](int64_t b, int64_t e) {
    U any_inf = 0, any_nan = 0;
    const U magnitude = static_cast<U>(~(U{1} << (sizeof(U) * 8 - 1)));
    for (int64_t i = b; i < e; ++i) {
      const U u = p[i] & magnitude;
      any_inf |= static_cast<U>(u == exponent);
      any_nan |= static_cast<U>(u > exponent);
    }
    if (any_inf || any_nan) found.fetch_or((any_inf ? 1 : 0) | (any_nan ? 2 : 0));
  });
}
void launch_check(const CheckPlan& p, const LaunchArgs& a) {
  std::atomic<int> found{0};
  switch (p.dtype) {
    case DType::kFloat16:
      find_bad<uint16_t>(a.in<uint16_t>(0), p.n, 0x7c00, found);
      break;
    case DType::kBFloat16:
      find_bad<uint16_t>(a.in<uint16_t>(0), p.n, 0x7f80, found);
      break;
    case DType::kFloat32:
      find_bad<uint32_t>(a.in<uint32_t>(0), p.n, 0x7f800000, found);
      break;
    default:
      find_bad<uint64_t>(a.in<uint64_t>(0), p.n, 0x7ff0000000000000, found);
      break;
  }
  if (const int bad = found.load()) {
    throw InvalidArgumentError(fmt::format("{} : Tensor had {} values [Op:CheckNumerics]",
                                           p.message,
                                           bad == 3   ? "Inf and NaN"
                                           : bad == 1 ? "Inf"
                                                      : "NaN"));
  }
  p.copy.run(a.in<void>(0), a.out<void>());
}

}  // namespace

void register_array_kernels(KernelRegistry& registry) {
  for (const char* op : {"Identity", "StopGradient", "PreventGradient", "EnsureShape",
                         "Reshape", "ReshapeLike", "ExpandDims", "Squeeze"}) {
    registry.add(
        make_kernel<prepare_copy, launch_move>(op, fmt::format("cpu.copy.{}", op)));
  }
  for (const char* op : {"Shape", "ShapeN", "Size", "Rank", "BroadcastArgs"}) {
    registry.add(
        make_kernel<prepare_values, launch_values>(op, fmt::format("cpu.values.{}", op)));
  }
  registry.add(make_kernel<prepare_check, launch_check>("CheckNumerics",
                                                        "cpu.check_numerics", kFloats));
  register_array_fill_kernels(registry);
  register_array_move_kernels(registry);
  register_array_join_kernels(registry);
  register_array_slice_kernels(registry);
  register_array_pad_kernels(registry);
  register_array_add_kernels(registry);
  register_array_order_kernels(registry);
  register_array_diag_kernels(registry);
  register_array_block_kernels(registry);
}

}  // namespace tandem::cpu
