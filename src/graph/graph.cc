#include "graph/graph.h"

#include <fmt/format.h>

#include "tensor/variable_impl.h"

namespace tandem {

ValueRef Graph::add_parameter(DType dtype, const Shape& shape, std::string name) {
  Node node;
  node.kind = Node::Kind::kParameter;
  node.name = std::move(name);
  TensorInfo info;
  info.dtype = dtype;
  info.shape = shape;
  node.outputs.push_back(std::move(info));
  nodes_.push_back(std::move(node));
  const auto index = static_cast<int32_t>(nodes_.size() - 1);
  parameters_.push_back(index);
  return {index, 0};
}

ValueRef Graph::add_constant(const Tensor& value) {
  Node node;
  node.kind = Node::Kind::kConstant;
  node.constant = value;
  TensorInfo info;
  const TensorImpl& t = *value.impl();
  if (t.dtype == DType::kResource) {
    info.dtype = variable_of(value).dtype;
    info.shape = variable_of(value).shape;
  } else {
    info.dtype = t.dtype;
    info.shape = t.shape;
    if (t.dtype != DType::kString && t.shape.num_elements() <= kMaxHostValues) {
      node.constant = value.to_host();
      info.data = node.constant.host_data();
      if (is_integer(t.dtype) && t.shape.rank() <= 1) {
        info.value = read_ints(t.dtype, info.data, t.shape.num_elements());
        info.has_value = true;
      }
    }
  }
  node.outputs.push_back(std::move(info));
  nodes_.push_back(std::move(node));
  return {static_cast<int32_t>(nodes_.size() - 1), 0};
}

int32_t Graph::add_op(const OpDef& op, AttrsRef attrs, std::vector<ValueRef> inputs) {
  Node node;
  node.op = &op;
  node.attrs = Attrs(attrs);
  node.inputs = std::move(inputs);
  std::vector<TensorInfo> infos;
  for (ValueRef v : node.inputs) infos.push_back(v.node < 0 ? TensorInfo{} : info(v));
  InferContext context(op, node.attrs.ref(), infos);
  infer_call(context);
  node.outputs = std::move(context.outputs());
  nodes_.push_back(std::move(node));
  return static_cast<int32_t>(nodes_.size() - 1);
}

std::string Graph::dump() const {
  std::string text;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& n = nodes_[i];
    std::string inputs;
    for (ValueRef v : n.inputs) {
      if (!inputs.empty()) inputs += ", ";
      inputs += v.node < 0 ? "-" : fmt::format("%{}", v.node);
      if (v.output) inputs += fmt::format(".{}", v.output);
    }
    const std::string what = n.kind == Node::Kind::kParameter ? "parameter " + n.name
                             : n.kind == Node::Kind::kConstant
                                 ? std::string("constant")
                                 : fmt::format("{}({})", n.op->name, inputs);
    const AttrsRef a = n.attrs.ref();
    text += fmt::format("%{} = {}{}{} :", i, what, a.data ? " " : "",
                        a.data ? a.type->print(a.data) : "");
    for (const TensorInfo& o : n.outputs) {
      text += fmt::format(" {}{}", dtype_name(o.dtype), o.shape.debug_str());
    }
    text += "\n";
  }
  return text;
}

}  // namespace tandem
