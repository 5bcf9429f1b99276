// SmallVec<T, N>: a vector that holds up to N elements without allocating (T trivially
// copyable), and Ints, the list type of attributes. A plain value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <vector>

namespace tandem {

template <class T, int N>
class SmallVec {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SmallVec() = default;
  SmallVec(std::initializer_list<T> v) { append(v.begin(), v.end()); }
  explicit SmallVec(std::span<const T> v) { append(v.data(), v.data() + v.size()); }
  explicit SmallVec(size_t n, T value = T{}) { resize(n, value); }
  SmallVec(const SmallVec& o) { append(o.begin(), o.end()); }
  SmallVec(SmallVec&& o) noexcept { take(o); }
  SmallVec& operator=(const SmallVec& o) {
    if (this != &o) {
      clear();
      append(o.begin(), o.end());
    }
    return *this;
  }
  SmallVec& operator=(SmallVec&& o) noexcept {
    if (this != &o) {
      release();
      take(o);
    }
    return *this;
  }
  ~SmallVec() { release(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }
  void clear() { size_ = 0; }
  void pop_back() { --size_; }
  void push_back(T v) {
    if (size_ == capacity_) grow(size_ + 1);
    data_[size_++] = v;
  }
  void resize(size_t n, T value = T{}) {
    if (n > capacity_) grow(n);
    for (size_t i = size_; i < n; ++i) data_[i] = value;
    size_ = static_cast<uint32_t>(n);
  }
  void append(const T* first, const T* last) {
    const size_t n = static_cast<size_t>(last - first);
    if (size_ + n > capacity_) grow(size_ + n);
    if (n) std::memcpy(static_cast<void*>(data_ + size_), first, n * sizeof(T));
    size_ += static_cast<uint32_t>(n);
  }
  operator std::span<const T>() const { return {data_, size_}; }
  std::vector<T> to_vector() const { return {begin(), end()}; }
  friend bool operator==(const SmallVec& a, const SmallVec& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  void grow(size_t wanted) {
    const size_t capacity = std::max(wanted, static_cast<size_t>(capacity_) * 2);
    T* bigger = new T[capacity];
    std::memcpy(static_cast<void*>(bigger), data_, size_ * sizeof(T));
    if (data_ != inline_) delete[] data_;
    data_ = bigger;
    capacity_ = static_cast<uint32_t>(capacity);
  }
  void release() {
    if (data_ != inline_) delete[] data_;
    data_ = inline_;
    size_ = 0;
    capacity_ = N;
  }
  void take(SmallVec& o) {
    if (o.data_ == o.inline_) {
      append(o.begin(), o.end());
      o.size_ = 0;
    } else {
      data_ = o.data_;
      size_ = o.size_;
      capacity_ = o.capacity_;
      o.data_ = o.inline_;
      o.size_ = 0;
      o.capacity_ = N;
    }
  }
  T* data_ = inline_;
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  T inline_[N];  // elements at and past size_ are never read
};

/// Attribute lists such as axes, strides and permutations.
using Ints = SmallVec<int64_t, 8>;

}  // namespace tandem
