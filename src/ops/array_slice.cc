// Slice, StridedSlice, their gradients, and TensorStridedSliceUpdate.
#include <fmt/format.h>

#include "op/emitter.h"
#include "ops/array_common.h"
#include "ops/strided_slice.h"
#include "tandem/error.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

// The values a box takes from a vector of which (some) values are known.
void box_value(const TensorInfo& in, const SliceBox& box, TensorInfo& out) {
  if (!in.has_value || !box.known || box.begin.size() > 1) return;
  PartialValue value;
  if (box.begin.empty()) {
    value = in.value;
  } else {
    for (int64_t i = 0; i < box.size[0]; ++i) {
      value.push_back(in.value[static_cast<size_t>(box.begin[0] + i * box.stride[0])]);
    }
  }
  set_value(out, std::move(value));
}

std::optional<int64_t> box_view(const Signature& s, const std::optional<SliceBox>& box) {
  if (!box || !box->known) return std::nullopt;
  const auto offset = contiguous_offset(s.in(0).shape, *box);
  if (!offset) return std::nullopt;
  return *offset * static_cast<int64_t>(dtype_size(s.in(0).dtype));
}

void infer_slice(InferContext& c) {
  const auto box = resolve_plain_slice(c.shape(0), c.input(1), c.input(2), c.op().name);
  if (!box) {
    c.add_output(c.dtype(0), c.shape(0).has_rank()
                                 ? Shape::unknown_of_rank(c.shape(0).rank())
                                 : Shape::unknown());
    return;
  }
  box_value(c.input(0), *box, c.add_output(c.dtype(0), box->final_shape));
}
std::optional<int64_t> view_slice(const Signature& s) {
  return box_view(s, resolve_plain_slice(s.in(0).shape, s.in(1), s.in(2), s.op->name));
}
void grad_slice(GradContext& c) {
  static const OpHandle op("SliceGrad");
  c.set(0, emit(op, {c.grad(), c.input(1), c.input(0)}));
}
void infer_slice_grad(InferContext& c) {
  const Shape &dy = c.shape(0), &like = c.shape(2);
  if (dy.is_known() && like.is_known()) {
    const Ints sizes{dy.dims()};
    TensorInfo size{DType::kInt64, {dy.rank()}, sizes, true, nullptr};
    resolve_plain_slice(like, c.input(1), size, c.op().name);
  }
  c.add_output(c.dtype(0), like);
}
void grad_slice_grad(GradContext& c) {
  c.set(0, slice(c.grad(), c.input(1), c.shape_of_input(0, c.input(1).dtype())));
}

SliceSpec spec_of(std::span<const TensorInfo> inputs, size_t first, AttrsRef attrs) {
  return {&inputs[first], &inputs[first + 1], &inputs[first + 2],
          attrs.as<StridedSliceAttrs>()};
}
void infer_strided_slice(InferContext& c) {
  const auto box =
      resolve_slice(c.shape(0), spec_of(inputs_of(c), 1, c.attrs_ref()), c.op().name);
  if (!box) {
    c.add_output(c.dtype(0), Shape::unknown());
    return;
  }
  box_value(c.input(0), *box, c.add_output(c.dtype(0), box->final_shape));
}
std::optional<int64_t> view_strided_slice(const Signature& s) {
  return box_view(
      s, resolve_slice(s.in(0).shape, spec_of(s.inputs, 1, s.attrs), s.op->name));
}
void grad_strided_slice(GradContext& c) {
  static const OpHandle op("StridedSliceGrad");
  const Tensor shape = c.shape_of_input(0, c.input(1).dtype());
  c.set(0, emit(op, {shape, c.input(1), c.input(2), c.input(3), c.grad()},
                c.attrs<StridedSliceAttrs>()));
}
void infer_strided_slice_grad(InferContext& c) {
  const Shape out = c.shape_from_value(0);
  const auto box =
      resolve_slice(out, spec_of(inputs_of(c), 1, c.attrs_ref()), c.op().name);
  if (box && !box->final_shape.compatible_with(c.shape(4))) {
    c.fail(fmt::format("shape of dy was {} instead of {}", c.shape(4).debug_str(),
                       box->final_shape.debug_str()));
  }
  c.add_output(c.dtype(4), out);
}
void grad_strided_slice_grad(GradContext& c) {
  c.set(4, strided_slice(c.grad(), c.input(1), c.input(2), c.input(3),
                         c.attrs<StridedSliceAttrs>()));
}

void infer_update(InferContext& c) {
  const auto box =
      resolve_slice(c.shape(0), spec_of(inputs_of(c), 1, c.attrs_ref()), c.op().name);
  const Shape& value = c.shape(4);
  Shape both;
  if (box && box->final_shape.is_known() && value.is_known() &&
      (!broadcast_shapes(box->final_shape, value, &both) || both != box->final_shape)) {
    c.fail(fmt::format("Cannot broadcast input shape {} into final shape {}",
                       value.debug_str(), box->final_shape.debug_str()));
  }
  c.add_output(c.dtype(0), c.shape(0));
}
void grad_update(GradContext& c) {
  const Tensor &b = c.input(1), &e = c.input(2), &s = c.input(3);
  const auto& attrs = c.attrs<StridedSliceAttrs>();
  if (c.needs(0)) {
    c.set(0,
          tensor_strided_slice_update(c.grad(), b, e, s, zeros_like(c.input(4)), attrs));
  }
  if (c.needs(4)) c.set(4, sum_like(strided_slice(c.grad(), b, e, s, attrs), c.input(4)));
}

std::vector<InputDef> with_spec(std::vector<InputDef> before,
                                std::vector<InputDef> after) {
  for (const char* name : {"begin", "end", "strides"}) {
    before.push_back({.name = name, .type = 'I', .host = true});
  }
  before.insert(before.end(), after.begin(), after.end());
  return before;
}

}  // namespace

