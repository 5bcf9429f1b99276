// Common subexpressions: equal pure nodes on equal inputs become one, constants with
// equal contents too. Commutative ops are equal with inputs exchanged (where both are
// NaN, which NaN comes out may change). Random ops are functions of their key and
// counter, so equal ones are equal.
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "graph/passes/common.h"
#include "graph/passes/passes.h"

namespace tandem {

namespace {

constexpr int64_t kMostComparedBytes = 1 << 16;

void put(std::string& key, const void* data, size_t n) {
  key.append(static_cast<const char*>(data), n);
}
template <class T>
void put(std::string& key, const T& v) {
  put(key, &v, sizeof v);
}

// Maximum and Minimum are not among them: they tell 0 and -0 apart by their order.
bool commutes(const OpDef& op) {
  static constexpr std::string_view kNames[] = {
      "AddV2",     "Mul",       "Equal",      "NotEqual",   "LogicalAnd",
      "LogicalOr", "BitwiseOr", "BitwiseAnd", "BitwiseXor", "SquaredDifference"};
  return std::find(std::begin(kNames), std::end(kNames), op.name) != std::end(kNames);
}

// Equal keys: equal nodes. Empty: the node is like no other.
std::string key_of(const Node& n, std::vector<ValueRef> inputs) {
  std::string key;
  if (n.kind == Node::Kind::kConstant) {
    const TensorImpl& t = *n.constant.impl();
    key += 'c';
    put(key, t.dtype);
    put(key, t.shape.rank());
    for (int64_t d : t.shape) put(key, d);
    const bool readable = t.dtype != DType::kString && t.dtype != DType::kVariant &&
                          t.device && t.device->is_host() &&
                          static_cast<int64_t>(t.bytes()) <= kMostComparedBytes;
    const void* data = readable ? n.constant.host_data() : n.outputs[0].data;
    if (data) {
      put(key, data, t.bytes());
    } else {
      put(key, t.device);
      put(key, t.id);
    }
    return key;
  }
  if (!is_pure(n) || !n.after.empty()) return key;
  if (inputs.size() == 2 && commutes(*n.op) &&
      std::pair(inputs[1].node, inputs[1].output) <
          std::pair(inputs[0].node, inputs[0].output)) {
    std::swap(inputs[0], inputs[1]);
  }
  key += 'o';
  put(key, n.op->id);
  for (ValueRef v : inputs) {
    put(key, v.node);
    put(key, v.output);
  }
  key += n.device;
  key += '\0';
  if (const AttrsRef a = n.attrs.ref(); a.data) key += a.type->print(a.data);
  return key;
}

// Printed attributes may hide the last bits of a number.
bool equal_attrs(const Node& a, const Node& b) {
  const AttrsRef x = a.attrs.ref(), y = b.attrs.ref();
  return !x.data || !y.data || x.type->equal(x.data, y.data);
}

}  // namespace

Graph merge_common(const Graph& graph) {
  GraphRewriter rewriter(graph);
  std::unordered_map<std::string, int32_t> seen;  // → new node
  for (int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(i);
    const std::string key = key_of(n, rewriter.map(n.inputs));
    if (!key.empty()) {
      const auto found = seen.find(key);
      if (found != seen.end() && equal_attrs(n, rewriter.to().node(found->second))) {
        for (int32_t k = 0; k < static_cast<int32_t>(n.outputs.size()); ++k) {
          rewriter.replace({i, k}, {found->second, k});
        }
        rewriter.drop_order(i);
        continue;
      }
    }
    const int32_t made = rewriter.copy(i, rewrite_subgraphs(n, merge_common));
    if (!key.empty()) seen.emplace(key, made);
  }
  return rewriter.finish();
}

}  // namespace tandem
