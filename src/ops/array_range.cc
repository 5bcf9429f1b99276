#include "ops/array_range.h"

#include <cmath>

#include <fmt/format.h>

#include "ops/array_common.h"

namespace tandem {

namespace {

std::optional<double> known_float(const TensorInfo& info) {
  switch (info.data ? info.dtype : DType::kInvalid) {
    case DType::kFloat16:
      return static_cast<float>(*static_cast<const float16*>(info.data));
    case DType::kBFloat16:
      return static_cast<float>(*static_cast<const bfloat16*>(info.data));
    case DType::kFloat32:
      return *static_cast<const float*>(info.data);
    case DType::kFloat64:
      return *static_cast<const double*>(info.data);
    default:
      return std::nullopt;
  }
}

uint64_t distance(int64_t a, int64_t b) {
  return a > b ? static_cast<uint64_t>(a) - static_cast<uint64_t>(b)
               : static_cast<uint64_t>(b) - static_cast<uint64_t>(a);
}

}  // namespace

std::optional<RangeSpec> range_spec(std::span<const TensorInfo> inputs) {
  RangeSpec r;
  r.integer = is_integer(inputs[0].dtype);
  if (r.integer) {
    int64_t* const fields[] = {&r.start, &r.limit, &r.delta};
    for (size_t i = 0; i < 3; ++i) {
      const auto v = known_ints(inputs[i]);
      if (!v || v->size() != 1) return std::nullopt;
      *fields[i] = (*v)[0];
    }
    if (r.delta == 0) return r;
    const uint64_t step = distance(r.delta, 0);
    const uint64_t length = distance(r.limit, r.start);
    r.n = static_cast<int64_t>(length / step + (length % step != 0));
    return r;
  }
  double* const fields[] = {&r.start_f, &r.limit_f, &r.delta_f};
  for (size_t i = 0; i < 3; ++i) {
    const auto v = known_float(inputs[i]);
    if (!v) return std::nullopt;
    *fields[i] = *v;
  }
  if (r.delta_f == 0) return r;
  // The quotient in the precision of the dtype, as TensorFlow takes it: it decides about
  // the last one.
  const double q = inputs[0].dtype == DType::kFloat64
                       ? (r.limit_f - r.start_f) / r.delta_f
                       : static_cast<double>((static_cast<float>(r.limit_f) -
                                              static_cast<float>(r.start_f)) /
                                             static_cast<float>(r.delta_f));
  r.n = std::abs(q) < 9.2e18 ? static_cast<int64_t>(std::ceil(std::abs(q))) : -1;
  return r;
}

std::string RangeSpec::problem() const {
  const bool up = integer ? delta > 0 : delta_f > 0;
  const bool zero = integer ? delta == 0 : delta_f == 0;
  const auto text = [this](int64_t i, double f) {
    return integer ? fmt::format("{}", i) : fmt::format("{:g}", f);
  };
  if (zero) return "Requires delta != 0: " + text(delta, delta_f);
  if (up && (integer ? start > limit : start_f > limit_f)) {
    return fmt::format("Requires start <= limit when delta > 0: {}/{}",
                       text(start, start_f), text(limit, limit_f));
  }
  if (!up && (integer ? start < limit : start_f < limit_f)) {
    return fmt::format("Requires start >= limit when delta < 0: {}/{}",
                       text(start, start_f), text(limit, limit_f));
  }
  if (n < 0) return "Requires ((limit - start) / delta) <= 9223372036854775807";
  return {};
}

}  // namespace tandem