void register_array_slice_ops(OpTable& table) {
  const std::vector<TypeVar> types = {{'T', kAnyDType}, {'I', kIndices}};
  const std::vector<TypeVar> plain = {{'T', kPlain}, {'I', kIndices}};
  table.add({.name = "Slice",
             .doc = "A box of a tensor, by where it begins and its sizes.",
             .types = types,
             .inputs = {{.name = "input"},
                        {.name = "begin", .type = 'I', .host = true},
                        {.name = "size", .type = 'I', .host = true}},
             .infer = infer_slice,
             .gradient = grad_slice,
             .grad_inputs = 2,
             .grad_outputs = 0,
             .view = view_slice});
  table.add({.name = "SliceGrad",
             .doc = "Zeros in the shape of a tensor with a box of given contents.",
             .types = plain,
             .inputs = {{.name = "grad"},
                        {.name = "begin", .type = 'I', .host = true},
                        {.name = "input", .shape_only = true}},
             .infer = infer_slice_grad,
             .gradient = grad_slice_grad,
             .grad_inputs = 2,
             .grad_outputs = 0});
  table.add({.name = "StridedSlice",
             .doc = "Python's x[begin:end:strides], with masks for what is left out.",
             .types = types,
             .inputs = with_spec({{.name = "input"}}, {}),
             .attrs = &attrs_type<StridedSliceAttrs>(),
             .infer = infer_strided_slice,
             .gradient = grad_strided_slice,
             .grad_inputs = 0b1110,
             .grad_outputs = 0,
             .view = view_strided_slice});
  table.add(
      {.name = "StridedSliceGrad",
       .doc = "Zeros of a given shape with contents where a StridedSlice would read.",
       .types = plain,
       .inputs =
           with_spec({{.name = "shape", .type = 'I', .host = true}}, {{.name = "dy"}}),
       .attrs = &attrs_type<StridedSliceAttrs>(),
       .infer = infer_strided_slice_grad,
       .gradient = grad_strided_slice_grad,
       .grad_inputs = 0b1110,
       .grad_outputs = 0});
  table.add({.name = "TensorStridedSliceUpdate",
             .doc = "A copy of a tensor with x[begin:end:strides] replaced.",
             .types = types,
             .inputs = with_spec({{.name = "input"}}, {{.name = "value"}}),
             .attrs = &attrs_type<StridedSliceAttrs>(),
             .infer = infer_update,
             .gradient = grad_update,
             .grad_inputs = 0b1110,
             .grad_outputs = 0,
             .inplace = 1});
}

Tensor slice(const Tensor& x, const Tensor& begin, const Tensor& sizes) {
  static const OpHandle op("Slice");
  return emit(op, {x, begin, sizes});
}
Tensor slice(const Tensor& x, const Shape& begin, const Ints& sizes) {
  return slice(x, host_vector(begin.dims()), host_vector(sizes));
}
Tensor strided_slice(const Tensor& x, const Tensor& begin, const Tensor& end,
                     const Tensor& strides, StridedSliceAttrs attrs) {
  static const OpHandle op("StridedSlice");
  return emit(op, {x, begin, end, strides}, attrs);
}
Tensor strided_slice(const Tensor& x, const Ints& begin, const Ints& end,
                     const Ints& strides, StridedSliceAttrs attrs) {
  return strided_slice(x, host_vector(begin), host_vector(end), host_vector(strides),
                       attrs);
}
Tensor tensor_strided_slice_update(const Tensor& x, const Tensor& begin,
                                   const Tensor& end, const Tensor& strides,
                                   const Tensor& value, StridedSliceAttrs attrs) {
  static const OpHandle op("TensorStridedSliceUpdate");
  return emit(op, {x, begin, end, strides, value}, attrs);
}

Tensor index(const Tensor& x, const std::vector<Index>& entries) {
  using Kind = Index::Kind;
  StridedSliceAttrs a;
  Ints begin, end, strides;
  bool dynamic = false;
  if (entries.size() > kMaxSliceEntries) {
    throw InvalidArgumentError(
        fmt::format("StridedSlice: at most {} entries are supported in an index, got {}.",
                    kMaxSliceEntries, entries.size()));
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    const Index& e = entries[i];
    const int64_t b = int64_t{1} << i;
    begin.push_back(e.begin_);
    end.push_back(e.kind_ == Kind::kAt ? e.begin_ + 1 : e.end_);
    strides.push_back(e.step_);
    dynamic |= e.kind_ == Kind::kAtTensor;
    if (e.kind_ == Kind::kAt || e.kind_ == Kind::kAtTensor) a.shrink_axis_mask |= b;
    if (e.kind_ == Kind::kNewAxis) a.new_axis_mask |= b;
    if (e.kind_ == Kind::kEllipsis) a.ellipsis_mask |= b;
    if (e.kind_ == Kind::kSlice && !e.has_begin_) a.begin_mask |= b;
    if (e.kind_ == Kind::kSlice && !e.has_end_) a.end_mask |= b;
  }
  if (!dynamic) return strided_slice(x, begin, end, strides, a);
  std::vector<Tensor> begins, ends;
  for (size_t i = 0; i < entries.size(); ++i) {
    const bool given = entries[i].kind_ == Kind::kAtTensor;
    begins.push_back(given ? cast(entries[i].tensor_, DType::kInt64)
                           : reshape(host_vector(Ints{begin[i]}), Shape{}));
    ends.push_back(given ? begins.back() : reshape(host_vector(Ints{end[i]}), Shape{}));
  }
  return strided_slice(x, stack(begins), stack(ends), host_vector(strides), a);
}

}  // namespace tandem
