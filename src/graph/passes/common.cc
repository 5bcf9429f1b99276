#include "graph/passes/common.h"

#include <algorithm>

#include "device/runtime.h"
#include "tandem/error.h"

namespace tandem {

bool is_ordered(const Node& node) {
  if (node.op) return (node.op->effects & kOrdered) != 0;
  for (const GraphPtr& g : node.subgraphs) {
    for (const Node& n : g->nodes()) {
      if (is_ordered(n)) return true;
    }
  }
  return false;
}

bool is_pure(const Node& node) {
  return node.kind == Node::Kind::kOp && !(node.op->effects & (kOrdered | kWritesState));
}

bool scalar_constant(const Graph& graph, ValueRef v, double* value) {
  if (!is_constant(graph, v)) return false;
  const ValueInfo& info = graph.info(v);
  if (!info.data || info.shape.num_elements() != 1) return false;
  switch (info.dtype) {
    case DType::kFloat16:
      *value = static_cast<float>(*static_cast<const float16*>(info.data));
      return true;
    case DType::kBFloat16:
      *value = static_cast<float>(*static_cast<const bfloat16*>(info.data));
      return true;
    case DType::kFloat32:
      *value = *static_cast<const float*>(info.data);
      return true;
    case DType::kFloat64:
      *value = *static_cast<const double*>(info.data);
      return true;
    case DType::kBool:
      *value = *static_cast<const bool*>(info.data);
      return true;
    default:
      break;
  }
  if (!is_integer(info.dtype)) return false;
  const int64_t n = read_ints(info.dtype, info.data, 1)[0];
  *value = static_cast<double>(n);
  return static_cast<int64_t>(*value) == n;
}

std::vector<ValueRef> splice(Graph& to, const Graph& body,
                             std::span<const ValueRef> operands,
                             const std::string& prefix, const std::vector<int32_t>& after,
                             std::vector<int32_t>* last) {
  std::vector<int32_t> made(body.nodes().size(), -1);
  std::vector<ValueRef> given(body.nodes().size());
  const auto map = [&](ValueRef v) {
    if (!v.defined()) return ValueRef{};
    const auto i = static_cast<size_t>(v.node);
    return made[i] < 0 ? given[i] : ValueRef{made[i], v.output};
  };
  // Ordered nodes that no other ordered node of the body comes after.
  std::vector<int32_t> open;
  size_t next = 0;
  for (int32_t i = 0; i < body.size(); ++i) {
    const Node& n = body.node(i);
    if (n.kind == Node::Kind::kParameter) {
      if (next == operands.size()) {
        throw InternalError("graph pass: " + body.name() + " wants more operands");
      }
      given[static_cast<size_t>(i)] = operands[next++];
      continue;
    }
    Node copy = n;
    copy.name = prefix + "/" + n.name;
    for (ValueRef& v : copy.inputs) v = map(v);
    copy.after.clear();
    for (int32_t before : n.after) {
      const int32_t now = made[static_cast<size_t>(before)];
      if (now >= 0) copy.after.push_back(now);
    }
    const bool ordered = is_ordered(n) || !n.after.empty();
    if (ordered && copy.after.empty()) copy.after = after;
    for (int32_t before : copy.after) std::erase(open, before);
    const int32_t index = to.add_node(std::move(copy));
    made[static_cast<size_t>(i)] = index;
    if (ordered) open.push_back(index);
  }
  if (last) *last = open.empty() ? after : open;
  std::vector<ValueRef> results;
  for (ValueRef v : body.results()) results.push_back(map(v));
  return results;
}

void splice_for(GraphRewriter& rewriter, int32_t old, const Graph& body,
                std::span<const ValueRef> operands) {
  const Node& n = rewriter.from().node(old);
  std::vector<int32_t> last;
  const std::vector<ValueRef> results =
      splice(rewriter.to(), body, operands, n.name, rewriter.map_after(n.after), &last);
  for (size_t k = 0; k < results.size(); ++k) {
    rewriter.replace({old, static_cast<int32_t>(k)}, results[k]);
  }
  rewriter.replace_order(old, std::move(last));
}

Tensor host_tensor(DType dtype, const Shape& shape, const void* data) {
  return make_host_copy(Runtime::get().cpu(), dtype, shape, data);
}

Tensor host_int_tensor(DType dtype, const Shape& shape, std::span<const int64_t> values) {
  const size_t size = dtype_size(dtype);
  std::vector<std::byte> bytes(size * values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    // Little endian: the low bytes come first.
    std::memcpy(bytes.data() + i * size, &values[i], size);
  }
  return host_tensor(dtype, shape, bytes.data());
}

Tensor host_scalar(DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat16: {
      const float16 v(static_cast<float>(value));
      return host_tensor(dtype, {}, &v);
    }
    case DType::kBFloat16: {
      const bfloat16 v(static_cast<float>(value));
      return host_tensor(dtype, {}, &v);
    }
    case DType::kFloat32: {
      const auto v = static_cast<float>(value);
      return host_tensor(dtype, {}, &v);
    }
    case DType::kFloat64:
      return host_tensor(dtype, {}, &value);
    case DType::kComplex64: {
      const std::complex<float> v(static_cast<float>(value));
      return host_tensor(dtype, {}, &v);
    }
    case DType::kComplex128: {
      const std::complex<double> v(value);
      return host_tensor(dtype, {}, &v);
    }
    default: {
      const auto v = static_cast<int64_t>(value);
      return host_int_tensor(dtype, {}, {&v, 1});
    }
  }
}

}  // namespace tandem
