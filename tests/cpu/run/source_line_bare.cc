#include "cpu/run/source_line.h"

namespace user {

td::Tensor bare_body(const td::Tensor& x) {
  const td::Tensor y = exp(x);
  return y + 1.f;
}

}  // namespace user
