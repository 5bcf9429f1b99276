// Ref<T>: an intrusive, thread-safe reference-counted pointer.
// Owner: every handle type of the public API. A T provides `std::atomic<int32_t> refs`
// (starting at 0) and a free function `void destroy_object(T*)` found by ADL.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace tandem {

/// Base of objects held by Ref. Not copyable: identity matters.
struct RefCounted {
  mutable std::atomic<int32_t> refs{0};
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
};

/// Shared ownership of a T. Copying counts up, the last one out destroys.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* object) : object_(object) { retain(); }
  Ref(const Ref& other) : object_(other.object_) { retain(); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
    requires std::is_convertible_v<U*, T*>
  Ref(const Ref<U>& other) : object_(other.get()) {
    retain();
  }
  ~Ref() { release(); }

  Ref& operator=(const Ref& other) {
    Ref copy(other);
    std::swap(object_, copy.object_);
    return *this;
  }
  Ref& operator=(Ref&& other) noexcept {
    if (this != &other) {
      release();
      object_ = std::exchange(other.object_, nullptr);
    }
    return *this;
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(const Ref&) const = default;

  /// How many handles there are now. Exact only when no other thread holds one.
  int32_t use_count() const {
    return object_ ? object_->refs.load(std::memory_order_acquire) : 0;
  }
  void reset() {
    release();
    object_ = nullptr;
  }

 private:
  void retain() {
    if (object_) object_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  void release() {
    if (object_ && object_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      destroy_object(object_);
    }
  }
  T* object_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>(new T(std::forward<Args>(args)...));
}

}  // namespace tandem
