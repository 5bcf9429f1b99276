// VariableImpl: the storage behind a variable. The current value is a tensor; reading
// hands that tensor out, writing replaces it, or writes in place when nobody else holds
// it (design, decision 20). One mutex per variable.
#pragma once

#include <mutex>

#include "tandem/variable.h"
#include "tensor/tensor_impl.h"

namespace tandem {

struct VariableImpl : RefCounted {
  std::mutex mutex;
  Tensor value;  // guarded by mutex
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
