// Reading stored graphs. Bytes come from anywhere: every number is checked before it is
// used, and the graph is verified before it is given out.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/json.h"
#include "device/runtime.h"
#include "graph/custom_gradient.h"
#include "graph/serialize.h"
#include "graph/stored_graph.h"
#include "graph/verify.h"
#include "ops/callbacks.h"
#include "tandem/error.h"
#include "tandem/lookup.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

using nlohmann::json;

[[noreturn]] void damaged(const std::string& what) {
  throw DataLossError(
      fmt::format("from_bytes: {}. The bytes are damaged or are no graph.", what));
}

template <class T>
T read_at(std::string_view bytes, size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) {
    damaged("the end is missing");
  }
  T v;
  std::memcpy(&v, bytes.data() + offset, sizeof v);
  return v;
}

Shape read_shape(const json& j) {
  if (j.is_null()) return Shape::unknown();
  return Shape(j.get<std::vector<int64_t>>());
}

std::vector<ValueRef> read_values(const json& j) {
  std::vector<ValueRef> values;
  for (const json& v : j)
    values.push_back({v.at(0).get<int32_t>(), v.at(1).get<int32_t>()});
  return values;
}

ValueInfo read_info(const json& j) {
  ValueInfo info;
  info.dtype = dtype_from_name(j.at("dtype").get<std::string>());
  info.shape = read_shape(j.at("shape"));
  info.state = j.value("state", false);
  info.dims = j.value("dims", std::vector<std::string>());
  if (!info.dims.empty() && static_cast<int>(info.dims.size()) != info.shape.rank()) {
    damaged("a shape has not as many names as dimensions");
  }
  if (const auto value = j.find("value"); value != j.end()) {
    for (const json& v : *value) {
      info.value.push_back(v.is_null() ? kUnknownValue : v.get<int64_t>());
    }
    info.has_value = true;
    if (!info.shape.is_known() || info.shape.rank() > 1 ||
        info.shape.num_elements() != static_cast<int64_t>(info.value.size())) {
      damaged("known values do not fill their shape");
    }
  }
  return info;
}

Attrs in_place_of(const lookup::TableAttrs& stored, const TableNumbers& tables) {
  const auto found = tables.find(stored.table);
  if (found == tables.end()) {
    throw InvalidArgumentError(
        fmt::format("from_bytes: the function uses lookup table {}, which is not stored "
                    "with it. Save a model of an earlier build again; "
                    "tandem/saved_model.h makes no tables.",
                    stored.table));
  }
  return Attrs(attrs_ref(lookup::TableAttrs{found->second}));
}

Attrs read_attrs(const OpDef& op, const json& j, const TableNumbers* tables) {
  if (!op.attrs) damaged(op.name + " has attributes and should have none");
  void* made = op.attrs->from_json(j.dump());
  const Attrs attrs(AttrsRef{made, op.attrs});
  op.attrs->destroy(made);
  // A file must not choose among the Python functions of the process that reads it.
  if (op.name == "PyFunc") {
    PyFuncAttrs stored = attrs.ref().as<PyFuncAttrs>();
    stored.token = kNoFunction;
    return Attrs(attrs_ref(stored));
  }
  // Nor among its tables.
  if (tables && op.attrs == &attrs_type<lookup::TableAttrs>()) {
    return in_place_of(attrs.ref().as<lookup::TableAttrs>(), *tables);
  }
  return attrs;
}

class Reader {
 public:
  Reader(const json& header, std::string_view binary, const VariableLoader& loader,
         const TableNumbers* tables)
      : tables_(tables) {
    for (const json& c : header.at("constants")) {
      constants_.push_back(read_constant(c, binary));
    }
    for (const json& v : header.at("variables")) {
      variables_.push_back(load_variable(v, loader));
    }
  }

  Graph read_graph(const json& j, int depth) const {
    if (depth > stored::kMaxDepth) damaged("sub-graphs are nested too deeply");
    Graph graph(j.at("name").get<std::string>());
    for (const json& n : j.at("nodes")) {
      Node node = read_node(n, depth);
      for (ValueRef v : node.inputs) check(graph, v);
      graph.add_node(std::move(node));
    }
    graph.results() = read_values(j.at("results"));
    for (ValueRef v : graph.results()) check(graph, v);
    if (const auto states = j.find("final_states"); states != j.end()) {
      graph.final_states() = read_values(*states);
      for (ValueRef v : graph.final_states()) {
        if (!v.defined()) damaged("a final state is absent");
        check(graph, v);
      }
    }
    return graph;
  }

