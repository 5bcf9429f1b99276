#include "tensor/format_element.h"

#include <algorithm>
#include <complex>

#include <fmt/format.h>

#include "tandem/error.h"
#include "tensor/format_float.h"

namespace tandem {

namespace {

using Words = std::vector<std::string>;
using Indices = std::span<const int64_t>;

template <class T>
Words integer_words(const T* data, Indices shown) {
  Words words;
  size_t width = 0;
  for (int64_t i : shown) {
    words.push_back(fmt::format("{}", data[i]));
    width = std::max(width, words.back().size());
  }
  for (auto& w : words) w.insert(0, width - w.size(), ' ');
  return words;
}

template <class T>
Words float_words(const T* data, Indices shown) {
  std::vector<double> values;
  for (int64_t i : shown) values.push_back(static_cast<double>(data[i]));
  const FloatFormat format(values, dtype_of<T>);
  Words words;
  for (double v : values) words.push_back(format(v));
  return words;
}

template <class T>
Words complex_words(const std::complex<T>* data, Indices shown) {
  std::vector<double> real, imaginary;
  for (int64_t i : shown) {
    real.push_back(data[i].real());
    imaginary.push_back(data[i].imag());
  }
  const FloatFormat real_format(real, dtype_of<T>);
  const FloatFormat imaginary_format(imaginary, dtype_of<T>, FloatFormat::Plus::kShow);
  Words words;
  for (size_t i = 0; i < real.size(); ++i) {
    std::string im = imaginary_format(imaginary[i]);
    im.insert(im.find_last_not_of(' ') + 1, 1, 'j');  // before the padding
    words.push_back(real_format(real[i]) + im);
  }
  return words;
}

}  // namespace

Words element_words(DType dtype, const void* data, Indices shown) {
  const auto integers = [&]<class T>(T) {
    return integer_words(static_cast<const T*>(data), shown);
  };
  const auto each = [&]<class T>(const T* p, auto text) {
    Words words;
    for (int64_t i : shown) words.push_back(text(p[i]));
    return words;
  };
  switch (dtype) {
    case DType::kBool:
      return each(static_cast<const uint8_t*>(data),
                  [](uint8_t b) { return b ? " True" : "False"; });
    case DType::kInt8:
      return integers(int8_t{});
    case DType::kInt16:
      return integers(int16_t{});
    case DType::kInt32:
      return integers(int32_t{});
    case DType::kInt64:
      return integers(int64_t{});
    case DType::kUInt8:
      return integers(uint8_t{});
    case DType::kUInt16:
      return integers(uint16_t{});
    case DType::kUInt32:
      return integers(uint32_t{});
    case DType::kUInt64:
      return integers(uint64_t{});
    case DType::kFloat16:
      return float_words(static_cast<const float16*>(data), shown);
    case DType::kFloat32:
      return float_words(static_cast<const float*>(data), shown);
    case DType::kFloat64:
      return float_words(static_cast<const double*>(data), shown);
    case DType::kComplex64:
      return complex_words(static_cast<const std::complex<float>*>(data), shown);
    case DType::kComplex128:
      return complex_words(static_cast<const std::complex<double>*>(data), shown);
    case DType::kBFloat16:
      return each(static_cast<const bfloat16*>(data),
                  [](bfloat16 v) { return bfloat16_text(v); });
    case DType::kString:
      return each(static_cast<const std::string*>(data),
                  [](const std::string& s) { return bytes_literal(s); });
    case DType::kInvalid:
    case DType::kResource:
    case DType::kVariant:
      break;
  }
  throw InternalError(fmt::format("print: dtype {} has no elements", dtype_name(dtype)));
}

std::string scalar_text(DType dtype, const void* data, ScalarStyle style) {
  const bool python = style == ScalarStyle::kPythonRepr;
  const auto part = [&](DType t) { return python ? DType::kFloat64 : t; };
  static constexpr int64_t kFirst[] = {0};
  switch (dtype) {
    case DType::kBool:
      return *static_cast<const uint8_t*>(data) ? "True" : "False";
    case DType::kFloat16:
      return float_scalar(static_cast<double>(*static_cast<const float16*>(data)),
                          part(dtype));
    case DType::kFloat32:
      return float_scalar(*static_cast<const float*>(data), part(dtype));
    case DType::kFloat64:
      return float_scalar(*static_cast<const double*>(data), dtype);
    case DType::kComplex64: {
      const auto& c = *static_cast<const std::complex<float>*>(data);
      return complex_scalar(c.real(), c.imag(), part(DType::kFloat32));
    }
    case DType::kComplex128: {
      const auto& c = *static_cast<const std::complex<double>*>(data);
      return complex_scalar(c.real(), c.imag(), DType::kFloat64);
    }
    case DType::kBFloat16: {
      const float v = *static_cast<const bfloat16*>(data);
      return python ? float_scalar(v, DType::kFloat64) : bfloat16_text(v);
    }
    default:
      return element_words(dtype, data, kFirst).front();
  }
}

std::string bytes_literal(std::string_view bytes) {
  const bool has_single = bytes.find('\'') != std::string_view::npos;
  const char quote = has_single && bytes.find('"') == std::string_view::npos ? '"' : '\'';
  std::string s{'b', quote};
  for (const char c : bytes) {
    if (c == quote || c == '\\') {
      s += {'\\', c};
    } else if (c == '\t') {
      s += "\\t";
    } else if (c == '\n') {
      s += "\\n";
    } else if (c == '\r') {
      s += "\\r";
    } else if (const auto byte = static_cast<unsigned char>(c);
               byte < 0x20 || byte > 0x7e) {
      s += fmt::format("\\x{:02x}", byte);
    } else {
      s += c;
    }
  }
  return s + quote;
}

}  // namespace tandem
