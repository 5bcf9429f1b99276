#include "tandem/train/initializers.h"

#include <cmath>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "tandem/ops.h"

namespace tandem::initializers {

namespace {

struct Fans {
  double in, out;
};

Fans fans_of(const Shape& shape) {
  if (shape.rank() == 0) return {1, 1};
  if (shape.rank() == 1) {
    return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  }
  double window = 1;
  for (int i = 0; i + 2 < shape.rank(); ++i) window *= static_cast<double>(shape[i]);
  return {window * static_cast<double>(shape.dim(-2)),
          window * static_cast<double>(shape.dim(-1))};
}

int64_t seed_or_none(int64_t seed) { return seed == 0 ? -1 : seed; }

}  // namespace

Tensor constant(const Shape& shape, double value, DType dtype) {
  const Tensor one = scalar(value, dtype).to_host();
  const size_t n = static_cast<size_t>(shape.num_elements()), bytes = dtype_size(dtype);
  std::vector<std::byte> data(n * bytes);
  if (value != 0) {
    for (size_t i = 0; i < n; ++i) {
      std::memcpy(data.data() + i * bytes, one.host_data(), bytes);
    }
  }
  return tensor_from(data.data(), dtype, shape);
}

Tensor glorot_uniform(const Shape& shape, int64_t seed) {
  const Fans fans = fans_of(shape);
  return uniform(shape, std::sqrt(6 / (fans.in + fans.out)), seed);
}

Tensor he_normal(const Shape& shape, int64_t seed) {
  // Cutting off at two standard deviations narrows the distribution to this share.
  constexpr double kCutOff = 0.87962566103423978;
  return random::truncated_normal(
      shape,
      {.stddev = std::sqrt(2 / fans_of(shape).in) / kCutOff, .seed = seed_or_none(seed)});
}

Tensor uniform(const Shape& shape, double limit, int64_t seed) {
  return random::uniform(shape,
                         {.minval = -limit, .maxval = limit, .seed = seed_or_none(seed)});
}

Tensor orthogonal(const Shape& shape, int64_t seed) {
  if (shape.rank() < 2) {
    throw ValueError(fmt::format(
        "The tensor to initialize must be at least two-dimensional. Received: shape={} "
        "of rank {}.",
        shape.str(), shape.rank()));
  }
  const int64_t columns = shape.dim(-1), rows = shape.num_elements() / columns;
  const bool wide = rows < columns;
  const Tensor a = random::normal(wide ? Shape{columns, rows} : Shape{rows, columns},
                                  {.seed = seed_or_none(seed)});
  const auto [q, r] = linalg::qr(a);
  // Signs of the diagonal make the distribution uniform over such matrices.
  const Tensor signed_q = q * sign(matrix_diag_part(r));
  return reshape(wide ? transpose(signed_q) : signed_q, shape);
}

}  // namespace tandem::initializers
