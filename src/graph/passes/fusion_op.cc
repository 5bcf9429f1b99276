#include "graph/passes/fusion_op.h"

#include <algorithm>

#include "ops/nn_geometry.h"
#include "tandem/error.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

// More terms than this are worth a kernel of their own (AddN), which reads them in turn.
constexpr size_t kMostTerms = 6;

FusionOperand whole_operand(const FusionGraph& graph, ValueRef v) {
  FusionOperand o;
  o.value = v;
  o.shape = graph.shape(v);
  o.elements = o.shape.num_elements();
  o.root = graph.through_views(v);
  return o;
}

// The same through a broadcast.
FusionOperand operand(const FusionGraph& graph, ValueRef v) {
  FusionOperand o = whole_operand(graph, v);
  const FusionGraph::Role role = graph.role(o.root.node);
  if (role == FusionGraph::Role::kBroadcast || role == FusionGraph::Role::kFill) {
    const ValueRef inner = graph.free_input(o.root.node);
    const int64_t elements = graph.shape(inner).num_elements();
    // A reshape after a broadcast is harmless only when one element is spread.
    if (elements == 1 || graph.shape(o.root) == o.shape) {
      o.broadcast = true;
      o.whole = v;
      o.value = inner;
      o.shape = elements == 1 ? Shape{} : graph.shape(inner);
      o.root = graph.through_views(inner);
    }
  }
  o.elements = o.shape.num_elements();
  return o;
}

bool plain_value(const ValueInfo& info) {
  return !info.state && info.shape.is_known() && info.dtype != DType::kString &&
         info.dtype != DType::kVariant && info.dtype != DType::kResource;
}

// Ops that may fail on integers (powers, quotients) compute every floating point number;
// the target knows which.
bool harmless(const Node& n) { return (n.op->effects & ~unsigned{kMayFail}) == 0; }

// Sizes and shapes that other nodes want on the host: they are looked at before kernels
// are chosen, and what is known about them must not get lost in a program.
bool is_size(const FusionGraph& graph, ValueRef v) {
  if (graph.graph().info(v).has_value) return true;
  for (int32_t user : graph.users(v)) {
    const Node& n = graph.graph().node(user);
    if (n.kind != Node::Kind::kOp) continue;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (n.inputs[i] == v && n.op->input_def(static_cast<int>(i)).host) return true;
    }
  }
  return false;
}

bool elementwise_allowed(const Node& n, const OpDef& op, std::span<const DType> dtypes,
                         const FusionTarget& target) {
  return target.can_fuse &&
         target.can_fuse(op, n.attrs.ref(), dtypes, n.outputs[0].dtype);
}

// The axes of a reduction as flags; false when the op is none.
bool reduction_axes(const Graph& graph, const Node& n, bool* reduced) {
  const Shape& in = graph.info(n.inputs[0]).shape;
  const int rank = in.rank();
  if (n.is_op("SumLike")) {
    const Shape& out = n.outputs[0].shape;
    for (int i = 0; i < rank; ++i) {
      const int j = i - (rank - out.rank());
      reduced[i] = j < 0 || (out[j] == 1 && in[i] != 1);
    }
    return true;
  }
  if (n.is_op("BiasAddGrad")) {
    const bool first = channels_first(n.attrs.ref().as<nn::BiasAddAttrs>().data_format);
    const int channel = nn::channel_axis(rank, first);
    for (int i = 0; i < rank; ++i) reduced[i] = i != channel;
    return true;
  }
  for (const char* name : {"Sum", "Mean", "Max", "Min", "Prod", "All", "Any"}) {
    if (!n.is_op(name)) continue;
    const auto& attrs = n.attrs.ref().as<ReduceAttrs>();
    for (int i = 0; i < rank; ++i) reduced[i] = attrs.axis.empty() && !attrs.no_axes;
    for (int64_t a : attrs.axis) reduced[a < 0 ? a + rank : a] = true;
    return true;
  }
  return false;
}

std::optional<FusionOp> reduction(const FusionGraph& graph, const Node& n,
                                  const FusionTarget& target) {
  bool reduced[kMaxRank] = {};
  if (!reduction_axes(graph.graph(), n, reduced)) return std::nullopt;
  FusionOp op;
  op.reduction = true;
  op.name = n.is_op("SumLike") || n.is_op("BiasAddGrad") ? "Sum" : n.op->name;
  op.dtype = n.outputs[0].dtype;
  op.shape = n.outputs[0].shape;
  if (!target.can_reduce || !target.can_reduce(op.name, op.dtype)) return std::nullopt;
  op.operands.push_back(operand(graph, n.inputs[0]));
  // Reducing what was broadcast is multiplying: another rewrite's business.
  if (op.operands[0].broadcast) return std::nullopt;
  const Shape& in = op.operands[0].shape;
  op.elements = in.num_elements();
  op.axes = reduced_axes(in, {reduced, static_cast<size_t>(in.rank())});
  if (op.axes.kind == ReducedAxes::Kind::kNone ||
      op.axes.kind == ReducedAxes::Kind::kOther) {
    return std::nullopt;
  }
  return op;
}

