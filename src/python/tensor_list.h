// Lists of tensors between Python and C++: what callables take and return, element by
// element. Structures are flattened in Python before. Needs the interpreter lock.
#pragma once

#include <vector>

#include <nanobind/nanobind.h>

#include "python/convert.h"
#include "python/tensor_object.h"

namespace tandem::python {

namespace nb = nanobind;

inline std::vector<Tensor> tensors_of(nb::handle list) {
  std::vector<Tensor> result;
  for (nb::handle item : list) result.push_back(to_tensor(item.ptr()));
  return result;
}

inline nb::list wrap_all(const std::vector<Tensor>& tensors) {
  nb::list list;
  for (const Tensor& t : tensors) list.append(nb::steal(wrap(t)));
  return list;
}

}  // namespace tandem::python
