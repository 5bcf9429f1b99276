// CallPlan: everything about an eager call that depends only on op, attributes, dtypes,
// shapes, host values and device: output shapes, kernel, prepared state. Found by key in
// a per-thread cache, so that a repeated call does no inference and no preparation.
// Immutable once built; shared between threads.
#pragma once

#include <optional>
#include <vector>

#include "op/kernel.h"
#include "op/placement.h"
#include "tandem/ref.h"
#include "tandem/tensor.h"

namespace tandem {

struct CallPlan : RefCounted {
  struct Input {
    DType dtype;
    Shape shape;
  };
  struct Output {
    DType dtype;
    Shape shape;
    size_t bytes = 0;
    /// Known integer contents, kept with tensors on devices the host cannot read.
    std::unique_ptr<PartialValue> host_value;
  };
  KeyWords key;
  uint64_t hash = 0;
  const OpDef* op = nullptr;
  Attrs attrs;
  Device* device = nullptr;
  const char* reason = "";
  const Kernel* kernel = nullptr;  // null: view
  Ref<Prepared> prepared;
  std::optional<int64_t> view_offset;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
};
inline void destroy_object(CallPlan* p) { delete p; }

/// Inputs of a call as the planner sees them: host inputs are host tensors already.
struct CallInputs {
  const OpDef* op;
  AttrsRef attrs;
  std::span<TensorImpl* const> tensors;  // null: absent optional input
  /// Device forced by a variable among the inputs; null when there is none.
  Device* resource_device = nullptr;
};

/// The plan for a call: cached, or inferred, placed and prepared now. `threads` 0 means
/// the team's size. Throws what inference and placement throw.
Ref<CallPlan> find_plan(const CallInputs& call, bool single_thread);

}  // namespace tandem
