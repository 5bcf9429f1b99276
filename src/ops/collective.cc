// Collective nodes of the IR (design, decision 19). A replica's gradient is that of the
// sum of all replicas' losses: the gradient of a sum over replicas is a sum over
// replicas, joining and cutting are each other's gradient. The ops are ordered: replicas
// that run the same graph meet in the same order.
#include "ops/collective.h"

#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "tandem/ops.h"
#include "tandem/ops/collective.h"
#include "tandem/replica.h"

namespace tandem {

namespace {

// ---- Inference

const CollectiveAttrs& checked(InferContext& c) {
  const auto& a = c.attrs<CollectiveAttrs>();
  if (a.replicas < 1) {
    c.fail(fmt::format("replicas must be at least 1, got {}", a.replicas));
  }
  if (a.root < 0 || a.root >= a.replicas) {
    c.fail(fmt::format("root must be one of {} replicas, got {}", a.replicas, a.root));
  }
  return a;
}
const CollectiveAttrs& reducing(InferContext& c) {
  const auto& a = checked(c);
  const DType t = c.dtype(0);
  if (a.reduction == Reduction::kMean && is_integer(t)) {
    c.fail(fmt::format("the mean needs floating-point numbers, got {}. Cast first.",
                       dtype_name(t)));
  }
  if ((a.reduction == Reduction::kMax || a.reduction == Reduction::kMin) &&
      is_complex(t)) {
    c.fail(
        fmt::format("{} has no order: the reduction must be sum or mean", dtype_name(t)));
  }
  return a;
}

void infer_all_reduce(InferContext& c) {
  reducing(c);
  c.add_output(c.dtype(0), c.shape(0));
}
void infer_reduce_to(InferContext& c) {
  const auto& a = reducing(c);
  if (a.reduction != Reduction::kSum && a.reduction != Reduction::kMean) {
    c.fail("the reduction must be sum or mean");
  }
  c.add_output(c.dtype(0), c.shape(0));
}
void infer_broadcast_from(InferContext& c) {
  checked(c);
  c.add_output(c.dtype(0), c.shape(0));
}
void infer_all_gather(InferContext& c) {
  const auto& a = checked(c);
  c.rank_at_least(0, 1);
  Shape out = c.shape(0);
  if (out.has_rank()) {
    const int axis = static_cast<int>(c.axis(a.axis, out.rank()));
    if (out[axis] != kUnknownDim) out.set(axis, out[axis] * a.replicas);
  }
  c.add_output(c.dtype(0), out);
}
void infer_reduce_scatter(InferContext& c) {
  const auto& a = reducing(c);
  c.rank_at_least(0, 1);
  Shape out = c.shape(0);
  if (out.has_rank()) {
    const int axis = static_cast<int>(c.axis(a.axis, out.rank()));
    if (out[axis] != kUnknownDim && out[axis] % a.replicas != 0) {
      c.fail(
          fmt::format("dimension {} of size {} cannot be cut into {} equal parts "
                      "(input {}). Pad it first.",
                      axis, out[axis], a.replicas, out.debug_str()));
    }
    if (out[axis] != kUnknownDim) out.set(axis, out[axis] / a.replicas);
  }
  c.add_output(c.dtype(0), out);
}
void infer_replica_id(InferContext& c) {
  checked(c);
  c.add_output(DType::kInt32, Shape{});
}

// ---- Gradients

CollectiveAttrs with(CollectiveAttrs a, Reduction reduction) {
  a.reduction = reduction;
  return a;
}
bool is_extreme(const CollectiveAttrs& a) {
  return a.reduction == Reduction::kMax || a.reduction == Reduction::kMin;
}
Tensor shared(const Tensor& total, const CollectiveAttrs& a) {
  if (a.reduction != Reduction::kMean) return total;
  return total / scalar(static_cast<double>(a.replicas), total.dtype());
}

// Replicas with equal extremes share the gradient.
Tensor by_winners(const Tensor& x, const Tensor& extreme, const Tensor& total,
                  const CollectiveAttrs& a) {
  const Tensor won = cast(equal(x, extreme), x.dtype());
  return won * total / all_reduce(won, with(a, Reduction::kSum));
}

void grad_all_reduce(GradContext& c) {
  const auto& a = c.attrs<CollectiveAttrs>();
  if (!is_extreme(a)) return c.set(0, all_reduce(c.grad(), a));
  const Tensor total = all_reduce(c.grad(), with(a, Reduction::kSum));
  c.set(0, by_winners(c.input(0), c.output(0), total, a));
}
void grad_broadcast_from(GradContext& c) {
  c.set(0, reduce_to(c.grad(), with(c.attrs<CollectiveAttrs>(), Reduction::kSum)));
}
void grad_reduce_to(GradContext& c) {
  const auto& a = c.attrs<CollectiveAttrs>();
  c.set(0, shared(broadcast_from(c.grad(), a), a));
}
void grad_all_gather(GradContext& c) {
  c.set(0, reduce_scatter(c.grad(), with(c.attrs<CollectiveAttrs>(), Reduction::kSum)));
}
void grad_reduce_scatter(GradContext& c) {
  const auto& a = c.attrs<CollectiveAttrs>();
  const Tensor total = all_gather(c.grad(), a);
  if (!is_extreme(a)) return c.set(0, shared(total, a));
  c.set(0, by_winners(c.input(0), all_gather(c.output(0), a), total, a));
}

// What a ring of replicas moves: everything once around to reduce, once to hand out.
Cost collective_cost(const Signature& s) {
  Cost cost = default_cost(s);
  const auto n = static_cast<double>(s.attrs.as<CollectiveAttrs>().replicas);
  const double bytes = cost.bytes;
  cost.flops = static_cast<double>(s.in(0).shape.num_elements()) * (n - 1);
  cost.bytes += bytes * (n - 1) / n;
  return cost;
}

struct Entry {
  const char* name;
  const char* doc;
  void (*infer)(InferContext&);
  void (*gradient)(GradContext&);
  uint32_t reads = 0;  // contents that the gradient needs, of input and output
};

}  // namespace

void register_collective_ops(OpTable& table) {
  const Entry entries[] = {
      {"AllReduce", "The values of all replicas, reduced, on every replica.",
       infer_all_reduce, grad_all_reduce, 1},
      {"Broadcast", "The value of one replica, on every replica.", infer_broadcast_from,
       grad_broadcast_from},
      {"Reduce", "The values of all replicas, reduced, on one replica; zeros elsewhere.",
       infer_reduce_to, grad_reduce_to},
      {"AllGather", "The values of all replicas, joined along an axis.", infer_all_gather,
       grad_all_gather},
      {"ReduceScatter",
       "The values of all replicas, reduced; each replica gets its part along an axis.",
       infer_reduce_scatter, grad_reduce_scatter, 1},
  };
  for (const Entry& e : entries) {
    table.add({.name = e.name,
               .doc = e.doc,
               .types = {{'T', kNumbers}},
               .inputs = {{.name = "input"}},
               .attrs = &attrs_type<CollectiveAttrs>(),
               .infer = e.infer,
               .gradient = e.gradient,
               .grad_inputs = e.reads,
               .grad_outputs = e.reads,
               .cost = collective_cost,
               .dynamic = true,
               .effects = kOrdered | kMayFail});
  }
  table.add({.name = "ReplicaId",
             .doc = "The number of the replica that runs.",
             .types = {},
             .inputs = {},
             .attrs = &attrs_type<CollectiveAttrs>(),
             .infer = infer_replica_id,
             .differentiable = false,
             .dynamic = true,
             .effects = kOrdered});
}

namespace {

// A call belongs to the group in whose scope it is made, traced or not.
CollectiveAttrs resolved(CollectiveAttrs a) {
  const ReplicaContext context = replica_context(a.group);
  if (a.group.empty()) a.group = context.group;
  if (a.replicas == 0) a.replicas = context.count;
  return a;
}

}  // namespace

Tensor all_reduce(const Tensor& x, CollectiveAttrs attrs) {
  static const OpHandle op("AllReduce");
  return emit(op, {x}, resolved(std::move(attrs)));
}
Tensor broadcast_from(const Tensor& x, CollectiveAttrs attrs) {
  static const OpHandle op("Broadcast");
  return emit(op, {x}, resolved(std::move(attrs)));
}
Tensor reduce_to(const Tensor& x, CollectiveAttrs attrs) {
  static const OpHandle op("Reduce");
  return emit(op, {x}, resolved(std::move(attrs)));
}
Tensor all_gather(const Tensor& x, CollectiveAttrs attrs) {
  static const OpHandle op("AllGather");
  return emit(op, {x}, resolved(std::move(attrs)));
}
Tensor reduce_scatter(const Tensor& x, CollectiveAttrs attrs) {
  static const OpHandle op("ReduceScatter");
  return emit(op, {x}, resolved(std::move(attrs)));
}
Tensor replica_id(CollectiveAttrs attrs) {
  static const OpHandle op("ReplicaId");
  return emit(op, {}, resolved(std::move(attrs)));
}

}  // namespace tandem
