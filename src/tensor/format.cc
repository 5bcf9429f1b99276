#include "tensor/format.h"

#include <fmt/format.h>

#include "tensor/format_array.h"
#include "tensor/tensor_impl.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

/// What stands in place of the value of a tensor without contents of its own.
std::string handle_text(const TensorImpl& t) {
  if (t.dtype == DType::kVariant) return "<TensorList>";
  if (!t.variable) return "<no contents>";
  const VariableImpl& v = *t.variable;
  return fmt::format("<ResourceHandle(name=\"{}\", device=\"{}\", dtype={}, shape={})>",
                     v.name, v.device ? v.device->full_name() : "", dtype_name(v.dtype),
                     v.shape.str());
}

}  // namespace

std::string numpy_str(const Tensor& host) {
  return array_str(host.dtype(), host.shape(), host.host_data());
}

std::string numpy_repr(const Tensor& host) {
  return array_repr(host.dtype(), host.shape(), host.host_data());
}

std::string Tensor::str() const {
  if (!defined()) return "<undefined>";
  const TensorImpl& t = *impl();
  if (t.symbolic) {
    const std::string shape_part =
        t.shape.has_rank() ? fmt::format(", shape={}", t.shape.str()) : "";
    return fmt::format("Tensor(\"?\"{}, dtype={})", shape_part, dtype_name(t.dtype));
  }
  if (!t.buffer || t.dtype == DType::kVariant) {
    return fmt::format("tf.Tensor({}, shape={}, dtype={})", handle_text(t), t.shape.str(),
                       dtype_name(t.dtype));
  }
  const Tensor host = to_host();
  return eager_str(t.dtype, t.shape, host.host_data());
}

std::string Tensor::repr() const {
  if (!defined()) return "<undefined>";
  const TensorImpl& t = *impl();
  if (t.symbolic) {
    return fmt::format("<tf.Tensor '?' shape={} dtype={}>", t.shape.str(),
                       dtype_name(t.dtype));
  }
  if (!t.buffer || t.dtype == DType::kVariant) {
    return fmt::format("<tf.Tensor: shape={}, dtype={}, value={}>", t.shape.str(),
                       dtype_name(t.dtype), handle_text(t));
  }
  const Tensor host = to_host();
  return eager_repr(t.dtype, t.shape, host.host_data());
}

}  // namespace tandem
