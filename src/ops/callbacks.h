// Ops that call back: PyFunc runs a function of the front that is installed (Python) on
// the host. What it calls is known by number, and lives as long as the attributes of an
// op that calls it; the upper layers install what answers, once.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "op/attrs.h"
#include "tandem/tensor.h"

namespace tandem {

class OpTable;

/// The number of a function that was not stored with the graph that calls it.
inline constexpr int64_t kNoFunction = -1;

struct PyFuncAttrs {
  int64_t token = 0;
  Ints output_dtypes = {};
  std::shared_ptr<const void> function = {};  // kept; the front sets it
  TANDEM_ATTRS(PyFuncAttrs, token, output_dtypes)
};
/// The outputs of function `token`. Called on any thread, with the eager emitter.
using HostCallback = std::vector<Tensor> (*)(int64_t token,
                                             std::span<const Tensor> inputs);
void set_host_callback(HostCallback callback);

void register_callback_ops(OpTable& table);

}  // namespace tandem
