// VariableImpl: the storage behind a variable. The current value is a tensor; reading
// hands that tensor out, writing replaces it, or writes in place when nobody else holds
// it (design, decision 20). Guarded by the variable's lock (variable_lock.h).
#pragma once

#include <memory>

#include "tandem/variable.h"
#include "tensor/tensor_impl.h"
#include "tensor/variable_lock.h"

namespace tandem {

class VariableArena;

struct VariableImpl : RefCounted {
  VariableLockPtr lock{this};
  Tensor value;  // guarded by lock
  Shape shape;   // declared; fixed
  DType dtype = DType::kInvalid;
  Device* device = nullptr;
  std::string name;
  bool trainable = true;
  /// Where its value belongs (variable_arena.h); null: wherever it is. Guarded by lock.
  std::shared_ptr<VariableArena> arena;
  size_t arena_slot = 0;
};
void destroy_object(VariableImpl* v);

/// The variable of a resource tensor; throws InvalidArgumentError for any other tensor.
VariableImpl& variable_of(const Tensor& handle);

}  // namespace tandem
