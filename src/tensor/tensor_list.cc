#include "tensor/tensor_list.h"

#include <atomic>

#include <fmt/format.h>

#include "device/runtime.h"
#include "tensor/tensor_impl.h"
#include "tensor/variant.h"

namespace tandem {

// A version either holds the array, or says what to do with the array of `newer` to get
// this one's.
struct TensorList::Version {
  enum class Change { kSet, kPush, kPop };
  std::vector<Tensor> array;
  std::shared_ptr<Version> newer;  // null: the array is here
  Change change = Change::kSet;
  size_t index = 0;
  Tensor value;

  Version() = default;
  Version(const Version&) = delete;
  Version& operator=(const Version&) = delete;
  // A long chain of versions must not be destroyed recursively.
  ~Version() {
    std::shared_ptr<Version> rest = std::move(newer);
    while (rest && rest.use_count() == 1) rest = std::exchange(rest->newer, nullptr);
  }

  // This version's array, made of a copy of the newer one's.
  void change_copy(std::vector<Tensor>& copy) const {
    switch (change) {
      case Change::kSet:
        copy[index] = value;
        break;
      case Change::kPush:
        copy.push_back(value);
        break;
      case Change::kPop:
        copy.pop_back();
        break;
    }
  }

  void apply(std::vector<Tensor>& to, Version& reverse) {
    switch (change) {
      case Change::kSet:
        reverse.change = Change::kSet;
        reverse.index = index;
        reverse.value = std::exchange(to[index], std::move(value));
        break;
      case Change::kPush:
        reverse.change = Change::kPop;
        to.push_back(std::move(value));
        break;
      case Change::kPop:
        reverse.change = Change::kPush;
        reverse.value = std::move(to.back());
        to.pop_back();
        break;
    }
    value = Tensor();
  }
};

TensorList::TensorList(DType element_dtype, const Shape& element_shape, int64_t count)
    : dtype_(element_dtype), shape_(element_shape), size_(count) {}

TensorList::TensorList(DType element_dtype, const Shape& element_shape,
                       std::vector<Tensor> items)
    : dtype_(element_dtype),
      shape_(element_shape),
      size_(static_cast<int64_t>(items.size())) {
  if (items.empty()) return;
  hold(std::move(items));
}

void TensorList::hold(std::vector<Tensor> items) {
  version_ = std::make_shared<Version>();
  family_ = std::make_shared<Family>();
  version_->array = std::move(items);
}

TensorList::TensorList(const Tensor& rows)
    : dtype_(rows.dtype()), size_(rows.dim(0)), rows_(make_ref<ListRows>(rows)) {
  shape_ = rows_->shape();
}

TensorList TensorList::as_versions() const {
  if (version_) return *this;
  TensorList made(dtype_, shape_, size_);
  made.hold(items());
  return made;
}

namespace {
// How far away an array may be and still be brought here. Two versions that are used in
// turns would carry it to and fro, further each time: beyond this one gets its own.
constexpr size_t kNear = 8;
std::atomic<int64_t> g_copied{0};
}  // namespace

int64_t TensorList::copied_elements() { return g_copied.load(std::memory_order_relaxed); }

std::vector<Tensor>& TensorList::array() const {
  std::vector<std::shared_ptr<Version>> path;  // from here to where the array is
  for (std::shared_ptr<Version> v = version_; v->newer; v = v->newer) path.push_back(v);
  if (path.size() > kNear) {
    std::vector<Tensor> mine = path.back()->newer->array;
    g_copied.fetch_add(static_cast<int64_t>(mine.size()), std::memory_order_relaxed);
    while (!path.empty()) {
      path.back()->change_copy(mine);
      path.pop_back();
    }
    // Older versions that lead here find the array here from now on.
    version_->array = std::move(mine);
    version_->value = Tensor();
    version_->newer = nullptr;
    return version_->array;
  }
  while (!path.empty()) {
    const std::shared_ptr<Version> target = std::move(path.back());
    path.pop_back();
    const std::shared_ptr<Version> holder = std::exchange(target->newer, nullptr);
    target->array = std::move(holder->array);
    holder->array.clear();
    target->apply(target->array, *holder);
    holder->newer = target;
  }
  return version_->array;
}

Tensor TensorList::at(int64_t i) const {
  if (!version_) return rows_ && rows_->is_set(i) ? rows_->tensor(i) : Tensor();
  const std::lock_guard lock(family_->mutex);
  return array()[static_cast<size_t>(i)];
}

std::vector<Tensor> TensorList::items() const {
  if (!version_) {
    std::vector<Tensor> made(static_cast<size_t>(size_));
    for (int64_t i = 0; rows_ && i < size_; ++i) made[static_cast<size_t>(i)] = at(i);
    return made;
  }
  const std::lock_guard lock(family_->mutex);
  return array();
}

Device* TensorList::element_device() const {
  constexpr size_t kLooked = 8;
  if (!version_) return rows_ && size_ ? &Runtime::get().cpu() : nullptr;
  const std::lock_guard lock(family_->mutex);
  const std::vector<Tensor>& all = array();
  for (size_t i = all.size(), n = 0; i-- > 0 && n < kLooked; ++n) {
    if (!all[i].defined()) continue;
    return all[i].dtype() == DType::kVariant ? nullptr : all[i].impl()->device;
  }
  return nullptr;
}

TensorList TensorList::next(std::shared_ptr<Version> version, int64_t size) const {
  TensorList made = *this;
  made.version_ = std::move(version);
  made.size_ = size;
  return made;
}

TensorList TensorList::set(int64_t i, const Tensor& value) const {
  if (!version_) return as_versions().set(i, value);
  const std::lock_guard lock(family_->mutex);
  array();
  auto made = std::make_shared<Version>();
  made->newer = version_;
  made->change = Version::Change::kSet;
  made->index = static_cast<size_t>(i);
  made->value = value;
  TensorList result = next(std::move(made), size_);
  result.array();
  return result;
}

TensorList TensorList::push_back(const Tensor& value) const {
  if (!version_) return as_versions().push_back(value);
  const std::lock_guard lock(family_->mutex);
  array();
  auto made = std::make_shared<Version>();
  made->newer = version_;
  made->change = Version::Change::kPush;
  made->value = value;
  TensorList result = next(std::move(made), size_ + 1);
  result.array();
  return result;
}

TensorList TensorList::pop_back() const {
  if (!version_) {
    TensorList made = *this;
    --made.size_;
    return made;
  }
  const std::lock_guard lock(family_->mutex);
  array();
  auto made = std::make_shared<Version>();
  made->newer = version_;
  made->change = Version::Change::kPop;
  TensorList result = next(std::move(made), size_ - 1);
  result.array();
  return result;
}

TensorList TensorList::resize(int64_t count) const {
  if (!version_ && (!rows_ || count <= size_)) {
    TensorList made = *this;
    made.size_ = count;
    return made;
  }
  std::vector<Tensor> copy = items();
  copy.resize(static_cast<size_t>(count));
  return TensorList(dtype_, shape_, std::move(copy));
}

const void* TensorList::row(int64_t i, DType dtype, const Shape& shape) const {
  const bool fits = rows_ && rows_->dtype() == dtype && rows_->shape() == shape;
  return fits && rows_->is_set(i) ? rows_->row(i) : nullptr;
}

bool TensorList::copy_rows(DType dtype, const Shape& shape, void* to) const {
  if (!rows_ || rows_->dtype() != dtype || !(rows_->shape() == shape)) return false;
  if (!rows_->all_set(size_)) return false;
  rows_->copy_to(to, size_);
  return true;
}

// A list of lists that holds none yet may become a list of anything.
bool TensorList::accepts_row(DType dtype, const Shape& shape) const {
  if (version_ || dtype == DType::kVariant || dtype == DType::kString) return false;
  if (rows_) {
    return rows_.use_count() == 1 && rows_->dtype() == dtype && rows_->shape() == shape &&
           shape_.compatible_with(shape);
  }
  const bool same = dtype_ == dtype || dtype_ == DType::kVariant;
  return same && shape_.compatible_with(shape);
}

void* TensorList::push_row(DType dtype, const Shape& shape) {
  if (!accepts_row(dtype, shape)) return nullptr;
  if (!rows_) {
    rows_ = make_ref<ListRows>(dtype, shape, size_);
    dtype_ = dtype;
  } else if (rows_->size() > size_) {
    rows_->truncate(size_);
  }
  return rows_->writable(size_++);
}

void* TensorList::set_row(int64_t i, DType dtype, const Shape& shape) {
  if (!accepts_row(dtype, shape)) return nullptr;
  if (!rows_) {
    rows_ = make_ref<ListRows>(dtype, shape, size_);
    dtype_ = dtype;
  }
  return rows_->writable(i);
}

bool TensorList::pop_row() {
  if (version_) return false;
  --size_;
  if (rows_.use_count() == 1) rows_->truncate(size_);
  return true;
}

// The array is nobody else's: no other version leads to it or from it.
bool TensorList::has_own_array() const {
  return version_ && version_.use_count() == 1 && !version_->newer;
}

bool TensorList::push_tensor(Tensor value) {
  if (!value.defined() || dtype_ != DType::kVariant) return false;
  if (!version_ && !rows_ && size_ == 0) hold({});
  if (!has_own_array()) return false;
  const std::lock_guard lock(family_->mutex);  // whoever shared it has looked at it
  version_->array.push_back(std::move(value));
  ++size_;
  return true;
}

bool TensorList::pop_tensor(Tensor& value) {
  if (dtype_ != DType::kVariant || size_ == 0 || !has_own_array()) return false;
  const std::lock_guard lock(family_->mutex);
  if (!version_->array.back().defined()) return false;
  value = std::move(version_->array.back());
  version_->array.pop_back();
  --size_;
  return true;
}

Tensor make_list_tensor(TensorList list) { return make_variant(std::move(list)); }

const TensorList& list_of(const Tensor& tensor) {
  if (const auto* list = variant_value<TensorList>(tensor)) return *list;
  throw InvalidArgumentError(fmt::format(
      "Expected a list of tensors, got {} of dtype {}.",
      tensor.defined() && tensor.dtype() == DType::kVariant ? "another kind of value"
                                                            : "a tensor",
      tensor.defined() ? dtype_name(tensor.dtype()) : "<undefined>"));
}

TensorList* sole_list(const Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  const TensorImpl& t = *tensor.impl();
  if (t.dtype != DType::kVariant || !t.buffer || tensor.header().use_count() != 1 ||
      t.buffer.use_count() != 1) {
    return nullptr;
  }
  return variant_value<TensorList>(tensor);
}

}  // namespace tandem
