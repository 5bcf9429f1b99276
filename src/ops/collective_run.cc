// Collectives between threads of one process: every replica brings its tensor to the
// host, the last one to come computes, each takes its result to the device it came from.
// Sums are added up in the order of replicas, of 16-bit floats in float32.
#include <fmt/format.h>

#include "op/collective_group.h"
#include "op/host_function.h"
#include "op/op_def.h"
#include "ops/collective.h"
#include "tandem/device.h"
#include "tandem/ops.h"
#include "tandem/ops/collective.h"

namespace tandem {

namespace {

using Tensors = std::vector<Tensor>;

Tensor reduced(const Tensors& inputs, Reduction reduction) {
  const DType dtype = inputs[0].dtype();
  const bool sums = reduction == Reduction::kSum || reduction == Reduction::kMean;
  const bool widen = sums && (dtype == DType::kFloat16 || dtype == DType::kBFloat16);
  const auto operand = [&](size_t i) {
    return widen ? cast(inputs[i], DType::kFloat32) : inputs[i];
  };
  Tensor total = operand(0);
  for (size_t i = 1; i < inputs.size(); ++i) {
    total = sums                           ? total + operand(i)
            : reduction == Reduction::kMax ? maximum(total, operand(i))
                                           : minimum(total, operand(i));
  }
  if (reduction == Reduction::kMean) {
    total = total / scalar(static_cast<double>(inputs.size()), total.dtype());
  }
  return widen ? cast(total, dtype) : total;
}

Tensors all_reduce_of(const Tensors& in, const CollectiveAttrs& a) {
  return Tensors(in.size(), reduced(in, a.reduction));
}
Tensors broadcast_of(const Tensors& in, const CollectiveAttrs& a) {
  return Tensors(in.size(), in[static_cast<size_t>(a.root)]);
}
Tensors reduce_of(const Tensors& in, const CollectiveAttrs& a) {
  Tensors results(in.size(), zeros_like(in[0]));
  results[static_cast<size_t>(a.root)] = reduced(in, a.reduction);
  return results;
}
Tensors all_gather_of(const Tensors& in, const CollectiveAttrs& a) {
  return Tensors(in.size(), concat(in, {a.axis}));
}
Tensors reduce_scatter_of(const Tensors& in, const CollectiveAttrs& a) {
  return split(reduced(in, a.reduction),
               {.num = static_cast<int64_t>(in.size()), .axis = a.axis});
}

ReplicaSeat seat_of(const char* op, const CollectiveAttrs& a) {
  const ReplicaSeat seat = find_replica(a.group);
  if (!seat.group && a.replicas > 1) {
    throw FailedPreconditionError(fmt::format(
        "{}: this thread runs no replica of group '{}', which has {}. Call it "
        "within a ReplicaScope.",
        op, a.group, a.replicas));
  }
  if (seat.group && seat.group->replicas() != a.replicas) {
    throw InvalidArgumentError(fmt::format(
        "{}: was made for {} replicas, but group '{}' has {}. Trace the function again "
        "within a scope of this group.",
        op, a.replicas, a.group, seat.group->replicas()));
  }
  return seat;
}

template <Tensors (*kCombine)(const Tensors&, const CollectiveAttrs&)>
Tensors run_together(const char* op, AttrsRef attrs, const Tensor& x) {
  const auto& a = attrs.as<CollectiveAttrs>();
  const ReplicaSeat seat = seat_of(op, a);
  // A new tensor in any case: who records tells tensors apart.
  const auto same = [&](const Tensor& t) {
    const DeviceScope there(x.device());
    return identity(t);
  };
  if (!seat.group || a.replicas == 1) return {same(x)};
  const Tensor result =
      seat.group->meet(seat.id,
                       fmt::format("{}({}) on {}{}", op, attrs.type->print(attrs.data),
                                   dtype_name(x.dtype()), x.shape().debug_str()),
                       x.to_host(), [&a](const Tensors& inputs) {
                         const DeviceScope host("/CPU:0");
                         return kCombine(inputs, a);
                       });
  const Tensor there = result.to(x.device());
  return {there.impl() == result.impl() ? same(there) : there};
}

template <Tensors (*kCombine)(const Tensors&, const CollectiveAttrs&), size_t kName>
Tensors run(AttrsRef attrs, std::span<const Tensor> inputs) {
  constexpr const char* kNames[] = {"AllReduce", "Broadcast", "Reduce", "AllGather",
                                    "ReduceScatter"};
  return run_together<kCombine>(kNames[kName], attrs, inputs[0]);
}

Tensors run_replica_id(AttrsRef attrs, std::span<const Tensor>) {
  const ReplicaSeat seat = seat_of("ReplicaId", attrs.as<CollectiveAttrs>());
  return {constant(static_cast<int32_t>(seat.group ? seat.id : 0))};
}

}  // namespace

void register_collective_functions() {
  add_host_function("AllReduce", run<all_reduce_of, 0>);
  add_host_function("Broadcast", run<broadcast_of, 1>);
  add_host_function("Reduce", run<reduce_of, 2>);
  add_host_function("AllGather", run<all_gather_of, 3>);
  add_host_function("ReduceScatter", run<reduce_scatter_of, 4>);
  add_host_function("ReplicaId", run_replica_id);
}

}  // namespace tandem
