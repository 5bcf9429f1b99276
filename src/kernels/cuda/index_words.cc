#include "kernels/cuda/index_words.h"

#include <fmt/format.h>

namespace tandem::cuda {

std::string place_of(const Shape& shape, int64_t at) {
  if (shape.rank() == 0) return "";
  std::string text;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    text = fmt::format("{}{}{}", at % shape[i], text.empty() ? "" : ",", text);
    at /= shape[i];
  }
  return "[" + text + "]";
}

std::shared_ptr<ErrorSite> index_site(const std::string& op, const Shape& indices) {
  return std::make_shared<ErrorSite>([op, indices](const Report& r) {
    if (r.code == 2) {
      return fmt::format("{}: Integer division by zero: element {} of updates is 0", op,
                         r.position);
    }
    return fmt::format("{}: indices{} = {} is not in [0, {})", op,
                       place_of(indices, r.position), r.value, r.extra);
  });
}

std::shared_ptr<ErrorSite> signed_index_site(const std::string& op) {
  return std::make_shared<ErrorSite>([op](const Report& r) {
    return fmt::format("{}: indices has the value {}, which is not in [{}, {})", op,
                       r.value, -r.extra, r.extra);
  });
}

std::shared_ptr<ErrorSite> coordinate_site(const std::string& op, const Shape& indices,
                                           const Shape& params, const std::string& into) {
  return std::make_shared<ErrorSite>([=](const Report& r) {
    return fmt::format("{}: indices{} does not index into {} {}: its coordinate {} is {}",
                       op, place_of(indices.slice(0, indices.rank() - 1), r.position),
                       into, params.debug_str(), r.extra, r.value);
  });
}

}  // namespace tandem::cuda
