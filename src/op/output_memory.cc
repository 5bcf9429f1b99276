#include "op/output_memory.h"

#include "device/cpu/host_memory.h"
#include "device/device.h"
#include "op/op_def.h"
#include "tensor/live_memory.h"
#include "tensor/tensor_impl.h"

namespace tandem {

void check_output_memory(const Signature& s) {
  constexpr int64_t kSmall = int64_t{1} << 24;  // not worth asking
  for (const TensorInfo& out : s.outputs) {
    if (!out.shape.is_known()) continue;
    const int64_t bytes = checked_bytes(out.dtype, out.shape);
    if (bytes <= kSmall) continue;
    const int64_t limit = s.device->allocator().info().limit;
    if (bytes <= (limit > 0 ? limit : host_memory_bytes())) continue;
    // The allocator says what there is.
    allocate_for({"result of", s.op->name.c_str(), out.dtype, &out.shape}, *s.device,
                 static_cast<size_t>(bytes));
  }
}

}  // namespace tandem
