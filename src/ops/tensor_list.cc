// Lists of tensors (dtype variant) as values of programs: what loops collect their
// intermediates in, and what TensorArray is made of. The gradient of a list is a list of
// the same length. Definitions; tensor_list_run.cc has what they do.
#include "ops/tensor_list.h"

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/with_attrs.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

constexpr DTypeMask kVariants = mask(DType::kVariant);
constexpr DTypeMask kElements = kAnyDType | kVariants;

const InputDef kList = {.name = "input_handle", .type = 'L'};
const InputDef kIndex = {.name = "index", .type = 'I', .host = true};
const InputDef kShape = {
    .name = "element_shape", .type = 'S', .host = true, .optional = true};
const std::vector<TypeVar> kListTypes = {
    {'L', kVariants}, {'T', kElements}, {'I', mask(DType::kInt32)}, {'S', kIndices}};

// ---- Inference

void add_list(InferContext& c) { c.add_output(DType::kVariant, Shape{}); }
void infer_list(InferContext& c) { add_list(c); }
template <int kSize>
void infer_sized(InferContext& c) {
  c.rank(kSize, 0);
  add_list(c);
}

bool is_given(const InferContext& c, int i) {
  return i < c.num_inputs() && c.dtype(i) != DType::kInvalid;
}

// The element's shape by attribute and, where there is one, by the shape input.
Shape element_shape(const InferContext& c, const Shape& by_attribute, int shape_input) {
  if (!is_given(c, shape_input)) return by_attribute;
  return by_attribute.merged_with(c.shape_from_value(shape_input));
}
Shape with_rows(const Shape& rows, const Shape& element) {
  if (!rows.has_rank() || !element.has_rank()) return Shape::unknown();
  Shape out = rows;
  for (int64_t d : element) out.push_back(d);
  return out;
}
void infer_pop(InferContext& c) {
  const auto& a = c.attrs<TensorListAttrs>();
  add_list(c);
  c.add_output(a.element_dtype, element_shape(c, a.known_shape, 1));
}
void infer_get(InferContext& c) {
  const auto& a = c.attrs<TensorListAttrs>();
  c.rank(1, 0);
  c.add_output(a.element_dtype, element_shape(c, a.known_shape, 2));
}
void infer_set(InferContext& c) {
  c.rank(1, 0);
  add_list(c);
}
void infer_list_length(InferContext& c) { c.add_output(DType::kInt32, Shape{}); }
void infer_stack(InferContext& c) {
  const auto& a = c.attrs<TensorListAttrs>();
  c.add_output(a.element_dtype,
               with_rows({kUnknownDim}, element_shape(c, a.known_shape, 1)));
}
void infer_from_tensor(InferContext& c) {
  c.rank_at_least(0, 1);
  add_list(c);
}
void infer_list_concat(InferContext& c) {
  const auto& a = c.attrs<TensorListAttrs>();
  Shape out = element_shape(c, a.known_shape, 1);
  if (out.has_rank()) {
    c.require(out.rank() > 0, "elements must have at least one dimension to be joined");
    out.set(0, kUnknownDim);
  }
  c.add_output(a.element_dtype, out);
  c.add_output(DType::kInt64, Shape{kUnknownDim});
}
void infer_list_split(InferContext& c) {
  c.rank_at_least(0, 1);
  c.rank(1, 1);
  add_list(c);
}
void infer_list_gather(InferContext& c) {
  const auto& a = c.attrs<TensorListAttrs>();
  c.rank(1, 1);
  c.add_output(a.element_dtype,
               with_rows(c.shape(1), element_shape(c, a.known_shape, 2)));
}
void infer_list_scatter(InferContext& c) {
  c.rank_at_least(0, 1);
  c.rank(1, 1);
  add_list(c);
}
void infer_scatter_into(InferContext& c) {
  c.rank_at_least(1, 1);
  c.rank(2, 1);
  add_list(c);
}

// ---- Gradients

Tensor length(const Tensor& list) {
  static const OpHandle op("TensorListLength");
  return emit(op, {list});
}
Tensor zeros_list(const Tensor& list) {
  static const OpHandle op("TensorListZerosLike");
  return emit(op, {list});
}
// Elements may be lists themselves, which have no shape to ask for.
bool holds_lists(const Tensor& element) { return element.dtype() == DType::kVariant; }
Tensor dims_of(const Tensor& element) {
  return holds_lists(element) ? Tensor() : shape(element);
}
Tensor zero_element(const Tensor& element) {
  return holds_lists(element) ? zeros_list(element) : zeros_like(element);
}
Tensor get_item(const Tensor& list, const Tensor& index, const Tensor& like) {
  static const OpHandle op("TensorListGetItem");
  return emit(op, {list, index, dims_of(like)},
              TensorListAttrs{like.dtype(), like.shape()});
}
Tensor set_item(const Tensor& list, const Tensor& index, const Tensor& item) {
  static const OpHandle op("TensorListSetItem");
  return emit(op, {list, index, item});
}
Tensor resize_list(const Tensor& list, const Tensor& size) {
  static const OpHandle op("TensorListResize");
  return emit(op, {list, size});
}
// Shape of one of the parts that dimension 0 is cut into.
Tensor row_shape(const Tensor& t) { return slice(shape(t), {1}, {-1}); }
Shape static_row_shape(const Tensor& t) {
  return t.shape().has_rank() ? t.shape().slice(1, t.shape().rank()) : Shape::unknown();
}

