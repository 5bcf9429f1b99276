#include "tensor/tensor_list.h"

#include <atomic>

#include <fmt/format.h>

#include "device/runtime.h"
#include "tensor/tensor_impl.h"

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
    : TensorList(element_dtype, element_shape,
                 std::vector<Tensor>(static_cast<size_t>(count))) {}

TensorList::TensorList(DType element_dtype, const Shape& element_shape,
                       std::vector<Tensor> items)
    : dtype_(element_dtype),
      shape_(element_shape),
      size_(static_cast<int64_t>(items.size())),
      family_(std::make_shared<Family>()),
      version_(std::make_shared<Version>()) {
  version_->array = std::move(items);
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
  const std::lock_guard lock(family_->mutex);
  return array()[static_cast<size_t>(i)];
}

std::vector<Tensor> TensorList::items() const {
  const std::lock_guard lock(family_->mutex);
  return array();
}

Device* TensorList::element_device() const {
  constexpr size_t kLooked = 8;
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
  std::vector<Tensor> copy = items();
  copy.resize(static_cast<size_t>(count));
  return TensorList(dtype_, shape_, std::move(copy));
}

Tensor make_list_tensor(TensorList list) {
  Device& cpu = Runtime::get().cpu();
  auto* kept = new TensorList(std::move(list));
  return make_tensor(DType::kVariant, Shape{}, cpu,
                     Buffer::foreign(cpu, kept, 0, [kept] { delete kept; }), 0);
}

const TensorList& list_of(const Tensor& tensor) {
  if (!tensor.defined() || tensor.dtype() != DType::kVariant || !tensor.impl()->buffer) {
    throw InvalidArgumentError(
        fmt::format("Expected a list of tensors, got a tensor of dtype {}.",
                    tensor.defined() ? dtype_name(tensor.dtype()) : "<undefined>"));
  }
  return *static_cast<const TensorList*>(tensor.impl()->data());
}

}  // namespace tandem
