#include "ops/print_format.h"

#include <cmath>
#include <complex>
#include <cstdlib>

#include <fmt/format.h>

#include "tensor/tensor_impl.h"

namespace tandem {

namespace {

// The shorter of two precisions, if it reads back as the same number.
std::string number(double v, float) {
  const auto f = static_cast<float>(v);
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  const std::string few = fmt::format("{:.6g}", f);
  return std::strtof(few.c_str(), nullptr) == f ? few : fmt::format("{:.9g}", f);
}
std::string number(double v, double) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  const std::string few = fmt::format("{:.15g}", v);
  return std::strtod(few.c_str(), nullptr) == v ? few : fmt::format("{:.17g}", v);
}

template <class T>
std::string complex_number(const std::complex<T>& v) {
  return "(" + number(static_cast<double>(v.real()), T{}) + "," +
         number(static_cast<double>(v.imag()), T{}) + ")";
}

class Elements {
 public:
  explicit Elements(const Tensor& t)
      : dtype_(t.dtype()),
        data_(t.num_elements() ? static_cast<const char*>(t.host_data()) : nullptr) {}

  std::string text(int64_t i, bool quoted) const {
    const char* p = data_ + static_cast<size_t>(i) * dtype_size(dtype_);
    switch (dtype_) {
      case DType::kBool:
        return *p ? "1" : "0";
      case DType::kFloat16:
        return number(static_cast<float>(*reinterpret_cast<const float16*>(p)), 0.f);
      case DType::kBFloat16:
        return number(static_cast<float>(*reinterpret_cast<const bfloat16*>(p)), 0.f);
      case DType::kFloat32:
        return number(static_cast<double>(*reinterpret_cast<const float*>(p)), 0.f);
      case DType::kFloat64:
        return number(*reinterpret_cast<const double*>(p), 0.0);
      case DType::kComplex64:
        return complex_number(*reinterpret_cast<const std::complex<float>*>(p));
      case DType::kComplex128:
        return complex_number(*reinterpret_cast<const std::complex<double>*>(p));
      case DType::kString: {
        const auto& s = *reinterpret_cast<const std::string*>(p);
        return quoted ? "\"" + s + "\"" : s;
      }
      case DType::kUInt64:
        return fmt::format("{}", *reinterpret_cast<const uint64_t*>(p));
      default:
        return fmt::format("{}", read_ints(dtype_, p, 1)[0]);
    }
  }

 private:
  DType dtype_;
  const char* data_;
};

void rows_into(const Elements& e, const Shape& shape, int dim, int64_t first,
               int64_t keep, std::string& text) {
  if (dim == shape.rank()) {
    text += e.text(first, shape.rank() > 0);
    return;
  }
  int64_t step = 1;
  for (int i = dim + 1; i < shape.rank(); ++i) step *= shape[i];
  const int64_t n = shape[dim];
  const bool cut = keep >= 0 && n - keep > keep;
  const bool last = dim == shape.rank() - 1;
  std::string separator = " ";
  if (!last) {
    separator.assign(static_cast<size_t>(std::max(1, shape.rank() - dim - 1)), '\n');
    separator += std::string(static_cast<size_t>(dim + 1), ' ');
  }
  text += "[";
  for (int64_t i = 0; i < n; ++i) {
    if (i > 0) text += separator;
    if (cut && i == keep) {
      text += "..." + separator;
      i = n - keep;
      if (i == n) break;
    }
    rows_into(e, shape, dim + 1, first + i * step, keep, text);
  }
  text += "]";
}

// TensorFlow's summary for assertions: stops after `limit` elements.
void first_into(const Elements& e, const Shape& shape, int dim, int64_t limit,
                int64_t& index, std::string& text) {
  if (index >= limit) return;
  const bool last = dim == shape.rank() - 1;
  for (int64_t i = 0; i < shape[dim]; ++i) {
    if (last) {
      if (index >= limit) {
        if (dim != 0) text += "...";
        return;
      }
      if (i > 0) text += " ";
      text += e.text(index++, false);
      continue;
    }
    const bool open = index < limit;
    if (open) text += "[";
    first_into(e, shape, dim + 1, limit, index, text);
    if (index < limit || open) text += "]";
  }
}

// Of a tensor without elements: whether the brackets are few enough to print.
bool few_rows(const Shape& shape, int64_t keep) {
  constexpr int64_t kMost = 1000;
  int64_t rows = 1;
  for (int i = 0; i < shape.rank() && shape[i] > 0; ++i) {
    const int64_t shown =
        keep >= 0 && keep < kMost ? std::min(shape[i], 2 * keep + 1) : shape[i];
    if (shown > kMost / rows) return false;
    rows *= shown;
  }
  return true;
}

}  // namespace

std::string format_rows(const Tensor& host, int64_t summarize) {
  const Shape& shape = host.shape();
  if (host.num_elements() == 0) {
    if (!few_rows(shape, summarize)) summarize = 3;
    if (!few_rows(shape, summarize)) return "[]";
  }
  std::string text;
  rows_into(Elements(host), shape, 0, 0, summarize, text);
  return text;
}

std::string format_first(const Tensor& host, int64_t limit) {
  const int64_t n = host.num_elements();
  if (limit < 0 || limit > n) limit = n;
  const Elements e(host);
  if (host.rank() == 0) return limit > 0 ? e.text(0, false) : "...";
  std::string text;
  int64_t index = 0;
  first_into(e, host.shape(), 0, limit, index, text);
  if (n > limit) text += "...";
  return text;
}

}  // namespace tandem