Tensor pop(const Tensor& list, const Tensor& like, Tensor* rest) {
  static const OpHandle op("TensorListPopBack");
  std::vector<Tensor> out =
      emit_all(op, {list, dims_of(like)}, TensorListAttrs{like.dtype(), like.shape()});
  *rest = out[0];
  return out[1];
}

void grad_push(GradContext& c) {
  Tensor rest;
  const Tensor item = pop(c.grad(), c.input(1), &rest);
  c.set(0, rest);
  c.set(1, item);
}
void grad_pop(GradContext& c) {
  static const OpHandle push("TensorListPushBack");
  const Tensor rest = c.has_grad(0) ? c.grad(0) : zeros_list(c.output(0));
  c.set(0, emit(push, {rest, c.has_grad(1) ? c.grad(1) : zero_element(c.output(1))}));
}
void grad_set(GradContext& c) {
  const Tensor g = c.grad();
  if (c.needs(2)) c.set(2, get_item(g, c.input(1), c.input(2)));
  if (!c.needs(0)) return;
  Tensor rest = set_item(g, c.input(1), zero_element(c.input(2)));
  if (c.attrs<TensorListSetAttrs>().resize_if_index_out_of_bounds) {
    rest = resize_list(rest, length(c.input(0)));
  }
  c.set(0, rest);
}
void grad_get(GradContext& c) {
  c.set(0, set_item(zeros_list(c.input(0)), c.input(1), c.grad()));
}
void grad_stack(GradContext& c) {
  static const OpHandle op("TensorListFromTensor");
  c.set(0, emit(op, {c.grad()}));
}
void grad_from_tensor(GradContext& c) {
  static const OpHandle op("TensorListStack");
  const Tensor& t = c.input(0);
  const Tensor rows =
      emit(op, {c.grad(), row_shape(t)}, TensorListAttrs{t.dtype(), static_row_shape(t)});
  c.set(0, reshape_like(rows, t));
}
void grad_list_concat(GradContext& c) {
  static const OpHandle op("TensorListSplit");
  c.set(0, emit(op, {c.grad(), c.output(1)}));
}
void grad_list_split(GradContext& c) {
  static const OpHandle op("TensorListConcat");
  const Tensor& t = c.input(0);
  c.set(0, reshape_like(emit_all(op, {c.grad(), Tensor()}, TensorListAttrs{t.dtype()})[0],
                        t));
}
void grad_list_gather(GradContext& c) {
  static const OpHandle op("TensorListScatterIntoExistingList");
  c.set(0, emit(op, {zeros_list(c.input(0)), c.grad(), c.input(1)},
                TensorListScatterAttrs{static_row_shape(c.grad()), true}));
}
Tensor gather_rows(const Tensor& list, const Tensor& indices, const Tensor& like) {
  static const OpHandle op("TensorListGather");
  return reshape_like(emit(op, {list, indices, row_shape(like)},
                           TensorListAttrs{like.dtype(), static_row_shape(like)}),
                      like);
}
void grad_scatter(GradContext& c) {
  c.set(0, gather_rows(c.grad(), c.input(1), c.input(0)));
}
void grad_scatter_into(GradContext& c) {
  static const OpHandle op("TensorListScatterIntoExistingList");
  const auto& a = c.attrs<TensorListScatterAttrs>();
  const Tensor g = c.grad();
  if (c.needs(1)) c.set(1, gather_rows(g, c.input(2), c.input(1)));
  if (!c.needs(0)) return;
  // What was replaced has no influence any more; what was added to has all of it.
  c.set(0, a.accumulate ? g
                        : emit(op, {g, zeros_like(c.input(1)), c.input(2)},
                               TensorListScatterAttrs{a.known_shape, false}));
}
void grad_resize(GradContext& c) { c.set(0, resize_list(c.grad(), length(c.input(0)))); }
void grad_list_add(GradContext& c) {
  c.set(0, c.grad());
  c.set(1, c.grad());
}

OpDef list_op(const char* name, const char* doc, std::vector<InputDef> inputs,
              void (*infer)(InferContext&)) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = kListTypes;
  def.inputs = std::move(inputs);
  def.outputs = {"output_handle"};
  def.infer = infer;
  def.dynamic = true;
  return def;
}

