// Variables: reading, assigning and sparse updates. A read is a view of the variable's
// storage; the dispatcher gives writers storage that no reader shares.
#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/array_common.h"
#include "ops/register.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

void infer_read(InferContext& c) { c.add_output(c.dtype(0), c.shape(0)); }
void grad_read(GradContext& c) { c.set(0, c.raw_grad(0)); }

// The variable's declared shape may leave dimensions open.
void infer_assign(InferContext& c) {
  c.same_dtype(0, 1);
  if (!c.shape(0).compatible_with(c.shape(1))) {
    c.fail(fmt::format(
        "Trying to assign to variable with tensor with wrong shape. Expected {} got "
        "{}. Reshape or broadcast the value.",
        c.shape(0).debug_str(), c.shape(1).debug_str()));
  }
}

// Updates of the whole value: the shapes must agree exactly, as in TensorFlow.
void infer_update_whole(InferContext& c) {
  c.same_dtype(0, 1);
  if (!c.shape(0).compatible_with(c.shape(1))) {
    c.fail(fmt::format(
        "Cannot update variable with shape {} using a Tensor with shape {}, shapes "
        "must be equal. Reshape or broadcast the value.",
        c.shape(0).debug_str(), c.shape(1).debug_str()));
  }
}

// Sparse updates: indices [n…], updates [n…, row…] or a scalar.
void infer_scatter(InferContext& c) {
  c.same_dtype(0, 2);
  c.rank_at_least(0, 1);
  const Shape &value = c.shape(0), &indices = c.shape(1), &updates = c.shape(2);
  if (!value.has_rank() || !indices.has_rank() || !updates.has_rank()) return;
  if (updates.rank() == 0) return;
  Shape expected = indices;
  for (int i = 1; i < value.rank(); ++i) expected.push_back(value[i]);
  if (!expected.compatible_with(updates)) {
    c.fail(
        fmt::format("Must have updates.shape = indices.shape + params.shape[1:], got "
                    "updates.shape {}, "
                    "indices.shape {}, params.shape {}",
                    updates.debug_str(), indices.debug_str(), value.debug_str()));
  }
}

void infer_resource_gather(InferContext& c) {
  c.rank_at_least(0, 1);
  if (!c.shape(0).has_rank() || !c.shape(1).has_rank()) {
    c.add_output(c.dtype(0), Shape::unknown());
    return;
  }
  Shape out = c.shape(1);
  for (int i = 1; i < c.shape(0).rank(); ++i) out.push_back(c.shape(0)[i]);
  c.add_output(c.dtype(0), out);
}
void grad_resource_gather(GradContext& c) {
  // The handle has no shape of its own; a read is a view and costs nothing.
  static const OpHandle read("ReadVariableOp");
  const Tensor shape = tandem::shape(emit(read, {c.input(0)}), {DType::kInt64});
  const Tensor count = expand_dims(size(c.input(1), {DType::kInt64}), 0);
  const Tensor flat = concat({count, slice(shape, {1}, {-1})}, {.axis = 0});
  c.set(0, IndexedSlices{reshape(c.grad(), flat), reshape(c.input(1), Shape{-1}), shape});
}

InputDef variable(bool writes) {
  return {.name = "resource", .resource = true, .writes = writes};
}

OpDef update(const char* name, const char* doc) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {{'T', kNumbers}};
  def.inputs = {variable(true), {.name = "value"}};
  def.outputs = {};
  def.infer = infer_update_whole;
  def.differentiable = false;
  def.effects = kReadsState | kWritesState;
  return def;
}

OpDef scatter(const char* name, const char* doc, DTypeMask dtypes) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {{'T', dtypes}, {'I', kIndices}};
  def.inputs = {variable(true), {.name = "indices", .type = 'I'}, {.name = "updates"}};
  def.outputs = {};
  def.infer = infer_scatter;
  def.differentiable = false;
  def.effects = kReadsState | kWritesState | kMayFail;
  return def;
}

}  // namespace

void register_state_ops(OpTable& table) {
  table.add({.name = "ReadVariableOp",
             .doc = "The value of a variable, as a snapshot.",
             .inputs = {variable(false)},
             .infer = infer_read,
             .gradient = grad_read,
             .grad_inputs = 0,
             .grad_outputs = 0,
             .view = view_whole,
             .effects = kReadsState});
  OpDef assign = update("AssignVariableOp", "Replaces the value of a variable.");
  assign.types = {{'T', kAnyDType}};
  assign.inputs[0].replaces = true;
  assign.infer = infer_assign;
  table.add(std::move(assign));
  table.add(update("AssignAddVariableOp", "Adds to the value of a variable."));
  table.add(update("AssignSubVariableOp", "Subtracts from the value of a variable."));
  table.add(scatter("ResourceScatterUpdate", "Replaces rows of a variable.", kPlain));
  table.add(scatter("ResourceScatterAdd", "Adds to rows of a variable.", kNumbers));
  table.add(
      scatter("ResourceScatterSub", "Subtracts from rows of a variable.", kNumbers));
  table.add(scatter("ResourceScatterMul", "Multiplies rows of a variable.", kNumbers));
  table.add(scatter("ResourceScatterDiv", "Divides rows of a variable.", kNumbers));
  table.add(scatter("ResourceScatterMin", "Takes the minimum with rows of a variable.",
                    kReals));
  table.add(scatter("ResourceScatterMax", "Takes the maximum with rows of a variable.",
                    kReals));
  table.add({.name = "ResourceGather",
             .doc = "Rows of a variable's value without reading all of it.",
             .types = {{'T', kPlain}, {'I', kIndices}},
             .inputs = {variable(false), {.name = "indices", .type = 'I'}},
             .infer = infer_resource_gather,
             .gradient = grad_resource_gather,
             .grad_outputs = 0,
             .effects = kReadsState | kMayFail});
}

}  // namespace tandem
