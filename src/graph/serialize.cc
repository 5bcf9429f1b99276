#include "graph/serialize.h"

#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/json.h"
#include "graph/custom_gradient.h"
#include "graph/source_of.h"
#include "graph/stored_graph.h"
#include "tandem/error.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

using nlohmann::json;

json shape_json(const Shape& shape) {
  if (!shape.has_rank()) return nullptr;
  json dims = json::array();
  for (int64_t d : shape) dims.push_back(d);
  return dims;
}

json values_json(const std::vector<ValueRef>& values) {
  json list = json::array();
  for (ValueRef v : values) list.push_back(json::array({v.node, v.output}));
  return list;
}

json info_json(const ValueInfo& info) {
  json j = {{"dtype", dtype_name(info.dtype)}, {"shape", shape_json(info.shape)}};
  if (info.state) j["state"] = true;
  if (!info.dims.empty()) j["dims"] = info.dims;
  if (info.has_value) {
    json value = json::array();
    for (int64_t v : info.value) value.push_back(v == kUnknownValue ? json() : json(v));
    j["value"] = std::move(value);
  }
  return j;
}

template <class T>
void put_raw(std::string& bytes, T v) {
  char raw[sizeof v];
  std::memcpy(raw, &v, sizeof v);
  bytes.append(raw, sizeof v);
}

class Writer {
 public:
  std::string run(const Graph& graph) {
    json header = {{"graph", graph_json(graph)}};
    header["constants"] = std::move(constants_);
    header["variables"] = std::move(variables_);
    // Names that are not UTF-8 lose the bytes that are not.
    const std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
    std::string bytes(stored::kMagic);
    put_raw(bytes, stored::kVersion);
    put_raw(bytes, static_cast<uint64_t>(text.size()));
    put_raw(bytes, static_cast<uint64_t>(binary_.size()));
    put_raw(bytes, hash_bytes(binary_, hash_bytes(text)));
    return bytes + text + binary_;
  }
  const std::vector<Tensor>& handles() const { return handles_; }

 private:
  json graph_json(const Graph& graph) {
    json nodes = json::array();
    for (const Node& n : graph.nodes()) nodes.push_back(node_json(n));
    json j = {{"name", graph.name()},
              {"nodes", std::move(nodes)},
              {"results", values_json(graph.results())}};
    if (!graph.final_states().empty()) {
      j["final_states"] = values_json(graph.final_states());
    }
    return j;
  }

  json node_json(const Node& n) {
    json j = {{"kind", stored::kKinds[static_cast<size_t>(n.kind)]}, {"name", n.name}};
    if (n.op) j["op"] = n.op->name;
    if (const AttrsRef a = n.attrs.ref(); a.data) {
      j["attrs"] = json::parse(a.type->to_json(a.data));
    }
    if (!n.inputs.empty()) j["inputs"] = values_json(n.inputs);
    if (n.kind != Node::Kind::kConstant) {
      json outputs = json::array();
      for (const ValueInfo& o : n.outputs) outputs.push_back(info_json(o));
      j["outputs"] = std::move(outputs);
    }
    if (!n.after.empty()) j["after"] = n.after;
    if (n.constant.defined()) {
      const bool handle = n.constant.dtype() == DType::kResource;
      j[handle ? "variable" : "constant"] =
          handle ? variable_index(n.constant) : constant_index(n.constant);
    }
    if (n.has_subgraphs()) {
      json subgraphs = json::array();
      for (const GraphPtr& g : n.subgraphs) subgraphs.push_back(graph_json(*g));
      j["subgraphs"] = std::move(subgraphs);
    }
    if (n.gradient) j["gradient"] = gradient_json(*n.gradient);
    if (n.carried) j["carried"] = n.carried;
    if (n.max_iterations >= 0) j["max_iterations"] = n.max_iterations;
    if (!n.device.empty()) j["device"] = n.device;
    if (const SourceLocation* at = source_of(n)) {
      j["location"] = {
          {"file", at->file}, {"line", at->line}, {"function", at->function}};
    }
    return j;
  }

  json gradient_json(const CustomGradient& gradient) {
    if (!gradient.graph) return {{"failure", gradient.failure}};
    json forms = json::array();
    for (GradientForm f : gradient.forms) forms.push_back(static_cast<int>(f));
    return {{"graph", graph_json(*gradient.graph)}, {"forms", std::move(forms)}};
  }

  size_t variable_index(const Tensor& handle) {
    const auto [found, added] =
        variable_of_.emplace(handle.impl()->id, variables_.size());
    if (added) {
      handles_.push_back(handle);
      const VariableImpl& v = variable_of(handle);
      variables_.push_back({{"name", v.name},
                            {"dtype", dtype_name(v.dtype)},
                            {"shape", shape_json(v.shape)}});
    }
    return found->second;
  }

  size_t constant_index(const Tensor& tensor) {
    const auto [found, added] =
        constant_of_.emplace(tensor.impl()->id, constants_.size());
    if (!added) return found->second;
    const size_t offset = binary_.size();
    if (tensor.dtype() == DType::kVariant) {
      throw InvalidArgumentError(
          "to_bytes: the function captures a list of tensors, which cannot be stored. "
          "Pass it as an argument.");
    }
    if (tensor.dtype() == DType::kString) {
      for (const std::string& s : tensor.to_vector<std::string>()) {
        put_raw(binary_, static_cast<uint64_t>(s.size()));
        binary_ += s;
      }
    } else if (const size_t bytes = tensor.impl()->bytes()) {
      binary_.resize(offset + bytes);
      tensor.copy_to(binary_.data() + offset, bytes);
    }
    constants_.push_back({{"dtype", dtype_name(tensor.dtype())},
                          {"shape", shape_json(tensor.shape())},
                          {"offset", offset},
                          {"bytes", binary_.size() - offset}});
    return found->second;
  }

  json constants_ = json::array();
  json variables_ = json::array();
  std::string binary_;
  std::unordered_map<uint64_t, size_t> constant_of_;  // tensor id → index
  std::unordered_map<uint64_t, size_t> variable_of_;
  std::vector<Tensor> handles_;  // by index
};

}  // namespace

std::string to_bytes(const Graph& graph, std::vector<Tensor>* variables) {
  Writer writer;
  std::string bytes = writer.run(graph);
  if (variables) *variables = writer.handles();
  return bytes;
}

}  // namespace tandem
