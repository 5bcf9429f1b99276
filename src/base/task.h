// Task: a move-only callable that runs once, kept inline when small (no allocation on the
// submission path for ordinary launches).
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace tandem {

template <class Arg>
class TaskOf {
 public:
  TaskOf() = default;
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, TaskOf>)
  TaskOf(F f) {  // NOLINT: implicit on purpose
    if constexpr (sizeof(F) <= kInline && alignof(F) <= alignof(std::max_align_t)) {
      new (storage_) F(std::move(f));
      table_ = &kInlineTable<F>;
    } else {
      *reinterpret_cast<F**>(storage_) = new F(std::move(f));
      table_ = &kHeapTable<F>;
    }
  }
  TaskOf(TaskOf&& other) noexcept { take(other); }
  TaskOf& operator=(TaskOf&& other) noexcept {
    if (this != &other) {
      destroy();
      take(other);
    }
    return *this;
  }
  ~TaskOf() { destroy(); }
  explicit operator bool() const { return table_ != nullptr; }
  void operator()(Arg arg) { table_->run(storage_, arg); }

 private:
  static constexpr size_t kInline = 232;
  struct Table {
    void (*run)(void*, Arg);
    void (*move)(void* to, void* from);
    void (*destroy)(void*);
  };
  template <class F>
  static constexpr Table kInlineTable{
      [](void* p, Arg arg) { (*static_cast<F*>(p))(arg); },
      [](void* to, void* from) {
        new (to) F(std::move(*static_cast<F*>(from)));
        static_cast<F*>(from)->~F();
      },
      [](void* p) { static_cast<F*>(p)->~F(); }};
  template <class F>
  static constexpr Table kHeapTable{
      [](void* p, Arg arg) { (**static_cast<F**>(p))(arg); },
      [](void* to, void* from) { *static_cast<F**>(to) = *static_cast<F**>(from); },
      [](void* p) { delete *static_cast<F**>(p); }};

  void take(TaskOf& other) {
    table_ = std::exchange(other.table_, nullptr);
    if (table_) table_->move(storage_, other.storage_);
  }
  void destroy() {
    if (table_) table_->destroy(storage_);
    table_ = nullptr;
  }
  const Table* table_ = nullptr;
  alignas(std::max_align_t) std::byte storage_[kInline];
};

}  // namespace tandem