 private:
  static void check(const Graph& graph, ValueRef v) {
    if (!v.defined()) return;
    if (v.node >= graph.size() || v.output < 0 ||
        static_cast<size_t>(v.output) >= graph.node(v.node).outputs.size()) {
      damaged("a value is used that does not exist");
    }
  }

  static Tensor read_constant(const json& j, std::string_view binary) {
    const DType dtype = dtype_from_name(j.at("dtype").get<std::string>());
    const Shape shape = read_shape(j.at("shape"));
    const auto offset = j.at("offset").get<uint64_t>();
    const auto bytes = j.at("bytes").get<uint64_t>();
    if (!shape.is_known() || offset > binary.size() || bytes > binary.size() - offset) {
      damaged("a constant lies outside the bytes");
    }
    const std::string_view data = binary.substr(offset, bytes);
    if (dtype == DType::kString) return read_strings(data, shape);
    if (dtype == DType::kVariant || dtype == DType::kResource ||
        checked_bytes(dtype, shape) != static_cast<int64_t>(bytes)) {
      damaged("a constant has not as many bytes as its shape says");
    }
    return make_host_copy(Runtime::get().cpu(), dtype, shape, data.data());
  }

  static Tensor read_strings(std::string_view data, const Shape& shape) {
    // A string takes at least its length: this bounds what is allocated.
    const int64_t n = shape.num_elements();
    if (n > static_cast<int64_t>(data.size() / sizeof(uint64_t))) {
      damaged("a constant has not as many strings as its shape says");
    }
    std::vector<std::string> strings;
    for (int64_t i = 0; i < n; ++i) {
      const auto size = read_at<uint64_t>(data, 0);
      data.remove_prefix(sizeof size);
      if (size > data.size()) damaged("the end of a string is missing");
      strings.emplace_back(data.substr(0, size));
      data.remove_prefix(size);
    }
    return tensor_from_strings(strings, shape);
  }

  Tensor load_variable(const json& j, const VariableLoader& loader) const {
    StoredVariable v;
    v.name = j.at("name").get<std::string>();
    v.dtype = dtype_from_name(j.at("dtype").get<std::string>());
    v.shape = read_shape(j.at("shape"));
    v.index = static_cast<int>(variables_.size());
    const Tensor handle = loader ? loader(v) : Tensor();
    if (!handle.defined()) {
      throw InvalidArgumentError(fmt::format(
          "from_bytes: the graph uses variable '{}' ({}, shape {}), which was not given. "
          "Load it with a function that knows it.",
          v.name, dtype_name(v.dtype), v.shape.str()));
    }
    const VariableImpl& given = variable_of(handle);
    if (given.dtype != v.dtype || given.shape != v.shape) {
      throw InvalidArgumentError(fmt::format(
          "from_bytes: variable '{}' is {} of shape {} where the graph wants {} of shape "
          "{}. Give the variable it was made with.",
          v.name, dtype_name(given.dtype), given.shape.str(), dtype_name(v.dtype),
          v.shape.str()));
    }
    return handle;
  }

  static const Tensor& at(const std::vector<Tensor>& list, const json& index) {
    const auto i = index.get<uint64_t>();
    if (i >= list.size()) damaged("a constant or variable is not listed");
    return list[i];
  }

  std::shared_ptr<const CustomGradient> read_gradient(const json& j, int depth) const {
    auto made = std::make_shared<CustomGradient>();
    if (const auto failure = j.find("failure"); failure != j.end()) {
      made->failure = failure->get<std::string>();
      return made;
    }
    for (const json& form : j.at("forms")) {
      const int number = form.get<int>();
      if (number < 0 || number > static_cast<int>(GradientForm::kSlices)) {
        damaged("a gradient has an unknown form");
      }
      made->forms.push_back(static_cast<GradientForm>(number));
    }
    made->graph = std::make_shared<const Graph>(read_graph(j.at("graph"), depth + 1));
    return made;
  }

