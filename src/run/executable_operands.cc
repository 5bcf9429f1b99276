// Arguments and results of a device's work that are not copied: its kernels reach
// them where the caller has them. A native device records addresses that stand for them
// and tells its kernels the real ones when they have changed; other devices find them in
// the table. Work of earlier calls may still be waiting to be done, with the addresses it
// had: so the table's are changed in the order of the lane.
#include "device/operand_address.h"
#include "device/runtime.h"
#include "op/fixed_addresses.h"
#include "run/executable_frame.h"
#include "tandem/device.h"
#include "tandem/error.h"
#include "tensor/tensor_impl.h"
#include "tensor/transfer.h"

namespace tandem {

void Executable::await_argument(Frame& f, size_t number, Device& device) {
  if (number >= f.arguments.size()) return;
  const TensorImpl* t = f.arguments[number].impl();
  if (!t || !t->buffer) return;
  device.compute().wait(t->buffer->ready());
  if (auto e = t->buffer->error()) f.fail(e);
}

void Executable::await_operands(Frame& f, const Segment& segment) {
  Device& device = *lanes_[idx(segment.lane)];
  for (const Segment::Operand& o : segment.operands) {
    if (o.result) continue;
    await_argument(f, o.number, device);
    if (device.platform() != kHostPlatform) continue;
    // What makes the argument may fail later.
    device.compute().submit(
        [&f, argument = f.arguments[o.number].impl()->buffer](const StreamContext&) {
          if (auto e = argument->error()) f.fail(e);
        });
  }
}

void Executable::set_operands(Frame& f, const Segment& segment,
                              std::span<void* const> addresses) const {
  for (const Segment::OperandSlot& s : segment.operand_slots) {
    f.table[s.slot] = static_cast<std::byte*>(addresses[s.operand]) + s.offset;
  }
}

void Executable::tell_operands(Frame& f, size_t s, Stream& stream) {
  const Segment& segment = segments_[s];
  std::vector<void*>& told = f.told[s];
  bool changed = false;
  for (size_t i = 0; i < segment.operands.size(); ++i) {
    const Segment::Operand& o = segment.operands[i];
    void* const now = o.result ? f.results[o.number] : f.parameters[o.number];
    if (now == told[i]) continue;
    told[i] = now;
    changed = true;
    if (f.rebound[s]) f.rebound[s]->set_operand(static_cast<int32_t>(i), now);
  }
  if (!changed || f.rebound[s]) return;
  stream.submit([this, &f, &segment, addresses = told](const StreamContext&) {
    set_operands(f, segment, addresses);
  });
}

// Of a plan that was stored: operands have other addresses in every call, which a
// library's kernel is not told.
void Executable::check_operands(const Segment& segment) const {
  for (size_t k = segment.begin; k < segment.end; ++k) {
    const Step& step = steps_[k];
    if (!step.kernel || !has_fixed_addresses(*step.kernel)) continue;
    const Node& n = graph_.node(step.node);
    const size_t end = step.out + n.outputs.size();
    for (const Segment::OperandSlot& s : segment.operand_slots) {
      if (s.slot < step.in || s.slot >= end) continue;
      throw DataLossError("plan: kernel " + step.kernel->id + " keeps addresses, but " +
                          n.name + " is given those of the caller");
    }
  }
}

void Executable::record(Frame& f, size_t s, Stream& stream) {
  const Segment& segment = segments_[s];
  const bool native = lanes_[idx(segment.lane)]->platform() != kHostPlatform;
  if (native && !segment.operands.empty()) {
    check_operands(segment);
    std::vector<void*> standing;
    for (size_t i = 0; i < segment.operands.size(); ++i) {
      standing.push_back(operand_address::of(static_cast<int32_t>(i)));
    }
    set_operands(f, segment, standing);
  }
  f.told[s].assign(segment.operands.size(), nullptr);
  f.rebound[s] = nullptr;
  f.captured[s] = stream.capture([this, &f, &segment](const StreamContext& context) {
    run_on_stream(f, segment, context);
  });
  f.rebound[s] = dynamic_cast<CapturedOperands*>(f.captured[s].get());
}

// Kernels were recorded for memory as an allocator gives it. What lies otherwise (a view
// at an odd offset) is copied for the time of the call.
void Executable::align_arguments(Frame& f, std::span<void*> parameters,
                                 LeaseSet& leases) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!bound_parameters_[i] ||
        reinterpret_cast<uintptr_t>(parameters[i]) % operand_address::kAlignment == 0) {
      continue;
    }
    const Tensor given = f.arguments[i];
    const TensorImpl& t = *given.impl();
    f.arguments[i] = duplicate(t, *t.device);
    parameters[i] = f.arguments[i].impl()->address(leases);
    const Ref<Buffer>& fresh = f.arguments[i].impl()->buffer;
    t.device->compute().submit([from = t.buffer, to = fresh](const StreamContext&) {
      if (auto e = from->error()) to->poison(e);
    });
    moved_arguments_.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace tandem
