// Steps that add, subtract or compare two integers on the host: counters of loops and
// their conditions. Computed here instead of by a kernel, whose launch takes longer than
// most of what such a loop does besides. Pure; any thread.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace tandem {

enum class ScalarOp : uint8_t {
  kNone,
  kAdd32,
  kSub32,
  kLess32,
  kLessEqual32,
  kGreater32,
  kGreaterEqual32,
  kAdd64,
  kSub64,
  kLess64,
  kLessEqual64,
  kGreater64,
  kGreaterEqual64,
};

/// What a node of two int32 or int64 scalars does; kNone: something else.
ScalarOp scalar_op(const Graph& graph, const Node& node);

inline bool is_comparison(ScalarOp op) {
  return (op >= ScalarOp::kLess32 && op <= ScalarOp::kGreaterEqual32) ||
         op >= ScalarOp::kLess64;
}

namespace internal {
template <class T, class U>
void run_scalar(int op, const void* x, const void* y, void* out) {
  const T a = *static_cast<const T*>(x), b = *static_cast<const T*>(y);
  switch (op) {
    case 0:  // wraps around, as kernels do
      *static_cast<T*>(out) = static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
      return;
    case 1:
      *static_cast<T*>(out) = static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
      return;
    case 2:
      *static_cast<bool*>(out) = a < b;
      return;
    case 3:
      *static_cast<bool*>(out) = a <= b;
      return;
    case 4:
      *static_cast<bool*>(out) = a > b;
      return;
    default:
      *static_cast<bool*>(out) = a >= b;
  }
}
}  // namespace internal

inline void run_scalar(ScalarOp op, const void* x, const void* y, void* out) {
  if (op < ScalarOp::kAdd64) {
    internal::run_scalar<int32_t, uint32_t>(
        static_cast<int>(op) - static_cast<int>(ScalarOp::kAdd32), x, y, out);
  } else {
    internal::run_scalar<int64_t, uint64_t>(
        static_cast<int>(op) - static_cast<int>(ScalarOp::kAdd64), x, y, out);
  }
}

}  // namespace tandem