  Node read_node(const json& j, int depth) const {
    Node n;
    const auto kind = j.at("kind").get<std::string>();
    const auto found = std::find(stored::kKinds.begin(), stored::kKinds.end(), kind);
    if (found == stored::kKinds.end()) damaged("there is a node of kind '" + kind + "'");
    n.kind = static_cast<Node::Kind>(found - stored::kKinds.begin());
    n.name = j.at("name").get<std::string>();
    if (n.kind == Node::Kind::kOp) {
      const auto name = j.at("op").get<std::string>();
      n.op = OpTable::get().find(name);
      if (!n.op) {
        throw InvalidArgumentError(fmt::format(
            "from_bytes: the graph uses op '{}', which this build does not have. Load it "
            "with the version that stored it.",
            name));
      }
      if (const auto attrs = j.find("attrs"); attrs != j.end()) {
        n.attrs = read_attrs(*n.op, *attrs, tables_);
      } else if (n.op->attrs) {
        damaged(name + " has no attributes");
      }
    }
    if (const auto v = j.find("inputs"); v != j.end()) n.inputs = read_values(*v);
    if (const auto v = j.find("after"); v != j.end()) {
      n.after = v->get<std::vector<int32_t>>();
    }
    if (const auto v = j.find("outputs"); v != j.end()) {
      for (const json& o : *v) n.outputs.push_back(read_info(o));
    }
    if (const auto v = j.find("constant"); v != j.end()) {
      if (n.kind != Node::Kind::kConstant) damaged(n.name + " should be a constant");
      n.constant = at(constants_, *v);
      n.outputs = {constant_info(n.constant, n.host_copy)};
    }
    if (const auto v = j.find("variable"); v != j.end()) n.constant = at(variables_, *v);
    const bool state = !n.outputs.empty() && n.outputs[0].state;
    if ((n.kind == Node::Kind::kVariable ||
         (n.kind == Node::Kind::kParameter && state)) &&
        !n.constant.defined()) {
      damaged(n.name + " is the state of no variable");
    }
    if (state && n.constant.defined()) {
      const ValueInfo& info = n.outputs[0];
      const VariableImpl& v = variable_of(n.constant);
      if (info.dtype != v.dtype || !info.shape.compatible_with(v.shape)) {
        damaged(n.name + " is not what its variable is");
      }
    }
    if (const auto v = j.find("subgraphs"); v != j.end()) {
      for (const json& g : *v) {
        n.subgraphs.push_back(std::make_shared<const Graph>(read_graph(g, depth + 1)));
      }
    }
    if (const auto v = j.find("gradient"); v != j.end()) {
      n.gradient = read_gradient(*v, depth);
    }
    n.carried = j.value("carried", 0);
    n.max_iterations = j.value("max_iterations", int64_t{-1});
    n.device = j.value("device", std::string());
    if (const auto v = j.find("location"); v != j.end()) {
      n.location = std::make_shared<const SourceLocation>(SourceLocation{
          v->at("file").get<std::string>(), std::max(v->at("line").get<int>(), 0),
          v->at("function").get<std::string>()});
    }
    return n;
  }

  std::vector<Tensor> constants_;
  std::vector<Tensor> variables_;
  const TableNumbers* tables_;
};

}  // namespace

Graph from_bytes(std::string_view bytes, const VariableLoader& variables, GraphRole role,
                 const TableNumbers* tables) {
  if (!bytes.starts_with(stored::kMagic)) damaged("it does not begin like a graph");
  const auto version = read_at<uint32_t>(bytes, 8);
  if (version != stored::kVersion) {
    throw InvalidArgumentError(fmt::format(
        "from_bytes: the graph was stored in version {} of the format; this build reads "
        "version {}. Store it again.",
        version, stored::kVersion));
  }
  const auto header_size = read_at<uint64_t>(bytes, 12);
  const auto binary_size = read_at<uint64_t>(bytes, 20);
  const auto checksum = read_at<uint64_t>(bytes, 28);
  const std::string_view rest = bytes.substr(stored::kPrefix);
  if (header_size > rest.size() || rest.size() - header_size != binary_size) {
    damaged("it has another size than it says");
  }
  const std::string_view header = rest.substr(0, header_size);
  const std::string_view binary = rest.substr(header_size);
  if (hash_bytes(binary, hash_bytes(header)) != checksum) {
    damaged("the checksum is wrong");
  }
  try {
    const json parsed = parse_json(header);
    const Reader reader(parsed, binary, variables, tables);
    Graph graph = reader.read_graph(parsed.at("graph"), 0);
    verify(graph, role);
    return graph;
  } catch (const json::exception& e) {
    damaged(fmt::format("the header is not as expected ({})", e.what()));
  } catch (const InternalError& e) {
    damaged(e.what());
  }
}

}  // namespace tandem
