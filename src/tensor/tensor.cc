#include "tandem/tensor.h"

#include <atomic>
#include <cstring>

#include <fmt/format.h>

#include "device/runtime.h"
#include "tensor/format.h"
#include "tensor/live_memory.h"
#include "tensor/renew_id.h"
#include "tensor/tensor_impl.h"
#include "tensor/transfer.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

// TensorImpl objects come and go at the rate of ops: a small per-thread list of free
// blocks keeps them away from the general allocator.
struct FreeList {
  static constexpr int kMax = 64;
  void* blocks[kMax];
  int count = 0;
  bool dead = false;
  ~FreeList() {
    while (count > 0) ::operator delete(blocks[--count]);
    dead = true;
  }
};
thread_local FreeList t_free;

// Ids are handed out in blocks, so that threads do not share a cache line for each
// tensor.
uint64_t next_id() {
  static std::atomic<uint64_t> blocks{1};
  constexpr uint64_t kBlock = 1024;
  thread_local uint64_t next = 0, end = 0;
  if (next == end) {
    next = blocks.fetch_add(1, std::memory_order_relaxed) * kBlock;
    end = next + kBlock;
  }
  return next++;
}

bool keeps_host_value(DType dtype, const Shape& shape) {
  return is_integer(dtype) && shape.rank() <= 1 && shape.num_elements() <= kMaxHostValues;
}

const TensorImpl& concrete(const Tensor& t, const char* what) {
  if (!t.defined()) {
    throw InvalidArgumentError(fmt::format("{}: the tensor is not defined", what));
  }
  const TensorImpl& impl = *t.impl();
  if (impl.symbolic) {
    throw InvalidArgumentError(
        fmt::format("{}: a tensor inside a traced function has no value yet. Return it "
                    "from the function, or "
                    "use tf.print.",
                    what));
  }
  if (!impl.buffer) {
    throw InvalidArgumentError(
        fmt::format("{}: a tensor of dtype {} has no contents of its own", what,
                    dtype_name(impl.dtype)));
  }
  return impl;
}

}  // namespace

PartialValue read_ints(DType dtype, const void* data, int64_t n) {
  PartialValue v;
  auto read = [&]<class T>(const T* p) {
    for (int64_t i = 0; i < n; ++i) v.push_back(static_cast<int64_t>(p[i]));
  };
  switch (dtype) {
    case DType::kInt8:
      read(static_cast<const int8_t*>(data));
      break;
    case DType::kInt16:
      read(static_cast<const int16_t*>(data));
      break;
    case DType::kInt32:
      read(static_cast<const int32_t*>(data));
      break;
    case DType::kInt64:
      read(static_cast<const int64_t*>(data));
      break;
    case DType::kUInt8:
      read(static_cast<const uint8_t*>(data));
      break;
    case DType::kUInt16:
      read(static_cast<const uint16_t*>(data));
      break;
    case DType::kUInt32:
      read(static_cast<const uint32_t*>(data));
      break;
    case DType::kUInt64:
      read(static_cast<const uint64_t*>(data));
      break;
    default:
      break;
  }
  return v;
}

TensorImpl::TensorImpl() : id(next_id()) {}
void renew_id(TensorImpl& tensor) { tensor.id = next_id(); }
TensorImpl::~TensorImpl() = default;

void* TensorImpl::operator new(size_t bytes) {
  FreeList& f = t_free;
  if (f.count > 0) return f.blocks[--f.count];
  return ::operator new(bytes);
}
void TensorImpl::operator delete(void* p, size_t) {
  FreeList& f = t_free;
  if (!f.dead && f.count < FreeList::kMax) {
    f.blocks[f.count++] = p;
  } else {
    ::operator delete(p);
  }
}

void destroy_object(TensorHeader* header) { delete static_cast<TensorImpl*>(header); }

int64_t checked_bytes(DType dtype, const Shape& shape) {
  const int64_t n = shape.num_elements();
  int64_t bytes;
  if (__builtin_mul_overflow(n, static_cast<int64_t>(dtype_size(dtype)), &bytes)) {
    throw InvalidArgumentError(fmt::format(
        "A tensor of shape {} and dtype {} has more bytes than fit in 64 bits. Check "
        "the sizes.",
        shape.debug_str(), dtype_name(dtype)));
  }
  return bytes;
}

Tensor make_tensor(Device& device, DType dtype, const Shape& shape) {
  return make_tensor_for({"tensor"}, device, dtype, shape);
}

Tensor make_tensor_for(MemoryNote note, Device& device, DType dtype, const Shape& shape) {
  note.dtype = dtype;
  note.shape = &shape;
  const auto bytes = static_cast<size_t>(checked_bytes(dtype, shape));
  Ref<Buffer> buffer =
      dtype == DType::kString
          ? Buffer::strings(device, static_cast<size_t>(shape.num_elements()))
          : allocate_for(note, device, bytes);
  return make_tensor(dtype, shape, device, std::move(buffer), 0);
}

Tensor make_tensor(DType dtype, const Shape& shape, Device& device, Ref<Buffer> buffer,
                   int64_t byte_offset) {
  auto* impl = new TensorImpl;
  impl->dtype = dtype;
  impl->shape = shape;
  impl->device = &device;
  impl->buffer = std::move(buffer);
  impl->byte_offset = byte_offset;
  return Tensor(Ref<TensorHeader>(impl));
}

