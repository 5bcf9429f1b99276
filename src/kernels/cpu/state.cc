// Variables: assignment and sparse updates in place. The variable's memory is input 0,
// shared with nobody. dtypes: assign all, arithmetic all numbers.
#include <complex>

#include <fmt/format.h>

#include "base/parallel.h"
#include "kernels/cpu/indexing_common.h"
#include "kernels/cpu/scatter_rows.h"
#include "kernels/register.h"
#include "tandem/error.h"

namespace tandem::cpu {

namespace {

// ---- Whole values
// -----------------------------------------------------------------------------
struct AssignPlan {
  DType dtype = DType::kInvalid;
  int64_t n = 0;
};
AssignPlan prepare_assign(const Signature& s) {
  return {s.in(0).dtype, s.in(1).shape.num_elements()};
}
void launch_assign(const AssignPlan& p, const LaunchArgs& a) {
  copy_elements(p.dtype, a.inout<void>(0), a.in<void>(1), p.n);
}

// Sessions answer it themselves; elsewhere variables have a value from the start.
struct HasValuePlan {};
HasValuePlan prepare_has_value(const Signature&) { return {}; }
void launch_has_value(const HasValuePlan&, const LaunchArgs& a) {
  *a.out<bool>(0) = true;
}

using UpdateLoop = void (*)(void* variable, const void* delta, int64_t begin,
                            int64_t end);
struct UpdatePlan {
  UpdateLoop loop = nullptr;
  int64_t n = 0;
  int64_t grain = 0;
};

template <class T, bool kSubtract>
void update(void* variable, const void* delta, int64_t begin, int64_t end) {
  auto* v = static_cast<T*>(variable);
  const auto* d = static_cast<const T*>(delta);
  constexpr bool kHalf = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
  using C = std::conditional_t<kHalf, float, T>;
  for (int64_t i = begin; i < end; ++i) {
    v[i] = static_cast<T>(kSubtract ? C(v[i]) - C(d[i]) : C(v[i]) + C(d[i]));
  }
}

template <bool kSubtract>
UpdateLoop update_loop(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kUInt8:
      return update<uint8_t, kSubtract>;
    case DType::kInt16:
    case DType::kUInt16:
      return update<uint16_t, kSubtract>;
    case DType::kInt32:
    case DType::kUInt32:
      return update<uint32_t, kSubtract>;
    case DType::kInt64:
    case DType::kUInt64:
      return update<uint64_t, kSubtract>;
    case DType::kFloat16:
      return update<float16, kSubtract>;
    case DType::kBFloat16:
      return update<bfloat16, kSubtract>;
    case DType::kFloat32:
      return update<float, kSubtract>;
    case DType::kFloat64:
      return update<double, kSubtract>;
    case DType::kComplex64:
      return update<std::complex<float>, kSubtract>;
    default:
      return update<std::complex<double>, kSubtract>;
  }
}

template <bool kSubtract>
UpdatePlan prepare_update(const Signature& s) {
  const DType dtype = s.in(0).dtype;
  return {update_loop<kSubtract>(dtype), s.in(1).shape.num_elements(),
          copy_grain(2 * static_cast<int64_t>(dtype_size(dtype)))};
}
void launch_update(const UpdatePlan& p, const LaunchArgs& a) {
  parallel_for(p.n, p.grain, [&](int64_t begin, int64_t end) {
    p.loop(a.inout<void>(0), a.in<void>(1), begin, end);
  });
}

// ---- Rows
// -------------------------------------------------------------------------------------
struct ScatterPlan {
  IndexCheck check;
  DType dtype = DType::kInvalid;
  ScatterLoop loop = nullptr;
  bool scalar = false;  // one number for all updated elements
  bool divides_integers = false;
  int64_t updates = 0;         // elements
  ScatterCall call;            // sizes
  size_t workspace_bytes = 0;  // row numbers, then one row of a scalar update
};

template <ScatterOp op>
ScatterPlan prepare_scatter(const Signature& s) {
  const Shape& value = s.in(0).shape;
  const Shape& indices = s.in(1).shape;
  ScatterPlan p;
  p.check = {.op = s.op->name.c_str(),
             .dtype = s.in(1).dtype,
             .shape = indices,
             .limit = value[0]};
  p.dtype = s.in(0).dtype;
  p.loop = scatter_loop(op, p.dtype);
  p.divides_integers = op == ScatterOp::kDiv && is_integer(p.dtype);
  p.updates = s.in(2).shape.num_elements();
  p.call.count = indices.num_elements();
  p.call.num_rows = value[0];
  p.call.row = dim_product(value, 1, value.rank());
  p.scalar = s.in(2).shape.rank() == 0 && indices.rank() + value.rank() > 1;
  p.call.stride = p.scalar ? 0 : p.call.row;
  p.workspace_bytes = static_cast<size_t>(p.call.count) * sizeof(int64_t);
  if (p.scalar) {
    p.workspace_bytes += static_cast<size_t>(p.call.row) * dtype_size(p.dtype);
  }
  return p;
}

// Found before anything is written: a division by zero would end the process.
void check_divisors(const ScatterPlan& p, const void* updates) {
  by_element(p.dtype, [&]<class E>(std::type_identity<E>) {
    if constexpr (std::is_integral_v<E>) {
      const auto* u = static_cast<const E*>(updates);
      for (int64_t i = 0; i < p.updates; ++i) {
        if (u[i] != 0) continue;
        throw InvalidArgumentError(fmt::format(
            "{}: Integer division by zero: element {} of updates is 0", p.check.op, i));
      }
    }
  });
}

void launch_scatter(const ScatterPlan& p, const LaunchArgs& a) {
  auto* rows = static_cast<int64_t*>(a.workspace);
  check_indices(p.check, a.in<void>(1), rows);
  if (p.divides_integers) check_divisors(p, a.in<void>(2));
  ScatterCall call = p.call;
  call.out = a.inout<void>(0);
  call.rows = rows;
  call.updates = a.in<void>(2);
  if (p.scalar) {
    void* row = rows + p.call.count;
    by_element(p.dtype, [&]<class E>(std::type_identity<E>) {
      if constexpr (std::is_trivially_copyable_v<E>) {
        std::fill_n(static_cast<E*>(row), p.call.row, *a.in<E>(2));
      }
    });
    call.updates = row;
  }
  scatter_rows(p.loop, p.dtype, call);
}

}  // namespace

