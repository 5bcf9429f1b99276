// dtypes: all plain ones; update also strings. Integers of one size share add, sub and
// mul.
#include "kernels/cpu/scatter_rows.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "base/parallel.h"
#include "kernels/cpu/indexing_common.h"
#include "tandem/error.h"

namespace tandem::cpu {

namespace {

// Arithmetic type of an element: halves compute in float, and 16-bit products stay
// unsigned.
template <class T>
struct Compute {
  using type = T;
};
template <>
struct Compute<float16> {
  using type = float;
};
template <>
struct Compute<uint16_t> {
  using type = uint32_t;
};
template <>
struct Compute<bfloat16> {
  using type = float;
};

template <ScatterOp op, class T>
T combine(const T& a, const T& b) {
  using C = typename Compute<T>::type;
  if constexpr (op == ScatterOp::kUpdate) {
    return b;
  } else if constexpr (op == ScatterOp::kAdd) {
    return static_cast<T>(C(a) + C(b));
  } else if constexpr (op == ScatterOp::kSub) {
    return static_cast<T>(C(a) - C(b));
  } else if constexpr (op == ScatterOp::kMul) {
    return static_cast<T>(C(a) * C(b));
  } else if constexpr (op == ScatterOp::kDiv) {
    if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
      // The lowest number divided by -1 has no result; it wraps as in other arithmetic.
      if (b == -1)
        return static_cast<T>(std::make_unsigned_t<T>(0) - std::make_unsigned_t<T>(a));
    }
    return static_cast<T>(C(a) / C(b));
  } else if constexpr (op == ScatterOp::kMin) {
    return C(b) < C(a) ? b : a;
  } else {
    return C(a) < C(b) ? b : a;
  }
}

template <ScatterOp op, class T>
void loop(const ScatterCall& g, int64_t low, int64_t high, int64_t from, int64_t to) {
  auto* out = static_cast<T*>(g.out);
  const auto* updates = static_cast<const T*>(g.updates);
  const int64_t* rows = g.rows;
  if (g.row == 1) {
    for (int64_t i = 0; i < g.count; ++i) {
      const int64_t r = rows[i];
      if (r < low || r >= high) continue;
      out[r] = combine<op, T>(out[r], updates[i * g.stride]);
    }
    return;
  }
  for (int64_t i = 0; i < g.count; ++i) {
    const int64_t r = rows[i];
    if (r < low || r >= high) continue;
    T* __restrict o = out + r * g.row;
    const T* __restrict u = updates + i * g.stride;
    for (int64_t j = from; j < to; ++j) o[j] = combine<op, T>(o[j], u[j]);
  }
}

template <ScatterOp op>
ScatterLoop wrapping_loop(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kUInt8:
      return loop<op, uint8_t>;
    case DType::kInt16:
    case DType::kUInt16:
      return loop<op, uint16_t>;
    case DType::kInt32:
    case DType::kUInt32:
      return loop<op, uint32_t>;
    case DType::kInt64:
    case DType::kUInt64:
      return loop<op, uint64_t>;
    case DType::kFloat16:
      return loop<op, float16>;
    case DType::kBFloat16:
      return loop<op, bfloat16>;
    case DType::kFloat32:
      return loop<op, float>;
    case DType::kFloat64:
      return loop<op, double>;
    case DType::kComplex64:
      return loop<op, std::complex<float>>;
    case DType::kComplex128:
      return loop<op, std::complex<double>>;
    default:
      return nullptr;
  }
}

template <ScatterOp op>
ScatterLoop real_loop(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return loop<op, int8_t>;
    case DType::kInt16:
      return loop<op, int16_t>;
    case DType::kInt32:
      return loop<op, int32_t>;
    case DType::kInt64:
      return loop<op, int64_t>;
    case DType::kUInt8:
    case DType::kBool:
      return loop<op, uint8_t>;
    case DType::kUInt16:
      return loop<op, uint16_t>;
    case DType::kUInt32:
      return loop<op, uint32_t>;
    case DType::kUInt64:
      return loop<op, uint64_t>;
    case DType::kFloat16:
      return loop<op, float16>;
    case DType::kBFloat16:
      return loop<op, bfloat16>;
    case DType::kFloat32:
      return loop<op, float>;
    case DType::kFloat64:
      return loop<op, double>;
    default:
      return nullptr;
  }
}

