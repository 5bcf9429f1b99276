// Arguments and results of a device's recorded work: either they go through memory of the
// plan, at the price of a copy, or the kernels that touch them are told where the caller
// has them, at the price of telling each of them when that has changed. Pure but for the
// environment; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace tandem {

struct Binding {
  bool in_place = false;
  std::string why;  // for explain()
};

/// By cost. `kernels`: how many would have to be told an address. `native`: the device
/// has memory of its own, and a copy is a launch there.
Binding choose_binding(int64_t bytes, int64_t kernels, bool native);

}  // namespace tandem
