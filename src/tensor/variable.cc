#include "tandem/variable.h"

#include <fmt/format.h>

#include "tensor/format.h"
#include "tensor/variable_impl.h"

namespace tandem {

void destroy_object(VariableImpl* v) { delete v; }

VariableImpl& variable_of(const Tensor& handle) {
  if (!handle.defined() || handle.dtype() != DType::kResource ||
      !handle.impl()->variable) {
    throw InvalidArgumentError(
        fmt::format("Expected a variable, got a tensor of dtype {}.",
                    handle.defined() ? dtype_name(handle.dtype()) : "<undefined>"));
  }
  return *handle.impl()->variable;
}

Variable Variable::from_handle(Tensor resource_handle) {
  variable_of(resource_handle);
  Variable v;
  v.handle_ = std::move(resource_handle);
  return v;
}

DType Variable::dtype() const { return variable_of(handle_).dtype; }
const Shape& Variable::shape() const { return variable_of(handle_).shape; }
const std::string& Variable::device() const {
  return variable_of(handle_).device->full_name();
}
const std::string& Variable::name() const { return variable_of(handle_).name; }
bool Variable::trainable() const { return variable_of(handle_).trainable; }

std::string Variable::repr() const {
  VariableImpl& v = variable_of(handle_);
  Tensor value;
  {
    const VariableHold hold(v, VariableHold::Mode::kShared);
    value = v.value;
  }
  const std::string contents = numpy_repr(value.to_host());
  return fmt::format("<tf.Variable '{}:0' shape={} dtype={}, numpy={}{}>", v.name,
                     v.shape.str(), dtype_name(v.dtype),
                     contents.find('\n') == std::string::npos ? "" : "\n", contents);
}

}  // namespace tandem