void register_state_kernels(KernelRegistry& r) {
  r.add(make_kernel<prepare_assign, launch_assign>("AssignVariableOp", "cpu.assign"));
  r.add(make_kernel<prepare_has_value, launch_has_value>("VariableHasValue",
                                                         "cpu.has_value"));
  r.add(make_kernel<prepare_update<false>, launch_update>("AssignAddVariableOp",
                                                          "cpu.assign_add", kNumbers));
  r.add(make_kernel<prepare_update<true>, launch_update>("AssignSubVariableOp",
                                                         "cpu.assign_sub", kNumbers));
  r.add(make_kernel<prepare_scatter<ScatterOp::kUpdate>, launch_scatter>(
      "ResourceScatterUpdate", "cpu.scatter_update"));
  r.add(make_kernel<prepare_scatter<ScatterOp::kAdd>, launch_scatter>(
      "ResourceScatterAdd", "cpu.scatter_add"));
  r.add(make_kernel<prepare_scatter<ScatterOp::kSub>, launch_scatter>(
      "ResourceScatterSub", "cpu.scatter_sub"));
  r.add(make_kernel<prepare_scatter<ScatterOp::kMul>, launch_scatter>(
      "ResourceScatterMul", "cpu.scatter_mul"));
  r.add(make_kernel<prepare_scatter<ScatterOp::kDiv>, launch_scatter>(
      "ResourceScatterDiv", "cpu.scatter_div"));
  r.add(make_kernel<prepare_scatter<ScatterOp::kMin>, launch_scatter>(
      "ResourceScatterMin", "cpu.scatter_min"));
  r.add(make_kernel<prepare_scatter<ScatterOp::kMax>, launch_scatter>(
      "ResourceScatterMax", "cpu.scatter_max"));
}

}  // namespace tandem::cpu
