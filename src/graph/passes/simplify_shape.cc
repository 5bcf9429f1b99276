// Changes of shape, broadcasts, fills and the sums that undo broadcasts. With known
// shapes there is one form of each: Reshape, BroadcastTo, Fill and Sum with constants,
// which do not hold on to the tensor whose shape they took. Exact: SumLike and Sum over
// the same axes are one kernel.
#include <cstring>

#include "graph/dim_names.h"
#include "graph/passes/simplify.h"
#include "ops/array_common.h"
#include "tandem/ops/array.h"
#include "tandem/ops/reduce.h"

namespace tandem {

namespace {

// The one element that input 0 repeats: of a Fill, or of a broadcast of a single number.
ValueRef repeated_element(const Rewrite& r) {
  const Node& maker = r.maker(0);
  const ValueRef source = maker.is_op("Fill")          ? maker.inputs[1]
                          : maker.is_op("BroadcastTo") ? maker.inputs[0]
                                                       : ValueRef{};
  if (!source.defined()) return {};
  const Shape& shape = r.to.info(source).shape;
  return shape.is_known() && shape.num_elements() == 1 ? source : ValueRef{};
}

// In whatever shape: one number repeated stays one number repeated.
ValueRef move_nothing(Rewrite& r) {
  if (!r.out().shape.is_known()) return {};
  const ValueRef element = repeated_element(r);
  if (!element.defined()) return {};
  return r.broadcast(r.reshaped(element, {}), r.out().shape);
}

// Reshape, ReshapeLike, ExpandDims, Squeeze.
ValueRef reshape(Rewrite& r) {
  const Shape& shape = r.out().shape;
  if (same_shape(r.in(0), r.out())) return r.inputs[0];
  if (!shape.is_known()) return {};
  ValueRef base = r.inputs[0];
  if (r.maker(0).is_op("Reshape")) base = r.maker(0).inputs[0];
  if (base == r.inputs[0] && r.node.is_op("Reshape") &&
      !same_known(r.in(0).shape, shape) && is_constant(r.to, r.inputs[1]) &&
      r.in(1).has_value && r.in(1).value == Ints(shape.dims())) {
    return {};  // has its form already
  }
  return r.reshaped(base, shape);
}

// Reductions over dimensions of size 1.
ValueRef reduce_nothing(Rewrite& r) {
  const Shape &in = r.in(0).shape, &out = r.out().shape;
  if (!in.is_known() || !out.is_known() || in.num_elements() == 0) return {};
  if (in.num_elements() != out.num_elements()) return {};
  return r.reshaped(r.inputs[0], out);
}

ValueRef sum_like(Rewrite& r) {
  const Shape &x = r.in(0).shape, &like = r.out().shape;
  if (same_shape(r.in(0), r.out())) return r.inputs[0];
  if (!x.is_known() || !like.is_known()) return {};
  ReduceAttrs attrs;
  const int extra = x.rank() - like.rank();
  for (int i = 0; i < x.rank(); ++i) {
    if (i < extra || (like[i - extra] == 1 && x[i] != 1)) attrs.axis.push_back(i);
  }
  attrs.keepdims = extra == 0;
  const ValueRef sum = r.emit("Sum", {r.inputs[0]}, attrs_ref(attrs));
  return r.reshaped(sum, like);
}

// BroadcastTo and BroadcastLike.
ValueRef broadcast(Rewrite& r) {
  const Shape& shape = r.out().shape;
  if (same_shape(r.in(0), r.out())) return r.inputs[0];
  if (!shape.is_known()) return {};
  const bool again = r.maker(0).is_op("BroadcastTo");
  if (!again && r.node.is_op("BroadcastTo") && !same_known(r.in(0).shape, shape) &&
      is_constant(r.to, r.inputs[1])) {
    return {};  // has its form already
  }
  return r.broadcast(again ? r.maker(0).inputs[0] : r.inputs[0], shape);
}

bool plain(DType t) { return t != DType::kString && t != DType::kVariant; }

template <int kValue>
ValueRef like(Rewrite& r) {
  if (!r.out().shape.is_known() || !plain(r.out().dtype)) return {};
  return r.filled(kValue);
}
ValueRef empty(Rewrite& r) {
  if (!r.attrs<EmptyAttrs>().init) return {};
  return like<0>(r);
}

// The element of a small constant on the host that has many equal ones.
Tensor uniform_element(const Tensor& t) {
  constexpr size_t kMostBytes = 1 << 16;
  const TensorImpl& impl = *t.impl();
  if (!plain(impl.dtype) || !impl.device || !impl.device->is_host()) return {};
  const size_t bytes = impl.bytes(), size = dtype_size(impl.dtype);
  if (bytes <= size || bytes > kMostBytes) return {};
  const auto* data = static_cast<const char*>(t.host_data());
  if (std::memcmp(data, data + size, bytes - size) != 0) return {};
  return host_tensor(impl.dtype, {}, data);
}

}  // namespace

ValueRef skip_broadcasts(Rewrite& r) {
  if (r.node.op->expression.empty() || r.inputs.size() < 2) return {};
  if (!r.out().shape.is_known()) return {};
  std::vector<ValueRef> inputs = r.inputs;
  bool changed = false;
  for (ValueRef& v : inputs) {
    const Node& maker = r.to.node(v.node);
    ValueRef source;
    Tensor element;
    if (maker.is_op("BroadcastTo")) source = maker.inputs[0];
    if (maker.is_op("Fill")) source = maker.inputs[1];
    if (maker.kind == Node::Kind::kConstant) {
      element =
          uniform_element(maker.host_copy.defined() ? maker.host_copy : maker.constant);
    }
    if (!source.defined() && !element.defined()) continue;
    if (maker.is_op("Fill") && r.to.info(source).shape.rank() != 0) continue;
    std::vector<ValueInfo> infos;
    for (ValueRef i : inputs) infos.push_back(r.to.info(i));
    ValueInfo& narrow = infos[static_cast<size_t>(&v - inputs.data())];
    narrow.shape = element.defined() ? Shape{} : r.to.info(source).shape;
    narrow.has_value = false;
    narrow.data = nullptr;
    try {
      const Shape out = infer_outputs(*r.node.op, r.node.attrs.ref(), infos)[0].shape;
      if (!same_known(out, r.out().shape)) continue;
    } catch (const Error&) {
      continue;  // the op wants this input in full
    }
    v = element.defined() ? r.constant(element, "/element") : source;
    changed = true;
  }
  return changed ? r.emit(r.node.op->name, inputs, r.node.attrs.ref()) : ValueRef{};
}

void add_shape_rules(Rules& rules) {
  for (const char* name : {"Reshape", "ReshapeLike", "ExpandDims", "Squeeze"}) {
    rules[name] = {move_nothing, reshape};
  }
  for (const char* name : {"Sum", "Mean", "Prod", "Max", "Min", "Any", "All"}) {
    rules[name] = {reduce_nothing};
  }
  rules["SumLike"] = {sum_like};
  for (const char* name : {"Transpose", "Slice", "Tile"}) {
    rules[name].push_back(move_nothing);
  }
  rules["BroadcastTo"] = {broadcast};
  rules["BroadcastLike"] = {broadcast};
  rules["ZerosLike"] = {like<0>};
  rules["OnesLike"] = {like<1>};
  rules["Empty"] = {empty};
}

}  // namespace tandem
