// The number one in every dtype, as the bytes of an element. Pure; any thread.
#pragma once

#include <array>
#include <cstddef>

#include "tandem/dtype.h"

namespace tandem {

struct OneElement {
  alignas(16) std::array<std::byte, 16> bytes{};
};
OneElement one_element(DType dtype);

}  // namespace tandem
