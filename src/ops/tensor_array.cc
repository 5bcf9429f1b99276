#include "tandem/tensor_array.h"

#include <fmt/format.h>

#include "op/emitter.h"
#include "ops/tensor_list.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

TensorListAttrs attrs_of(const TensorArrayOptions& o) {
  return {o.dtype, o.element_shape};
}

Tensor reserve(const Tensor& size, const TensorArrayOptions& options) {
  static const OpHandle op("TensorListReserve");
  return emit(op, {size}, attrs_of(options));
}

void check_value(const char* what, const TensorArrayOptions& o, const Tensor& value,
                 const Shape& element) {
  if (value.dtype() != o.dtype) {
    throw InvalidArgumentError(
        fmt::format("TensorArray.{}: the array has dtype {}, but the value has {}. Cast "
                    "it.",
                    what, dtype_name(o.dtype), dtype_name(value.dtype())));
  }
  if (!o.element_shape.compatible_with(element)) {
    throw ValueError(
        fmt::format("Incompatible shape for value ({}), expected ({}) in TensorArray.{}.",
                    element.str(), o.element_shape.str(), what));
  }
}

Shape rows_of(const Tensor& value) {
  return value.shape().has_rank() ? value.shape().slice(1, value.shape().rank())
                                  : Shape::unknown();
}

}  // namespace

TensorArray::TensorArray(const TensorArrayOptions& options)
    : TensorArray(constant(static_cast<int32_t>(options.size)), options) {}

TensorArray::TensorArray(const Tensor& size, const TensorArrayOptions& options)
    : options_(options), list_(reserve(size, options)) {}

TensorArray TensorArray::with(Tensor list, const Shape& element) const {
  TensorArrayOptions o = options_;
  o.element_shape = o.element_shape.merged_with(element);
  return TensorArray(std::move(o), std::move(list));
}

TensorArray TensorArray::from_flow(const Tensor& flow) const {
  return TensorArray(options_, flow);
}

Tensor TensorArray::size() const {
  static const OpHandle op("TensorListLength");
  return emit(op, {list_});
}

TensorArray TensorArray::write(const Tensor& index, const Tensor& value) const {
  static const OpHandle op("TensorListSetItem");
  check_value("write", options_, value, value.shape());
  return TensorArray(options_, emit(op, {list_, index, value},
                                    TensorListSetAttrs{options_.dynamic_size}));
}

Tensor TensorArray::read(const Tensor& index) const {
  static const OpHandle op("TensorListGetItem");
  return emit(op, {list_, index, Tensor()}, attrs_of(options_));
}

Tensor TensorArray::stack() const {
  static const OpHandle op("TensorListStack");
  return emit(op, {list_, Tensor()}, attrs_of(options_));
}

TensorArray TensorArray::unstack(const Tensor& value) const {
  static const OpHandle op("TensorListFromTensor");
  check_value("unstack", options_, value, rows_of(value));
  return with(emit(op, {value}), rows_of(value));
}

Tensor TensorArray::gather(const Tensor& indices) const {
  static const OpHandle op("TensorListGather");
  return emit(op, {list_, indices, Tensor()}, attrs_of(options_));
}

TensorArray TensorArray::scatter(const Tensor& indices, const Tensor& value) const {
  static const OpHandle op("TensorListScatterIntoExistingList");
  check_value("scatter", options_, value, rows_of(value));
  return TensorArray(options_, emit(op, {list_, value, indices},
                                    TensorListScatterAttrs{options_.element_shape}));
}

Tensor TensorArray::concat() const {
  static const OpHandle op("TensorListConcat");
  return emit_all(op, {list_, Tensor()}, attrs_of(options_))[0];
}

TensorArray TensorArray::split(const Tensor& value, const Tensor& lengths) const {
  static const OpHandle op("TensorListSplit");
  Shape part = value.shape();
  if (part.has_rank() && part.rank() > 0) part.set(0, kUnknownDim);
  check_value("split", options_, value, part);
  return with(emit(op, {value, lengths}), part);
}

}  // namespace tandem
