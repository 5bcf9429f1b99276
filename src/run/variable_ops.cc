// The methods of Variable that run ops.
#include <fmt/format.h>

#include "device/runtime.h"
#include "op/emitter.h"
#include "op/placement.h"
#include "tandem/ops.h"
#include "tandem/variable.h"
#include "tensor/live_memory.h"
#include "tensor/transfer.h"
#include "tensor/variable_impl.h"

namespace tandem {

Variable::Variable(const Tensor& initial, VariableOptions options) {
  if (!initial.defined()) throw InvalidArgumentError("Variable: no initial value");
  if (initial.impl()->symbolic) {
    throw InvalidArgumentError(
        "Variable: the initial value is a tensor of a function that is being traced. "
        "Make "
        "the variable before the function is called, or start it from a constant.");
  }
  if (!options.shape.compatible_with(initial.shape())) {
    throw ValueError(fmt::format(
        "The initial value's shape ({}) is not compatible with the explicitly "
        "supplied `shape` argument ({}).",
        initial.shape().str(), options.shape.str()));
  }
  auto v = make_ref<VariableImpl>();
  v->dtype = initial.dtype();
  v->shape = options.shape.has_rank() ? options.shape : initial.shape();
  v->name = std::move(options.name);
  v->trainable = options.trainable;
  Device* scoped = scoped_device();
  v->device =
      scoped && initial.dtype() != DType::kString ? scoped : initial.impl()->device;
  const Tensor value = copy_to_device(initial, *v->device);
  // A tensor of the variable's own: writing in place asks whether anybody else holds it.
  v->value = make_tensor(value.dtype(), value.shape(), *v->device, value.impl()->buffer,
                         value.impl()->byte_offset);
  note_variable(*v);
  auto* handle = new TensorImpl;
  handle->dtype = DType::kResource;
  handle->device = v->device;
  handle->variable = std::move(v);
  handle_ = Tensor(Ref<TensorHeader>(handle));
}

Variable Variable::declare(DType dtype, VariableOptions options) {
  auto v = make_ref<VariableImpl>();
  v->dtype = dtype;
  v->shape = options.shape;
  v->name = std::move(options.name);
  v->trainable = options.trainable;
  Device* scoped = dtype == DType::kString ? nullptr : scoped_device();
  v->device = scoped ? scoped : &constant_device(dtype);
  auto* handle = new TensorImpl;
  handle->dtype = DType::kResource;
  handle->device = v->device;
  handle->variable = std::move(v);
  Variable made;
  made.handle_ = Tensor(Ref<TensorHeader>(handle));
  return made;
}

Tensor Variable::read() const {
  static const OpHandle op("ReadVariableOp");
  return emit(op, {handle_});
}

namespace {
void run_update(const OpDef& op, std::initializer_list<TensorArg> inputs) {
  std::vector<Tensor> none;
  current_emitter().emit(op, {}, {inputs.begin(), inputs.size()}, none);
}
}  // namespace

void Variable::assign(const Tensor& value) {
  static const OpHandle op("AssignVariableOp");
  run_update(op, {handle_, value});
}
void Variable::assign_add(const Tensor& delta) {
  static const OpHandle op("AssignAddVariableOp");
  run_update(op, {handle_, delta});
}
void Variable::assign_sub(const Tensor& delta) {
  static const OpHandle op("AssignSubVariableOp");
  run_update(op, {handle_, delta});
}

#define TANDEM_SCATTER(method, name)                                    \
  void Variable::method(const Tensor& indices, const Tensor& updates) { \
    static const OpHandle op(name);                                     \
    run_update(op, {handle_, indices, updates});                        \
  }
TANDEM_SCATTER(scatter_update, "ResourceScatterUpdate")
TANDEM_SCATTER(scatter_add, "ResourceScatterAdd")
TANDEM_SCATTER(scatter_sub, "ResourceScatterSub")
TANDEM_SCATTER(scatter_mul, "ResourceScatterMul")
TANDEM_SCATTER(scatter_div, "ResourceScatterDiv")
TANDEM_SCATTER(scatter_min, "ResourceScatterMin")
TANDEM_SCATTER(scatter_max, "ResourceScatterMax")
#undef TANDEM_SCATTER

Tensor Variable::gather(const Tensor& indices) const {
  static const OpHandle op("ResourceGather");
  return emit(op, {handle_, indices});
}

}  // namespace tandem
