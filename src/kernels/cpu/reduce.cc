// Reductions over axes. Sum, Mean, Prod, EuclideanNorm: all numbers; Max, Min: real
// numbers; Any, All: bool; LogSumExp, Moments, L2Loss: floats; SumLike: all numbers.
#include "tandem/ops/reduce.h"

#include <array>

#include "kernels/cpu/reduce_driver.h"
#include "kernels/cpu/reduce_isa.h"
#include "kernels/cpu/reduce_kernels.h"
#include "kernels/register.h"
#include "op/kernel.h"

namespace tandem::cpu {

const ReduceLoops* reduce_loops(Reducer reducer, DType dtype) {
  const auto choose = [&](auto sum, auto extreme, auto block) {
    switch (reducer) {
      case Reducer::kSum:
      case Reducer::kMean:
      case Reducer::kEuclideanNorm:
      case Reducer::kL2Loss:
        return sum(reducer, dtype);
      case Reducer::kLogSumExp:
      case Reducer::kMoments:
        return block(reducer, dtype);
      default:
        return extreme(reducer, dtype);
    }
  };
#if TANDEM_HAVE_V4
  if (__builtin_cpu_supports("x86-64-v4")) {
    return choose(v4::sum_loops, v4::extreme_loops, v4::block_loops);
  }
#endif
#if TANDEM_HAVE_V3
  return choose(v3::sum_loops, v3::extreme_loops, v3::block_loops);
#else
  return choose(generic::sum_loops, generic::extreme_loops, generic::block_loops);
#endif
}

namespace {

template <Reducer kReducer>
ReducePlan prepare_axes(const Signature& s) {
  const Shape& shape = s.in(0).shape;
  std::array<bool, kMaxRank> reduced{};
  const auto& attrs = s.attrs.as<ReduceAttrs>();
  if (attrs.axis.empty() && !attrs.no_axes) reduced.fill(true);
  for (int64_t a : attrs.axis) {
    reduced[static_cast<size_t>(a < 0 ? a + shape.rank() : a)] = true;
  }
  return plan_reduction(reduce_loops(kReducer, s.in(0).dtype), shape, reduced);
}

ReducePlan prepare_l2(const Signature& s) {
  std::array<bool, kMaxRank> reduced;
  reduced.fill(true);
  return plan_reduction(reduce_loops(Reducer::kL2Loss, s.in(0).dtype), s.in(0).shape,
                        reduced);
}

ReducePlan prepare_sum_like(const Signature& s) {
  const Shape &x = s.in(0).shape, &like = s.in(1).shape;
  std::array<bool, kMaxRank> reduced{};
  const int extra = x.rank() - like.rank();
  for (int i = 0; i < x.rank(); ++i) {
    reduced[static_cast<size_t>(i)] = i < extra || (like[i - extra] == 1 && x[i] != 1);
  }
  return plan_reduction(reduce_loops(Reducer::kSum, s.in(0).dtype), x, reduced);
}

void launch_reduction(const ReducePlan& p, const LaunchArgs& a) {
  run_reduction(p, a.inputs[0], a.outputs[0], nullptr, a.workspace);
}
void launch_moments(const ReducePlan& p, const LaunchArgs& a) {
  run_reduction(p, a.inputs[0], a.outputs[0], a.outputs[1], a.workspace);
}

}  // namespace

void register_reduce_kernels(KernelRegistry& r) {
  r.add(make_kernel<prepare_axes<Reducer::kSum>, launch_reduction>("Sum", "cpu.sum"));
  r.add(make_kernel<prepare_axes<Reducer::kMean>, launch_reduction>("Mean", "cpu.mean"));
  r.add(make_kernel<prepare_axes<Reducer::kProd>, launch_reduction>("Prod", "cpu.prod"));
  r.add(make_kernel<prepare_axes<Reducer::kMax>, launch_reduction>("Max", "cpu.max"));
  r.add(make_kernel<prepare_axes<Reducer::kMin>, launch_reduction>("Min", "cpu.min"));
  r.add(make_kernel<prepare_axes<Reducer::kAny>, launch_reduction>("Any", "cpu.any"));
  r.add(make_kernel<prepare_axes<Reducer::kAll>, launch_reduction>("All", "cpu.all"));
  r.add(make_kernel<prepare_axes<Reducer::kEuclideanNorm>, launch_reduction>(
      "EuclideanNorm", "cpu.euclidean_norm"));
  r.add(make_kernel<prepare_axes<Reducer::kLogSumExp>, launch_reduction>(
      "LogSumExp", "cpu.logsumexp"));
  r.add(make_kernel<prepare_axes<Reducer::kMoments>, launch_moments>("Moments",
                                                                     "cpu.moments"));
  r.add(make_kernel<prepare_l2, launch_reduction>("L2Loss", "cpu.l2_loss"));
  r.add(make_kernel<prepare_sum_like, launch_reduction>("SumLike", "cpu.sum_like"));
  register_arg_kernels(r);
  register_scan_kernels(r);
  register_recurrence_kernels(r);
  register_segment_kernels(r);
  register_unsorted_segment_kernels(r);
  register_count_kernels(r);
}

}  // namespace tandem::cpu