Tensor make_ghost(const Tensor& like) {
  auto* impl = new TensorImpl;
  impl->id = like.impl()->id;
  impl->dtype = like.impl()->dtype;
  impl->shape = like.impl()->shape;
  impl->device = like.impl()->device;
  impl->variable = like.impl()->variable;
  impl->symbolic = like.impl()->symbolic;
  impl->ghost = !impl->symbolic;
  return Tensor(Ref<TensorHeader>(impl));
}

Tensor make_ghost(uint64_t id, DType dtype, const Shape& shape, Device* device) {
  auto* impl = new TensorImpl;
  impl->id = id;
  impl->dtype = dtype;
  impl->shape = shape;
  impl->device = device;
  impl->ghost = true;
  return Tensor(Ref<TensorHeader>(impl));
}

Tensor make_symbolic(DType dtype, const Shape& shape, Ref<SymbolicValue> value) {
  auto* impl = new TensorImpl;
  impl->dtype = dtype;
  impl->shape = shape;
  impl->symbolic = std::move(value);
  return Tensor(Ref<TensorHeader>(impl));
}

Tensor make_host_copy(Device& device, DType dtype, const Shape& shape, const void* data) {
  if (!device.is_host()) {
    Tensor t = copy_host_data(device, dtype, shape, data);
    if (keeps_host_value(dtype, shape)) {
      t.impl()->host_value =
          std::make_unique<PartialValue>(read_ints(dtype, data, shape.num_elements()));
    }
    return t;
  }
  Tensor t = make_tensor(device, dtype, shape);
  if (const size_t bytes = t.impl()->bytes()) std::memcpy(t.impl()->data(), data, bytes);
  return t;
}

Tensor make_host_ints(std::span<const int64_t> values) {
  return make_host_copy(Runtime::get().cpu(), DType::kInt64,
                        Shape{static_cast<int64_t>(values.size())}, values.data());
}

Ints host_ints(const Tensor& tensor, std::string_view what) {
  const TensorImpl& impl = concrete(tensor, "host_ints");
  if (!is_integer(impl.dtype) || impl.shape.num_elements() > kMaxHostValues) {
    throw InvalidArgumentError(
        fmt::format("{} must be a small integer tensor, but is {} of shape {}", what,
                    dtype_name(impl.dtype), impl.shape.str()));
  }
  if (impl.host_value) return *impl.host_value;
  const Tensor host = tensor.to_host();
  return read_ints(impl.dtype, host.host_data(), impl.shape.num_elements());
}

int64_t host_int(const Tensor& tensor, std::string_view what) {
  if (concrete(tensor, "host_int").shape.num_elements() != 1) {
    throw InvalidArgumentError(fmt::format("{} must be a scalar, but its shape is {}",
                                           what, tensor.shape().str()));
  }
  return tensor.dtype() == DType::kBool ? tensor.item<bool>()
                                        : host_ints(tensor, what)[0];
}

DType Tensor::dtype() const { return impl() ? impl()->dtype : DType::kInvalid; }

const Shape& Tensor::shape() const {
  if (!defined()) throw InvalidArgumentError("shape: the tensor is not defined");
  return impl()->shape;
}

const std::string& Tensor::device() const {
  static const std::string none;
  return impl() && impl()->device ? impl()->device->full_name() : none;
}

void Tensor::check_dtype(DType expected) const {
  if (dtype() != expected) {
    throw InvalidArgumentError(
        fmt::format("The tensor has dtype {}, but {} was asked for. Cast it first.",
                    dtype_name(dtype()), dtype_name(expected)));
  }
}

Tensor Tensor::to_host() const {
  const TensorImpl& t = concrete(*this, "to_host");
  if (t.device->is_host()) {
    t.buffer->host_wait();
    return *this;
  }
  // Nothing is copied of an empty one; whoever reads it is told of its error all the
  // same.
  if (t.bytes() == 0) t.buffer->host_wait();
  Tensor host = copy_to_device(*this, Runtime::get().cpu());
  host.impl()->buffer->host_wait();
  return host;
}

const void* Tensor::host_data() const {
  const TensorImpl& t = concrete(*this, "host_data");
  if (!t.device->is_host()) {
    throw InvalidArgumentError(fmt::format(
        "host_data: the tensor is on {}. Use to_host() first.", t.device->full_name()));
  }
  return t.data();
}

void Tensor::copy_to(void* destination, size_t bytes) const {
  const Tensor host = to_host();
  if (bytes != host.impl()->bytes()) {
    throw InvalidArgumentError(
        fmt::format("copy_to: {} bytes were offered for a tensor of {}", bytes,
                    host.impl()->bytes()));
  }
  if (bytes) std::memcpy(destination, host.host_data(), bytes);
}

Tensor Tensor::to(std::string_view device) const {
  concrete(*this, "to");
  return copy_to_device(*this, Runtime::get().named(device));
}

void Tensor::wait() const { concrete(*this, "wait").buffer->host_wait(); }
bool Tensor::ready() const { return concrete(*this, "ready").buffer->ready().passed(); }

Tensor from_foreign(void* data, DType dtype, const Shape& shape,
                    std::function<void()> deleter) {
  Device& cpu = Runtime::get().cpu();
  const auto bytes = static_cast<size_t>(checked_bytes(dtype, shape));
  if (bytes && !data) throw InvalidArgumentError("from_foreign: null pointer");
  return make_tensor(dtype, shape, cpu,
                     Buffer::foreign(cpu, data, bytes, std::move(deleter)), 0);
}

namespace detail {
void throw_ragged(size_t expected, size_t got) {
  throw ValueError(
      fmt::format("constant: rows have {} and {} values. Give all rows the same length.",
                  expected, got));
}
}  // namespace detail

}  // namespace tandem
