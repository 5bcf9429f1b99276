// VariableImpl: the storage behind a variable. The current value is a tensor; reading
// hands that tensor out, writing replaces it, or writes in place when nobody else holds
// it (design, decision 20). Guarded by the variable's lock (variable_lock.h).
#pragma once

#include "tandem/variable.h"
#include "tensor/tensor_impl.h"
#include "tensor/variable_lock.h"

namespace tandem {

struct VariableImpl : RefCounted {
  VariableLockPtr lock{this};
  Tensor value;  // guarded by lock
  Shape shape;   // declared; fixed
  DType dtype = DType::kInvalid;
  Device* device = nullptr;
  std::string name;
  bool trainable = true;
};
void destroy_object(VariableImpl* v);

/// The variable of a resource tensor; throws InvalidArgumentError for any other tensor.
VariableImpl& variable_of(const Tensor& handle);

}  // namespace tandem
