#include "graph/graph.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "graph/states.h"
#include "tensor/variable_impl.h"

namespace tandem {

uint64_t Node::id() const { return hash_bytes(name); }

ValueInfo constant_info(const Tensor& value, Tensor& host_copy) {
  ValueInfo info;
  const TensorImpl& t = *value.impl();
  info.dtype = t.dtype;
  info.shape = t.shape;
  if (t.dtype == DType::kString || t.dtype == DType::kVariant) return info;
  if (t.shape.num_elements() > kMaxHostValues) return info;
  // The tensor itself stays what was captured: tapes know it by its identity.
  Tensor host = value.to_host();
  info.data = host.host_data();
  if (!host.is(value)) host_copy = std::move(host);
  if (is_integer(t.dtype) && t.shape.rank() <= 1) {
    info.value = read_ints(t.dtype, info.data, t.shape.num_elements());
    info.has_value = true;
  }
  return info;
}

std::vector<ValueInfo> infer_outputs(const OpDef& op, AttrsRef attrs,
                                     std::span<const ValueInfo> inputs) {
  const std::vector<TensorInfo> infos(inputs.begin(), inputs.end());
  InferContext context(op, attrs, infos);
  infer_call(context);
  std::vector<ValueInfo> outputs;
  for (TensorInfo& o : context.outputs()) {
    ValueInfo info;
    static_cast<TensorInfo&>(info) = std::move(o);
    outputs.push_back(std::move(info));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputDef& def = op.input_def(static_cast<int>(i));
    if (!def.resource || !def.writes) continue;
    ValueInfo next = inputs[i];
    if (def.replaces && inputs.size() > 1) {
      next.shape = inputs[i].shape.merged_with(inputs[1].shape);
    }
    outputs.push_back(std::move(next));
  }
  return outputs;
}

int32_t Graph::append(Node node) {
  if (node.name.empty()) node.name = node.op ? node.op->name : "node";
  node.name = unique(std::move(node.name));
  nodes_.push_back(std::move(node));
  return size() - 1;
}

std::string Graph::unique(std::string name) {
  int& used = names_[name];
  if (used++ == 0) return name;
  std::string candidate;
  do {
    candidate = fmt::format("{}_{}", name, used - 1);
  } while (names_.count(candidate) && ++used);
  names_[candidate] = 1;
  return candidate;
}

void Graph::rename(int32_t i, std::string name) {
  // The name that it had is free again, with its number.
  const std::string old = node(i).name;
  names_.erase(old);
  const size_t line = old.rfind('_');
  const auto base = names_.find(old.substr(0, line));
  if (line != std::string::npos && base != names_.end() &&
      old == fmt::format("{}_{}", base->first, base->second - 1)) {
    --base->second;
  }
  node(i).name = unique(std::move(name));
}

ValueRef Graph::add_parameter(DType dtype, const Shape& shape, std::string name) {
  Node node;
  node.kind = Node::Kind::kParameter;
  node.name = std::move(name);
  ValueInfo info;
  info.dtype = dtype;
  info.shape = shape;
  node.outputs.push_back(std::move(info));
  return {add_node(std::move(node)), 0};
}

namespace {
Node variable_node(Node::Kind kind, const Tensor& handle) {
  const VariableImpl& v = variable_of(handle);
  Node node;
  node.kind = kind;
  node.name = v.name;
  node.constant = handle;
  ValueInfo info;
  info.dtype = v.dtype;
  info.shape = v.shape;
  info.state = true;
  node.outputs.push_back(std::move(info));
  return node;
}
}  // namespace

ValueRef Graph::add_state_parameter(const Tensor& handle) {
  return {add_node(variable_node(Node::Kind::kParameter, handle)), 0};
}

ValueRef Graph::add_variable(const Tensor& handle) {
  return {add_node(variable_node(Node::Kind::kVariable, handle)), 0};
}

ValueRef Graph::add_constant(const Tensor& value, std::string name) {
  Node node;
  node.kind = Node::Kind::kConstant;
  node.name = std::move(name);
  node.constant = value;
  node.outputs.push_back(constant_info(node.constant, node.host_copy));
  return {append(std::move(node)), 0};
}

int32_t Graph::add_op(const OpDef& op, AttrsRef attrs, std::vector<ValueRef> inputs,
                      std::string name) {
  Node node;
  node.op = &op;
  if (op.attrs) {
    node.attrs = Attrs(attrs.data ? attrs : AttrsRef{op.attrs->defaults, op.attrs});
  }
  node.inputs = std::move(inputs);
  node.name = std::move(name);
  std::vector<ValueInfo> infos;
  infos.reserve(node.inputs.size());
  for (ValueRef v : node.inputs) infos.push_back(v.defined() ? info(v) : ValueInfo{});
  node.outputs = infer_node(*this, node, infos);
  return append(std::move(node));
}

int32_t Graph::add_node(Node node) {
  const bool parameter = node.kind == Node::Kind::kParameter;
  const int32_t index = append(std::move(node));
  if (parameter) parameters_.push_back(index);
  return index;
}

int32_t Graph::add_copy(const Node& like, std::vector<ValueRef> inputs) {
  Node node = like;
  node.inputs = std::move(inputs);
  return add_node(std::move(node));
}

int64_t Graph::count(bool nested) const {
  int64_t n = size();
  if (!nested) return n;
  for (const Node& node : nodes_) {
    for (const GraphPtr& g : node.subgraphs) n += g->count(true);
  }
  return n;
}

}  // namespace tandem
