// Constant folding. A node becomes a constant when inference knows all its elements
// (shapes, sizes, arithmetic on them), or when all its inputs are constants and running
// it is cheap: results of at most 1 MiB, and at most four times the inputs unless they
// are tiny, so that a fill of a large tensor stays a fill. Tiny operands that are
// constants become constants inside sub-graphs.
//
// Ops run on the CPU: where the node would have run elsewhere, folding gives the CPU's
// rounding. An op that fails is left as it is, so that its error comes at the call.
#include "graph/passes/common.h"
#include "graph/passes/passes.h"
#include "graph/states.h"
#include "tandem/error.h"

namespace tandem {

namespace {

constexpr int64_t kTinyBytes = 1 << 10;
constexpr int64_t kMostGrowth = 4;

bool fully_known(const ValueInfo& info) {
  if (info.state || !info.has_value || !info.shape.is_known()) return false;
  if (!is_integer(info.dtype) && info.dtype != DType::kBool) return false;
  for (int64_t v : info.value) {
    if (v == kUnknownValue) return false;
  }
  return static_cast<int64_t>(info.value.size()) == info.shape.num_elements();
}

int64_t bytes_of(const Tensor& t) {
  return t.num_elements() * static_cast<int64_t>(dtype_size(t.dtype()));
}

bool worth_keeping(int64_t out, int64_t in) {
  return out <= kMostFoldedBytes && (out <= kTinyBytes || out <= kMostGrowth * in);
}

class Folder {
 public:
  Folder(const Graph& graph, const Evaluate* evaluate)
      : graph_(graph), rewriter_(graph), evaluate_(evaluate) {}

  // `known`: the values of parameters that are constants outside.
  Graph run(const std::vector<Tensor>& known) {
    size_t parameter = 0;
    for (int32_t i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.node(i);
      if (n.kind == Node::Kind::kParameter) {
        rewriter_.copy(i);
        if (parameter < known.size() && known[parameter].defined()) {
          rewriter_.replace({i, 0},
                            rewriter_.to().add_constant(known[parameter], n.name));
        }
        ++parameter;
      } else if (n.kind != Node::Kind::kOp) {
        rewriter_.copy(i, subgraphs_of(n));
      } else if (!is_pure(n) || (!fold_known(i) && !fold_run(i))) {
        rewriter_.copy(i);
      }
    }
    return rewriter_.finish();
  }

 private:
  Tensor constant_of(ValueRef old) {
    if (!old.defined()) return {};
    const ValueRef v = rewriter_.map(old);
    const Node& n = rewriter_.to().node(v.node);
    return n.kind == Node::Kind::kConstant ? n.constant : Tensor();
  }

  std::vector<GraphPtr> subgraphs_of(const Node& n) {
    std::vector<Tensor> known;
    for (ValueRef v : operands_of(n)) {
      known.push_back(constant_of(v));
      if (known.back().defined() && bytes_of(known.back()) > kTinyBytes)
        known.back() = {};
    }
    if (n.kind == Node::Kind::kWhile) {
      for (size_t i = 0; i < static_cast<size_t>(n.carried); ++i) known[i] = {};
    }
    return rewrite_subgraphs(
        n, [&](const Graph& g) { return Folder(g, evaluate_).run(known); });
  }

  void replace(int32_t i, const std::vector<Tensor>& values) {
    const Node& n = graph_.node(i);
    for (size_t k = 0; k < values.size(); ++k) {
      rewriter_.replace({i, static_cast<int32_t>(k)},
                        rewriter_.to().add_constant(values[k], n.name));
    }
  }

  bool fold_known(int32_t i) {
    const Node& n = graph_.node(i);
    std::vector<Tensor> values;
    for (const ValueInfo& o : n.outputs) {
      if (!fully_known(o)) return false;
      values.push_back(
          host_int_tensor(o.dtype, o.shape, std::span<const int64_t>(o.value)));
    }
    if (values.empty()) return false;
    replace(i, values);
    return true;
  }

  bool fold_run(int32_t i) {
    const Node& n = graph_.node(i);
    if (!evaluate_ || n.op->name == "Empty" || n.outputs.empty()) return false;
    std::vector<Tensor> inputs;
    int64_t in = 0, out = 0;
    for (ValueRef v : n.inputs) {
      inputs.push_back(constant_of(v));
      if (v.defined() && !inputs.back().defined()) return false;
      if (v.defined()) in += bytes_of(inputs.back());
    }
    if (in > kMostFoldedBytes) return false;
    for (const ValueInfo& o : n.outputs) {
      if (o.dtype == DType::kVariant || o.dtype == DType::kResource) return false;
      if (o.shape.is_known()) {
        out += o.shape.num_elements() * static_cast<int64_t>(dtype_size(o.dtype));
      }
    }
    if (!worth_keeping(out, in)) return false;
    try {
      std::vector<Tensor> values = (*evaluate_)(n, inputs);
      out = 0;
      for (Tensor& t : values) {
        t = t.to_host();
        out += bytes_of(t);
      }
      if (values.size() != n.outputs.size() || !worth_keeping(out, in)) return false;
      replace(i, values);
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  const Graph& graph_;
  GraphRewriter rewriter_;
  const Evaluate* evaluate_;
};

}  // namespace

Graph fold_constants(const Graph& graph, const Evaluate* evaluate) {
  return Folder(graph, evaluate).run({});
}

}  // namespace tandem
