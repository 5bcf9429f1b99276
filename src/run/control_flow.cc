#include "tandem/control_flow.h"

#include <fmt/format.h>

#include "graph/subgraph.h"
#include "run/control_flow_record.h"
#include "run/trace_into.h"
#include "tandem/ops.h"
#include "tandem/print.h"

namespace tandem {

namespace {

// TensorFlow's rule: one element, and numbers hold unless they are 0.
Tensor as_predicate(const Tensor& given, const char* what) {
  if (!given.defined()) {
    throw TypeError(fmt::format("{}: pred is not a tensor. Give it a value.", what));
  }
  const Shape& shape = given.shape();
  if (shape.is_known() && shape.num_elements() != 1) {
    throw ValueError(fmt::format(
        "{}: The truth value of an array with more than one element is ambiguous: pred "
        "has shape {}. Use reduce_any or reduce_all.",
        what, shape.str()));
  }
  if (given.dtype() == DType::kString || given.dtype() == DType::kVariant) {
    throw TypeError(fmt::format("{}: pred must be a bool, got {}. Compare it first.",
                                what, dtype_name(given.dtype())));
  }
  Tensor p =
      given.dtype() == DType::kBool ? given : not_equal(given, scalar(0, given.dtype()));
  if (shape.rank() != 0) p = reshape(p, Shape{});
  return p;
}

std::string describe(const Tensor& t) {
  return fmt::format("Tensor(shape={}, dtype={})", t.shape().str(),
                     dtype_name(t.dtype()));
}
std::string describe(const std::vector<Tensor>& list) {
  std::string text;
  for (const Tensor& t : list) text += (text.empty() ? "" : ", ") + describe(t);
  return "[" + text + "]";
}

// TensorFlow's words; `names` are what it calls the first and the other branch.
void check_same_outputs(const char* op, const std::string& first_name,
                        const std::vector<Tensor>& first, const std::string& other_name,
                        const std::vector<Tensor>& other) {
  std::string detail;
  if (first.size() != other.size()) {
    detail = fmt::format(
        "The two structures don't have the same number of elements: {} and {}.",
        first.size(), other.size());
  }
  for (size_t i = 0; detail.empty() && i < first.size(); ++i) {
    if (first[i].dtype() == other[i].dtype()) continue;
    detail = fmt::format("{} and {} have different types", describe(first[i]),
                         describe(other[i]));
  }
  if (detail.empty()) return;
  throw TypeError(fmt::format(
      "{0} and {1} arguments to {2} must have the same number, type, and overall "
      "structure of return values.\n\n{0} output: {3}\n{1} output: {4}\n\nError "
      "details:\n{5}",
      first_name, other_name, op, describe(first), describe(other), detail));
}

std::vector<Tensor> trace_branches(Node::Kind kind, const Tensor& selector,
                                   const std::vector<BranchFn>& branches) {
  Tracer& outer = *current_tracer();
  const bool is_if = kind == Node::Kind::kIf;
  Subgraphs subs;
  std::vector<Tensor> first;
  for (size_t k = 0; k < branches.size(); ++k) {
    const std::string name =
        is_if ? (k == 0 ? "then" : "else") : fmt::format("case{}", k);
    subs.push_back(std::make_unique<Subgraph>(name, outer, outer.listener()));
    const std::vector<Tensor> results = trace_into(*subs.back(), branches[k]);
    if (k == 0) {
      first = results;
    } else {
      check_same_outputs(is_if ? "tf.cond" : "tf.switch_case",
                         is_if ? "true_fn" : "branches[0]", first,
                         is_if ? "false_fn" : fmt::format("branches[{}]", k), results);
    }
  }
  const ControlFlowNode made =
      add_branches(outer, kind, selector, subs, is_if ? "cond" : "switch_case");
  record_control_flow(outer, made);
  return made.results;
}

// ---- Loops

void check_invariants(const std::vector<Tensor>& vars, const WhileOptions& options) {
  if (vars.empty()) throw ValueError("while_loop: 'loop_vars' must be provided.");
  check_results("while_loop", vars);
  if (options.shape_invariants.empty()) return;
  if (options.shape_invariants.size() != vars.size()) {
    throw ValueError(
        fmt::format("while_loop: {} shape invariants for {} loop variables. Give one "
                    "for each.",
                    options.shape_invariants.size(), vars.size()));
  }
}

const Shape& invariant(const WhileOptions& options, const std::vector<Tensor>& vars,
                       size_t i) {
  return options.shape_invariants.empty() ? vars[i].shape() : options.shape_invariants[i];
}

// Every shape that `shape` allows is one that `invariant` allows.
bool at_most_as_general(const Shape& shape, const Shape& invariant) {
  if (!invariant.has_rank()) return true;
  if (shape.rank() != invariant.rank()) return false;
  for (int i = 0; i < shape.rank(); ++i) {
    if (invariant[i] != kUnknownDim && shape[i] != invariant[i]) return false;
  }
  return true;
}

void check_entering(const std::vector<Tensor>& vars, const WhileOptions& options) {
  for (size_t i = 0; i < options.shape_invariants.size(); ++i) {
    if (at_most_as_general(vars[i].shape(), options.shape_invariants[i])) continue;
    throw ValueError(fmt::format(
        "The shape invariant specified for loop variable {} is not compatible with the "
        "initial shape of the loop variable. It enters the loop with shape {}, but the "
        "specified shape invariant is {}.",
        i, vars[i].shape().str(), options.shape_invariants[i].str()));
  }
}

void check_turn(const std::vector<Tensor>& entering, const std::vector<Tensor>& leaving,
                const std::vector<Tensor>& vars, const WhileOptions& options,
                bool shapes) {
  check_results("while_loop: the body", leaving);
  if (leaving.size() != entering.size()) {
    throw ValueError(
        fmt::format("The two structures don't have the same number of elements: the loop "
                    "has {} variables, and its body returned {}.",
                    entering.size(), leaving.size()));
  }
  for (size_t i = 0; i < leaving.size(); ++i) {
    if (leaving[i].dtype() != entering[i].dtype()) {
      throw TypeError(fmt::format(
          "Loop var {0} enters the loop with type {1} but has type {2} after 1 "
          "iteration. Loop var {0} type should remain constant.",
          i, dtype_name(entering[i].dtype()), dtype_name(leaving[i].dtype())));
    }
    if (!shapes || at_most_as_general(leaving[i].shape(), invariant(options, vars, i))) {
      continue;
    }
    throw ValueError(fmt::format(
        "Input tensor of loop var {} enters the loop with shape {}, but has shape {} "
        "after one iteration. To allow the shape to vary across iterations, use the "
        "`shape_invariants` argument of while_loop to specify a less-specific shape.",
        i, invariant(options, vars, i).str(), leaving[i].shape().str()));
  }
}

std::vector<Tensor> trace_while(const LoopConditionFn& condition, const LoopBodyFn& body,
                                const std::vector<Tensor>& vars,
                                const WhileOptions& options) {
  Tracer& outer = *current_tracer();
  const auto parameters = [&](Subgraph& sub) {
    std::vector<Tensor> made;
    for (size_t i = 0; i < vars.size(); ++i) {
      made.push_back(sub.tracer.parameter(vars[i].dtype(), invariant(options, vars, i),
                                          fmt::format("loop_var_{}", i)));
    }
    sub.variables = sub.graph.parameters();
    return made;
  };
  Subgraph test("condition", outer, outer.listener());
  Subgraph turn("body", outer, outer.listener());
  const std::vector<Tensor> test_vars = parameters(test), turn_vars = parameters(turn);
  trace_into(test, [&]() -> std::vector<Tensor> {
    return {as_predicate(condition(test_vars), "while_loop")};
  });
  trace_into(turn, [&] {
    std::vector<Tensor> leaving = body(turn_vars);
    check_turn(turn_vars, leaving, vars, options, true);
    return leaving;
  });
  const ControlFlowNode made =
      add_while(outer, test, turn, vars, options.maximum_iterations, "while");
  record_control_flow(outer, made);
  return made.results;
}

}  // namespace

std::vector<Tensor> cond(const Tensor& predicate, const BranchFn& then_branch,
                         const BranchFn& else_branch) {
  const Tensor p = as_predicate(predicate, "cond");
  if (current_tracer() && p.impl()->symbolic) {
    return trace_branches(Node::Kind::kIf, p, {then_branch, else_branch});
  }
  return p.item<bool>() ? then_branch() : else_branch();
}

std::vector<Tensor> switch_case(const Tensor& index,
                                const std::vector<BranchFn>& branches) {
  if (branches.empty()) throw ValueError("switch_case: branches must not be empty.");
  if (!index.defined() || index.dtype() != DType::kInt32) {
    throw TypeError(
        fmt::format("branch_index must be a Tensor of dtype int32, got {}. "
                    "Cast it.",
                    dtype_name(index.dtype())));
  }
  if (index.shape().has_rank() && index.shape().rank() != 0) {
    throw ValueError(
        fmt::format("switch_case: branch_index must be a scalar, but its shape is {}",
                    index.shape().str()));
  }
  if (current_tracer() && index.impl()->symbolic) {
    return trace_branches(Node::Kind::kCase, index, branches);
  }
  const auto i = static_cast<size_t>(index.item<int32_t>());
  return (i < branches.size() ? branches[i] : branches.back())();
}

std::vector<Tensor> case_of(const std::vector<std::pair<Tensor, BranchFn>>& cases,
                            const CaseOptions& options) {
  if (cases.empty()) throw ValueError("case_of: give at least one predicate.");
  std::vector<Tensor> predicates;
  for (const auto& c : cases) predicates.push_back(as_predicate(c.first, "case_of"));
  const Tensor all = stack(predicates, {.axis = 0});
  if (options.exclusive) {
    Assert(less_equal(reduce_sum(cast(all, DType::kInt32)), constant(1)),
           {constant("Input error: More than one condition evaluated as True but "
                     "exclusive=True. Conditions:"),
            all},
           {.summarize = static_cast<int64_t>(cases.size())});
  }
  // From the last to the first; what comes after a predicate runs when it fails.
  BranchFn rest = options.otherwise;
  if (!rest) {
    rest = [&] {
      Assert(reduce_any(all),
             {constant("Input error: None of conditions evaluated as True. Conditions:"),
              all},
             {.summarize = static_cast<int64_t>(cases.size())});
      return cases.back().second();
    };
  }
  for (size_t i = cases.size(); i-- > 0;) {
    rest = [&cases, &predicates, i, rest = std::move(rest)] {
      return cond(predicates[i], cases[i].second, rest);
    };
  }
  return rest();
}

std::vector<Tensor> while_loop(const LoopConditionFn& condition, const LoopBodyFn& body,
                               const std::vector<Tensor>& loop_vars,
                               const WhileOptions& options) {
  check_invariants(loop_vars, options);
  check_entering(loop_vars, options);
  if (current_tracer()) return trace_while(condition, body, loop_vars, options);
  std::vector<Tensor> vars = loop_vars;
  const int64_t limit = options.maximum_iterations;
  for (int64_t turn = 0; limit < 0 || turn < limit; ++turn) {
    if (!as_predicate(condition(vars), "while_loop").item<bool>()) break;
    std::vector<Tensor> next = body(vars);
    // As in TensorFlow, shapes are held to the invariants only where they were given.
    check_turn(vars, next, loop_vars, options, !options.shape_invariants.empty());
    vars = std::move(next);
  }
  return vars;
}

}  // namespace tandem