ScatterLoop find_loop(ScatterOp op, DType dtype) {
  switch (op) {
    case ScatterOp::kUpdate: {
      ScatterLoop result = nullptr;
      by_element(dtype, [&]<class E>(std::type_identity<E>) {
        result = loop<ScatterOp::kUpdate, E>;
      });
      return result;
    }
    case ScatterOp::kAdd:
      // Adding truth values is "or".
      if (dtype == DType::kBool) return loop<ScatterOp::kMax, uint8_t>;
      return wrapping_loop<ScatterOp::kAdd>(dtype);
    case ScatterOp::kSub:
      return wrapping_loop<ScatterOp::kSub>(dtype);
    case ScatterOp::kMul:
      return wrapping_loop<ScatterOp::kMul>(dtype);
    case ScatterOp::kDiv:
      if (dtype == DType::kComplex64) return loop<ScatterOp::kDiv, std::complex<float>>;
      if (dtype == DType::kComplex128) return loop<ScatterOp::kDiv, std::complex<double>>;
      return dtype == DType::kBool ? nullptr : real_loop<ScatterOp::kDiv>(dtype);
    case ScatterOp::kMin:
      return real_loop<ScatterOp::kMin>(dtype);
    default:
      return real_loop<ScatterOp::kMax>(dtype);
  }
}

// Sets rows [low, high) of a group (or columns of all of them) to what they hold before.
void initialise(const ScatterCall& g, size_t element, int64_t low, int64_t high) {
  if (g.init == ScatterInit::kKeep) return;
  const size_t begin = static_cast<size_t>(low * g.row) * element;
  const size_t bytes = static_cast<size_t>((high - low) * g.row) * element;
  if (bytes == 0) return;
  auto* out = static_cast<std::byte*>(g.out) + begin;
  if (g.init == ScatterInit::kZero) {
    std::memset(out, 0, bytes);
  } else {
    std::memcpy(out, static_cast<const std::byte*>(g.initial) + begin, bytes);
  }
}

// Strings are never zeroed bytewise and never run in parallel.
void scatter_strings(ScatterLoop run, const ScatterCall& call) {
  if (call.init == ScatterInit::kCopy) {
    copy_elements(DType::kString, call.out, call.initial, call.num_rows * call.row);
  }
  run(call, 0, call.num_rows, 0, call.row);
}

}  // namespace

ScatterLoop scatter_loop(ScatterOp op, DType dtype) {
  if (ScatterLoop found = find_loop(op, dtype)) return found;
  throw UnimplementedError(
      fmt::format("Scatter: this update is not defined for dtype {}", dtype_name(dtype)));
}

void scatter_rows(ScatterLoop run, DType dtype, const ScatterCall& call) {
  if (call.groups == 0) return;  // `out` has no elements, whatever a group's would be
  if (dtype == DType::kString) return scatter_strings(run, call);
  const size_t element = dtype_size(dtype);
  const auto size = static_cast<int64_t>(element);
  const auto ns = [&](int64_t rows, int64_t bytes_each, int64_t overhead) {
    return rows * (overhead + call.row * bytes_each / 8);
  };
  const int64_t init_ns =
      call.init == ScatterInit::kKeep ? 0 : ns(call.num_rows, size, 0) / 2;
  const int64_t group_ns = std::max<int64_t>(1, init_ns + ns(call.count, size, 4));
  constexpr int64_t kGrainNs = 20000;

  if (call.groups > 1) {
    parallel_for(
        call.groups, std::max<int64_t>(1, kGrainNs / group_ns),
        [&](int64_t begin, int64_t end) {
          const size_t out_bytes =
              static_cast<size_t>(call.num_rows * call.row) * element;
          const size_t update_bytes =
              static_cast<size_t>(call.count * call.stride) * element;
          for (int64_t i = begin; i < end; ++i) {
            const auto at = static_cast<size_t>(i);
            ScatterCall g = call;
            g.out = static_cast<std::byte*>(call.out) + at * out_bytes;
            g.updates = static_cast<const std::byte*>(call.updates) + at * update_bytes;
            g.rows = call.rows + i / call.groups_per_index * call.count;
            if (call.initial) {
              g.initial = static_cast<const std::byte*>(call.initial) + at * out_bytes;
            }
            initialise(g, element, 0, g.num_rows);
            run(g, 0, g.num_rows, 0, g.row);
          }
        });
    return;
  }
  constexpr int64_t kFewRows = 32;
  if (call.num_rows < kFewRows && call.row >= 1024) {
    // Few long rows: each thread takes columns.
    parallel_for(
        call.num_rows, std::max<int64_t>(1, call.num_rows * kGrainNs / (init_ns + 1)),
        [&](int64_t low, int64_t high) { initialise(call, element, low, high); });
    parallel_for(
        call.row, std::max<int64_t>(16, call.row * kGrainNs / group_ns),
        [&](int64_t from, int64_t to) { run(call, 0, call.num_rows, from, to); });
    return;
  }
  // Each thread owns a range of destination rows and picks its updates out of all
  // indices.
  parallel_for(call.num_rows, std::max<int64_t>(1, call.num_rows * kGrainNs / group_ns),
               [&](int64_t low, int64_t high) {
                 initialise(call, element, low, high);
                 run(call, low, high, 0, call.row);
               });
}

}  // namespace tandem::cpu
