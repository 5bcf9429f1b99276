#include "ops/values.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "device/runtime.h"
#include "tensor/tensor_impl.h"

namespace tandem::testing {

namespace {

// Calls f with a value of the dtype's element type.
template <class F>
void with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kBool:
      return f(bool{});
    case DType::kInt8:
      return f(int8_t{});
    case DType::kInt16:
      return f(int16_t{});
    case DType::kInt32:
      return f(int32_t{});
    case DType::kInt64:
      return f(int64_t{});
    case DType::kUInt8:
      return f(uint8_t{});
    case DType::kUInt16:
      return f(uint16_t{});
    case DType::kUInt32:
      return f(uint32_t{});
    case DType::kUInt64:
      return f(uint64_t{});
    case DType::kFloat16:
      return f(float16{});
    case DType::kBFloat16:
      return f(bfloat16{});
    case DType::kFloat32:
      return f(float{});
    case DType::kFloat64:
      return f(double{});
    case DType::kComplex64:
      return f(std::complex<float>{});
    case DType::kComplex128:
      return f(std::complex<double>{});
    default:
      throw InternalError("no such element type in tests");
  }
}

// Not inlined: g++ 12 forgets the rounding when a pair of doubles goes to float and back.
template <class T>
[[gnu::noinline]] T from_double(std::complex<double> v) {
  if constexpr (std::is_same_v<T, std::complex<float>> ||
                std::is_same_v<T, std::complex<double>>) {
    return T(static_cast<typename T::value_type>(v.real()),
             static_cast<typename T::value_type>(v.imag()));
  } else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return T(static_cast<float>(v.real()));
  } else if constexpr (std::is_same_v<T, bool>) {
    return v.real() != 0;
  } else {
    return static_cast<T>(v.real());
  }
}

template <class T>
std::complex<double> to_double(T v) {
  if constexpr (std::is_same_v<T, std::complex<float>> ||
                std::is_same_v<T, std::complex<double>>) {
    return {v.real(), v.imag()};
  } else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return static_cast<double>(static_cast<float>(v));
  } else {
    return static_cast<double>(v);
  }
}

bool same(double got, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(expected)) return got == expected;
  return std::abs(got - expected) <= tolerance * std::max(1.0, std::abs(expected));
}

}  // namespace

std::complex<double> rounded(std::complex<double> v, DType dtype) {
  std::complex<double> r;
  with_type(dtype, [&]<class T>(T) { r = to_double(from_double<T>(v)); });
  return r;
}

Ref make_values(const In& in, DType dtype, std::mt19937_64& random) {
  Ref ref;
  ref.shape = in.shape;
  const auto n = static_cast<size_t>(in.shape.num_elements());
  if (dtype == DType::kString) {
    ref.strings = in.strings;
    ref.strings.resize(n);
    return ref;
  }
  ref.values.resize(n);
  if (!in.fixed.empty() || n == 0) {
    for (size_t i = 0; i < n; ++i) {
      const bool both = is_complex(dtype) && !in.imaginary.empty();
      ref.values[i] = rounded({in.fixed[i % in.fixed.size()],
                               both ? in.imaginary[i % in.imaginary.size()] : 0},
                              dtype);
    }
    return ref;
  }
  std::uniform_real_distribution<double> uniform(in.low, in.high);
  auto draw = [&] {
    const double v = uniform(random);
    if (dtype == DType::kBool)
      return std::floor(uniform(random) - in.low) >= 1 ? 1.0 : 0.0;
    if (is_unsigned(dtype)) return std::floor(std::abs(v));
    return is_integer(dtype) ? std::floor(v) : v;
  };
  if (in.spread > 0) {
    // Distinct values in random order.
    for (size_t i = 0; i < n; ++i) {
      ref.values[i] = in.low + in.spread * static_cast<double>(i + 1);
    }
    std::shuffle(ref.values.begin(), ref.values.end(), random);
    for (auto& v : ref.values) v = rounded(v, dtype);
    return ref;
  }
  for (auto& v : ref.values) {
    v = is_complex(dtype) ? std::complex<double>(uniform(random), uniform(random))
                          : std::complex<double>(draw());
    v = rounded(v, dtype);
  }
  return ref;
}

Tensor to_tensor(const Ref& ref, DType dtype, int misalign) {
  Device& cpu = Runtime::get().cpu();
  const int64_t n = ref.shape.num_elements();
  const Tensor whole = make_tensor(cpu, dtype, Shape{n + misalign});
  if (dtype == DType::kString) {
    auto* p = static_cast<std::string*>(whole.impl()->data()) + misalign;
    std::copy(ref.strings.begin(), ref.strings.end(), p);
  } else {
    with_type(dtype, [&]<class T>(T) {
      T* p = static_cast<T*>(whole.impl()->data()) + misalign;
      for (int64_t i = 0; i < n; ++i) {
        p[i] = from_double<T>(ref.values[static_cast<size_t>(i)]);
      }
    });
  }
  return make_tensor(dtype, ref.shape, cpu, whole.impl()->buffer,
                     misalign * static_cast<int64_t>(dtype_size(dtype)));
}

Ref to_ref(const Tensor& tensor) {
  Ref ref;
  ref.shape = tensor.shape();
  const auto n = static_cast<size_t>(ref.shape.num_elements());
  const Tensor host = tensor.to_host();
  if (tensor.dtype() == DType::kString) {
    const auto* p = static_cast<const std::string*>(host.host_data());
    ref.strings.assign(p, p + n);
    return ref;
  }
  ref.values.resize(n);
  with_type(tensor.dtype(), [&]<class T>(T) {
    const T* p = static_cast<const T*>(host.host_data());
    for (size_t i = 0; i < n; ++i) ref.values[i] = to_double(p[i]);
  });
  return ref;
}

double scaled_tolerance(DType dtype, double tolerance) {
  switch (dtype) {
    case DType::kFloat16:
      return std::max(tolerance, 2e-3);
    case DType::kBFloat16:
      return std::max(tolerance, 1.6e-2);
    case DType::kFloat32:
    case DType::kComplex64:
      return tolerance;
    case DType::kFloat64:
    case DType::kComplex128:
      return std::max(tolerance * 1e-6, 1e-12);
    default:
      return 0;
  }
}

std::string difference(const Ref& got, const Ref& expected, DType dtype,
                       double tolerance) {
  if (!(got.shape == expected.shape)) {
    return fmt::format("shape {} instead of {}", got.shape.str(), expected.shape.str());
  }
  if (dtype == DType::kString) {
    return got.strings == expected.strings ? "" : "strings differ";
  }
  const double t = scaled_tolerance(dtype, tolerance);
  for (size_t i = 0; i < expected.values.size(); ++i) {
    // The reference rounds as the dtype would where it overflows or saturates.
    std::complex<double> e = expected.values[i];
    if (is_floating(dtype) && std::isinf(rounded(e, dtype).real())) e = rounded(e, dtype);
    if (!same(got.values[i].real(), e.real(), t) ||
        !same(got.values[i].imag(), e.imag(), t)) {
      return fmt::format(
          "element {}: {}{} instead of {}{} (tolerance {})", i, got.values[i].real(),
          is_complex(dtype) ? fmt::format("+{}i", got.values[i].imag()) : "", e.real(),
          is_complex(dtype) ? fmt::format("+{}i", e.imag()) : "", t);
    }
  }
  return "";
}

}  // namespace tandem::testing
