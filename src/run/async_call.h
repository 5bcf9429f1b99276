// Calls that run later on a device's stream, and outputs whose size only the kernel
// knows.
#pragma once

#include <exception>
#include <vector>

#include "run/call_plan.h"
#include "tensor/live_memory.h"
#include "tensor/tensor_impl.h"

namespace tandem {

/// Work of one call on a device whose stream runs it later: owns everything it touches.
struct AsyncCall {
  Ref<CallPlan> plan;
  std::vector<Ref<Buffer>> inputs;  // null where the kernel gets no pointer
  std::vector<Ref<Buffer>> outputs;
  Ref<Buffer> workspace;
  std::vector<void*> in_pointers, out_pointers;
  void* workspace_pointer = nullptr;
  Team* team = nullptr;
  const char* site = nullptr;  // the user's line, while events are recorded

  /// Runs the kernel in stream order. A failure spoils the outputs; variables keep their
  /// value.
  void run(const StreamContext& context);
  /// Moves the pointers to where this stream's tasks reach the device's memory.
  void translate(int64_t address_offset);

 private:
  std::exception_ptr input_error() const;
};

/// Gives a dynamic kernel memory for its outputs.
class DeviceOutputs final : public OutputAllocator {
 public:
  DeviceOutputs(const CallPlan& plan, int64_t address_offset)
      : plan_(plan), offset_(address_offset), tensors_(plan.outputs.size()) {}
  void* allocate(int output, const Shape& shape) override {
    const auto i = static_cast<size_t>(output);
    const DType dtype = plan_.outputs[i].dtype;
    tensors_[i] = make_tensor_for({"result of", plan_.op->name.c_str()}, *plan_.device,
                                  dtype, shape);
    return static_cast<std::byte*>(tensors_[i].impl()->address(leases_)) + offset_;
  }
  std::vector<Tensor>& tensors() { return tensors_; }

 private:
  const CallPlan& plan_;
  int64_t offset_;
  LeaseSet leases_;
  std::vector<Tensor> tensors_;
};

}  // namespace tandem
