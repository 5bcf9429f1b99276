#include "graph/equal.h"

#include <cstring>

#include "graph/custom_gradient.h"
#include "graph/source_of.h"

namespace tandem {

namespace {

bool equal(const ValueInfo& a, const ValueInfo& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.state == b.state &&
         a.has_value == b.has_value && (!a.has_value || a.value == b.value) &&
         a.dims == b.dims;
}

bool same_contents(const Tensor& a, const Tensor& b) {
  if (a.is(b)) return true;
  if (!a.defined() || !b.defined()) return false;
  if (a.dtype() != b.dtype() || a.impl()->variable != b.impl()->variable) return false;
  if (a.dtype() == DType::kResource) return true;
  if (a.shape() != b.shape() || a.dtype() == DType::kVariant) return false;
  if (a.dtype() == DType::kString) {
    return a.to_vector<std::string>() == b.to_vector<std::string>();
  }
  const Tensor x = a.to_host(), y = b.to_host();
  const size_t bytes = x.impl()->bytes();
  return bytes == 0 || std::memcmp(x.host_data(), y.host_data(), bytes) == 0;
}

bool equal(const Attrs& a, const Attrs& b) {
  const AttrsRef x = a.ref(), y = b.ref();
  if (!x.data || !y.data) return x.data == y.data;
  return x.type == y.type && x.type->equal(x.data, y.data);
}

bool equal(const SourceLocation* a, const SourceLocation* b) {
  if (!a || !b) return a == b;
  return a->file == b->file && a->line == b->line && a->function == b->function;
}

bool equal(const CustomGradient* a, const CustomGradient* b) {
  if (!a || !b) return a == b;
  if (!a->graph || !b->graph) return a->graph == b->graph && a->failure == b->failure;
  return a->forms == b->forms && equal(*a->graph, *b->graph);
}

bool equal(const Node& a, const Node& b) {
  if (a.kind != b.kind || a.op != b.op || a.inputs != b.inputs || a.after != b.after ||
      a.carried != b.carried || a.max_iterations != b.max_iterations ||
      a.name != b.name || a.device != b.device || a.outputs.size() != b.outputs.size() ||
      a.subgraphs.size() != b.subgraphs.size()) {
    return false;
  }
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    if (!equal(a.outputs[i], b.outputs[i])) return false;
  }
  for (size_t i = 0; i < a.subgraphs.size(); ++i) {
    if (a.subgraphs[i] != b.subgraphs[i] && !equal(*a.subgraphs[i], *b.subgraphs[i])) {
      return false;
    }
  }
  return equal(a.attrs, b.attrs) && same_contents(a.constant, b.constant) &&
         equal(source_of(a), source_of(b)) && equal(a.gradient.get(), b.gradient.get());
}

}  // namespace

bool equal(const Graph& a, const Graph& b) {
  if (a.name() != b.name() || a.size() != b.size() || a.parameters() != b.parameters() ||
      a.results() != b.results() || a.final_states() != b.final_states()) {
    return false;
  }
  for (int32_t i = 0; i < a.size(); ++i) {
    if (!equal(a.node(i), b.node(i))) return false;
  }
  return true;
}

}  // namespace tandem