// Masks: the inputs and outputs whose contents the gradient reads.
OpDef with_gradient(OpDef def, void (*gradient)(GradContext&), uint32_t inputs,
                    uint32_t outputs) {
  def.gradient = gradient;
  def.grad_inputs = inputs;
  def.grad_outputs = outputs;
  return def;
}
OpDef not_differentiable(OpDef def) {
  def.differentiable = false;
  return def;
}
OpDef may_fail(OpDef def) {
  def.effects = kMayFail;
  return def;
}
OpDef named(OpDef def, std::vector<std::string> outputs) {
  def.outputs = std::move(outputs);
  return def;
}

}  // namespace

void register_tensor_list_ops(OpTable& table) {
  const InputDef item{.name = "item"}, tensor{.name = "tensor"};
  const InputDef size{.name = "size", .type = 'I', .host = true};
  const InputDef indices{.name = "indices", .type = 'I', .host = true};
  const InputDef lengths{.name = "lengths", .type = 'N', .host = true};
  using A = TensorListAttrs;

  table.add(not_differentiable(with_attrs<A>(
      list_op("EmptyTensorList", "A list without elements.", {}, infer_list))));
  table.add(not_differentiable(with_attrs<A>(list_op(
      "TensorListReserve", "A list of elements that are not set: they read as zeros.",
      {size}, infer_sized<0>))));
  table.add(with_gradient(
      may_fail(list_op("TensorListPushBack", "The list with one more element.",
                       {kList, {.name = "item", .optional = true}}, infer_list)),
      grad_push, 0, 0));
  table.add(with_gradient(
      named(may_fail(with_attrs<A>(list_op("TensorListPopBack",
                                           "The list without its last element, and "
                                           "that.",
                                           {kList, kShape}, infer_pop))),
            {"output_handle", "tensor"}),
      grad_pop, 0, 1));
  table.add(with_gradient(may_fail(with_attrs<TensorListSetAttrs>(list_op(
                              "TensorListSetItem", "The list with another element.",
                              {kList, kIndex, item}, infer_set))),
                          grad_set, 3, 0));
  table.add(with_gradient(
      named(may_fail(with_attrs<A>(list_op("TensorListGetItem", "One element of a list.",
                                           {kList, kIndex, kShape}, infer_get))),
            {"item"}),
      grad_get, 3, 0));
  table.add(not_differentiable(
      named(list_op("TensorListLength", "The number of elements of a list.", {kList},
                    infer_list_length),
            {"length"})));
  table.add(with_gradient(
      named(may_fail(with_attrs<A>(list_op("TensorListStack",
                                           "The elements as the rows of one tensor.",
                                           {kList, kShape}, infer_stack))),
            {"tensor"}),
      grad_stack, 0, 0));
  table.add(
      with_gradient(list_op("TensorListFromTensor", "The rows of a tensor as a list.",
                            {tensor}, infer_from_tensor),
                    grad_from_tensor, 0, 0));
  OpDef concat = named(
      may_fail(with_attrs<A>(list_op("TensorListConcat",
                                     "The elements joined along dimension 0, and how "
                                     "many rows each has.",
                                     {kList, kShape}, infer_list_concat))),
      {"tensor", "lengths"});
  table.add(with_gradient(std::move(concat), grad_list_concat, 0, 2));
  OpDef split = may_fail(list_op("TensorListSplit",
                                 "Parts of so many rows each as the elements of a list.",
                                 {tensor, lengths}, infer_list_split));
  split.types.push_back({'N', mask(DType::kInt64)});
  table.add(with_gradient(std::move(split), grad_list_split, 0, 0));
  table.add(with_gradient(
      named(may_fail(with_attrs<A>(list_op("TensorListGather",
                                           "Some of the elements as the rows of a "
                                           "tensor.",
                                           {kList, indices, kShape}, infer_list_gather))),
            {"values"}),
      grad_list_gather, 3, 0));
  table.add(with_gradient(
      may_fail(with_attrs<TensorListScatterAttrs>(list_op(
          "TensorListScatter", "A list whose elements at the indices are the rows.",
          {tensor, indices}, infer_list_scatter))),
      grad_scatter, 2, 0));
  table.add(
      with_gradient(may_fail(with_attrs<TensorListScatterAttrs>(list_op(
                        "TensorListScatterIntoExistingList",
                        "The list with rows of a tensor as the elements at the indices.",
                        {kList, tensor, indices}, infer_scatter_into))),
                    grad_scatter_into, 4, 0));
  table.add(with_gradient(
      may_fail(list_op("TensorListResize",
                       "The list cut, or continued by elements that are not set.",
                       {kList, size}, infer_sized<1>)),
      grad_resize, 1, 0));
  table.add(with_gradient(
      may_fail(list_op("TensorListAdd", "The sums of the elements of two lists.",
                       {kList, {.name = "other", .type = 'L'}}, infer_list)),
      grad_list_add, 0, 0));
  table.add(not_differentiable(list_op(
      "TensorListZerosLike", "A list of zeros in the shapes of another's elements.",
      {kList}, infer_list)));
}

}  // namespace tandem
