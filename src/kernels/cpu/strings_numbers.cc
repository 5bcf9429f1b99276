// Strings to numbers and numbers to strings. dtypes: all.
#include <charconv>
#include <cinttypes>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "kernels/cpu/strings_register.h"
#include "op/kernel.h"
#include "tandem/error.h"
#include "tandem/ops/strings.h"

namespace tandem::cpu {

namespace {

struct NumberPlan {
  DType dtype = DType::kInvalid;
  int64_t n = 0;
};
NumberPlan prepare_number(const Signature& s) {
  return {s.out().dtype, s.out().shape.num_elements()};
}

std::string_view trim(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front())))
    s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back())))
    s.remove_suffix(1);
  return s;
}

template <class T>
bool parse(std::string_view s, T* out) {
  s = trim(s);
  if (s.starts_with('+') && !s.starts_with("+-")) s.remove_prefix(1);
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), *out);
  if constexpr (std::is_floating_point_v<T>) {
    // Too large or too small for the type: infinity or zero, as the C library has it.
    if (error == std::errc::result_out_of_range && end == s.data() + s.size()) {
      *out = static_cast<T>(std::strtod(std::string(s).c_str(), nullptr));
      return true;
    }
  }
  return error == std::errc() && end == s.data() + s.size();
}

template <class T>
void launch_number(const NumberPlan& p, const LaunchArgs& a) {
  for (int64_t i = 0; i < p.n; ++i) {
    const std::string& s = a.in<std::string>(0)[i];
    if (!parse(s, a.out<T>() + i)) {
      throw InvalidArgumentError(fmt::format(
          "StringToNumber: StringToNumberOp could not correctly convert string: {}", s));
    }
  }
}

// ---- Numbers as text

struct TextPlan {
  std::string format;  // printf's
  int64_t n = 0;
};

TextPlan prepare_text(const Signature& s) {
  const auto& a = s.attrs.as<strings::AsStringAttrs>();
  const DType t = s.in(0).dtype;
  std::string format = "%" + a.fill;
  if (a.width >= 0) format += std::to_string(a.width);
  if (is_floating(t) || is_complex(t)) {
    if (a.precision >= 0) format += "." + std::to_string(a.precision);
    format += a.shortest ? "g" : a.scientific ? "e" : "f";
  } else if (t == DType::kBool || t == DType::kString) {
    format += "s";
  } else {
    format += is_unsigned(t) ? PRIu64 : PRId64;
  }
  return {format, s.out().shape.num_elements()};
}

// The format was made for this type above.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
template <class V>
std::string print(const std::string& format, V v) {
  const int size = std::snprintf(nullptr, 0, format.c_str(), v);
  std::string out(static_cast<size_t>(size), ' ');
  std::snprintf(out.data(), out.size() + 1, format.c_str(), v);
  return out;
}
#pragma GCC diagnostic pop

template <class T>
void launch_text(const TextPlan& p, const LaunchArgs& a) {
  for (int64_t i = 0; i < p.n; ++i) {
    const T& v = a.in<T>(0)[i];
    std::string& out = a.out<std::string>()[i];
    if constexpr (std::is_same_v<T, bool>) {
      out = print(p.format, v ? "true" : "false");
    } else if constexpr (std::is_same_v<T, std::string>) {
      out = p.format == "%s" ? v : print(p.format, v.c_str());
    } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                         std::is_same_v<T, std::complex<double>>) {
      out = "(" + print(p.format, static_cast<double>(v.real())) + "," +
            print(p.format, static_cast<double>(v.imag())) + ")";
    } else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T>) {
      out = print(p.format, static_cast<uint64_t>(v));
    } else if constexpr (std::is_integral_v<T>) {
      out = print(p.format, static_cast<int64_t>(v));
    } else {
      out = print(p.format, static_cast<double>(static_cast<float>(v)));
    }
  }
}
template <>
void launch_text<double>(const TextPlan& p, const LaunchArgs& a) {
  for (int64_t i = 0; i < p.n; ++i) {
    a.out<std::string>()[i] = print(p.format, a.in<double>(0)[i]);
  }
}

template <class T>
bool to_type(const Signature& s) {
  return s.out().dtype == dtype_of<T>;
}

template <class... T>
void add_numbers(KernelRegistry& registry) {
  (registry.add(make_kernel<prepare_number, launch_number<T>>(
       "StringToNumber", "cpu.StringToNumber." + std::string(dtype_name(dtype_of<T>)), 0,
       to_type<T>)),
   ...);
}
template <class... T>
void add_texts(KernelRegistry& registry) {
  (registry.add(make_kernel<prepare_text, launch_text<T>>(
       "AsString", "cpu.AsString." + std::string(dtype_name(dtype_of<T>)),
       mask(dtype_of<T>))),
   ...);
}

}  // namespace

void register_string_number_kernels(KernelRegistry& registry) {
  add_numbers<float, double, int32_t, int64_t, uint32_t, uint64_t>(registry);
  add_texts<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
            uint64_t, float16, bfloat16, float, double, std::complex<float>,
            std::complex<double>, std::string>(registry);
}

}  // namespace tandem::cpu
