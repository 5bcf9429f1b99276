#include "tensor/transfer.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/flags.h"
#include "device/copy.h"
#include "device/host_source.h"
#include "device/runtime.h"
#include "tandem/error.h"
#include "tensor/live_memory.h"
#include "tensor/tensor_impl.h"

namespace tandem {

namespace {

/// Enqueues the copy that fills a buffer; one that is refused spoils it.
TimePoint fill(const Ref<Buffer>& buffer, CopySide from, TimePoint ready) {
  LeaseSet leases;
  Device& target = buffer->device();
  try {
    return enqueue_copy({&target, leases.address(buffer)}, from, buffer->bytes(), ready);
  } catch (const Error&) {
    static const bool sync = env_bool("TANDEM_SYNC", false);
    if (sync) throw;
    buffer->poison(std::current_exception());
    return leave_error(copying_stream(target, *from.device), std::current_exception());
  }
}

}  // namespace

Tensor copy_to_device(const Tensor& tensor, Device& target) {
  TensorImpl* from = tensor.impl();
  // A list stays on the host wherever its elements are.
  if (from->device == &target || from->dtype == DType::kVariant) return tensor;
  if (!from->buffer) {
    throw InvalidArgumentError(
        fmt::format("Cannot copy a tensor of dtype {} without contents to {}. Read the "
                    "variable, or run the "
                    "traced function, first.",
                    dtype_name(from->dtype), target.full_name()));
  }
  if (from->device->is_host() && target.is_host()) {
    // One memory space and immutable contents: another label for the same bytes.
    return make_tensor(from->dtype, from->shape, target, from->buffer, from->byte_offset);
  }
  if (from->dtype == DType::kString) {
    throw InvalidArgumentError(
        fmt::format("A string tensor cannot be copied to {}. Keep strings on the CPU.",
                    target.full_name()));
  }
  const size_t bytes = from->bytes();
  Stream* stream = target.is_host() ? nullptr : &target.copy_in();
  copying_stream(target, *from->device).make_room();
  const MemoryNote note{
      from->device->is_host() ? "copy from the host" : "copy from another device",
      nullptr, from->dtype, &from->shape};
  Ref<Buffer> buffer = allocate_for(note, target, bytes, stream);
  // Before its work is over a buffer may be spoiled already, but its stream does not know
  // of the error yet; the copy then takes it over when it runs.
  const bool over = from->buffer->ready().passed();
  if (auto error = over ? from->buffer->error() : nullptr) {
    buffer->poison(error);
  } else if (bytes > 0) {
    LeaseSet leases;
    TimePoint done =
        fill(buffer, {from->device, from->address(leases)}, from->buffer->ready());
    if (done) {
      // Keeps the source until the bytes are across, and hands on an error that shows up
      // late.
      done = done.stream->submit(
          [source = from->buffer, copy = buffer](const StreamContext&) {
            if (auto late = source->error()) copy->poison(late);
          });
      // Memory that somebody else owns is waited for before they have it back.
      const bool was_read = from->device->is_host() && reads_host_at_once(target);
      if (!was_read) from->buffer->add_use(done);
    }
    buffer->set_ready(done);
  }
  Tensor result = make_tensor(from->dtype, from->shape, target, std::move(buffer), 0);
  if (from->host_value) {
    result.impl()->host_value = std::make_unique<PartialValue>(*from->host_value);
  }
  return result;
}

Tensor copy_host_data(Device& target, DType dtype, const Shape& shape, const void* data) {
  if (!reads_host_at_once(target)) {
    const Tensor host = make_tensor(Runtime::get().cpu(), dtype, shape);
    if (const size_t bytes = host.impl()->bytes()) {
      std::memcpy(host.impl()->data(), data, bytes);
    }
    return copy_to_device(host, target);
  }
  const auto bytes = static_cast<size_t>(checked_bytes(dtype, shape));
  Ref<Buffer> buffer = allocate_for({"copy from the host", nullptr, dtype, &shape},
                                    target, bytes, &target.copy_in());
  if (bytes > 0) {
    buffer->set_ready(fill(buffer, {&Runtime::get().cpu(), const_cast<void*>(data)}, {}));
  }
  return make_tensor(dtype, shape, target, std::move(buffer), 0);
}

Tensor duplicate(const TensorImpl& t, Device& device) {
  Tensor fresh = make_tensor(device, t.dtype, t.shape);
  const size_t bytes = t.bytes();
  if (bytes == 0) return fresh;
  if (device.is_host()) {
    t.buffer->host_wait();
    if (t.dtype == DType::kString) {
      std::copy_n(static_cast<const std::string*>(t.data()), t.shape.num_elements(),
                  static_cast<std::string*>(fresh.impl()->data()));
    } else {
      std::memcpy(fresh.impl()->data(), t.data(), bytes);
    }
    return fresh;
  }
  LeaseSet leases;
  device.compute().wait(t.buffer->ready());
  const TimePoint done = device.copy(device.compute(), fresh.impl()->address(leases),
                                     t.address(leases), bytes);
  t.buffer->add_use(done);
  fresh.impl()->buffer->set_ready(done);
  return fresh;
}

}  // namespace tandem