// Some ops want equal shapes (ReluGrad): they cannot read what a broadcast was made from.
bool takes_broadcasts(const Node& n, const FusionOp& op, std::span<const DType> dtypes) {
  std::vector<TensorInfo> inputs(op.operands.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].dtype = dtypes[i];
    inputs[i].shape = op.operands[i].shape;
  }
  try {
    InferContext context(*n.op, n.attrs.ref(), inputs);
    infer_call(context);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// BiasAdd is AddV2 with the bias laid along the channels.
std::optional<FusionOp> bias_add(const FusionGraph& graph, const Node& n,
                                 const FusionTarget& target) {
  const DType dtypes[] = {n.outputs[0].dtype, n.outputs[0].dtype};
  static const OpDef& add = OpTable::get().at("AddV2");
  if (!target.can_fuse || !target.can_fuse(add, {}, dtypes, dtypes[0])) {
    return std::nullopt;
  }
  FusionOp op;
  op.name = "AddV2";
  op.dtype = dtypes[0];
  op.shape = n.outputs[0].shape;
  op.elements = op.shape.num_elements();
  op.operands = {operand(graph, n.inputs[0]), operand(graph, n.inputs[1])};
  FusionOperand& bias = op.operands[1];
  if (bias.broadcast) return std::nullopt;
  if (channels_first(n.attrs.ref().as<nn::BiasAddAttrs>().data_format)) {
    for (int i = 2; i < op.shape.rank(); ++i) bias.shape.push_back(1);
  }
  return op;
}

}  // namespace

ReducedAxes reduced_axes(const Shape& shape, std::span<const bool> reduced) {
  using Kind = ReducedAxes::Kind;
  const int rank = shape.rank();
  int first_reduced = rank, last_reduced = -1, first_kept = rank, last_kept = -1;
  for (int i = 0; i < rank; ++i) {
    if (shape[i] == 1) continue;
    if (reduced[static_cast<size_t>(i)]) {
      first_reduced = std::min(first_reduced, i);
      last_reduced = i;
    } else {
      first_kept = std::min(first_kept, i);
      last_kept = i;
    }
  }
  if (last_reduced < 0) return {Kind::kNone, 0, 0};
  if (last_kept < 0) return {Kind::kAll, rank - first_reduced, rank};
  if (last_kept < first_reduced) {
    return {Kind::kTrailing, rank - first_reduced, rank - 1 - last_kept};
  }
  if (last_reduced < first_kept) {
    return {Kind::kLeading, rank - first_kept, rank - 1 - last_reduced};
  }
  return {Kind::kOther, 0, 0};
}

std::optional<FusionOp> fusion_op(const FusionGraph& graph, int32_t node,
                                  const FusionTarget& target) {
  const Node& n = graph.graph().node(node);
  if (n.kind != Node::Kind::kOp || graph.is_free(node) || n.outputs.size() != 1 ||
      !harmless(n) || n.op->dynamic || !n.after.empty() || n.inputs.empty() ||
      !plain_value(n.outputs[0]) || n.outputs[0].shape.num_elements() == 0 ||
      (is_integer(n.outputs[0].dtype) && is_size(graph, {node, 0}))) {
    return std::nullopt;
  }
  std::vector<DType> dtypes;
  for (ValueRef v : n.inputs) {
    if (!v.defined() || !plain_value(graph.graph().info(v))) return std::nullopt;
    dtypes.push_back(graph.graph().info(v).dtype);
  }
  if (n.is_op("BiasAdd")) return bias_add(graph, n, target);
  if (std::optional<FusionOp> r = reduction(graph, n, target)) return r;

  FusionOp op;
  op.name = n.op->name;
  op.attrs = n.attrs;
  if (n.is_op("AddN")) {
    static const OpDef& add = OpTable::get().at("AddV2");
    const DType two[] = {dtypes[0], dtypes[0]};
    if (n.inputs.size() < 2 || n.inputs.size() > kMostTerms || !target.can_fuse ||
        !target.can_fuse(add, {}, two, dtypes[0])) {
      return std::nullopt;
    }
    op.name = "AddV2";
    op.attrs = {};
  } else if (!elementwise_allowed(n, *n.op, dtypes, target)) {
    return std::nullopt;
  }
  op.dtype = n.outputs[0].dtype;
  op.shape = n.outputs[0].shape;
  op.elements = op.shape.num_elements();
  // Elementwise means: the shape is what the inputs broadcast to. Ops may promise more.
  Shape all;
  for (ValueRef v : n.inputs) {
    if (!broadcast_shapes(all, graph.shape(v), &all)) return std::nullopt;
    op.operands.push_back(operand(graph, v));
  }
  if (!(all == op.shape)) return std::nullopt;
  const bool spread = std::any_of(op.operands.begin(), op.operands.end(),
                                  [](const FusionOperand& o) { return o.broadcast; });
  if (spread && !takes_broadcasts(n, op, dtypes)) {
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (op.operands[i].broadcast) op.operands[i] = whole_operand(graph, n.inputs[i]);
    }
  }
  return op;
}

}  // namespace tandem
