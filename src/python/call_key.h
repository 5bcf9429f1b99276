// The key of a call from Python: what decides which trace serves it. Tensors and arrays
// count by dtype and shape, numbers and strings by value, variables and other objects by
// identity, containers by type and layout. Needs the interpreter lock.
#pragma once

#include <cstdint>
#include <vector>

#include <nanobind/nanobind.h>

#include "tandem/tensor.h"

namespace tandem::python {

namespace nb = nanobind;

/// Arguments taken apart. Objects in it are borrowed from the call.
struct CallKey {
  std::vector<uint64_t> tokens;
  std::vector<PyObject*> values;   // compared by value: strings, long integers
  std::vector<PyObject*> objects;  // compared by identity
  std::vector<Tensor> tensors;     // in order; not part of the key
  std::vector<nb::object> parts;   // of composites: what the pointers may point into
};

/// Takes positional and keyword arguments apart. Containers are walked in their own
/// order; an object whose type has `_tf_components` is the list that it returns.
CallKey key_of_call(PyObject* args, PyObject* kwargs);

/// A key that outlives its call: values are owned, objects are held weakly where they can
/// be.
class KeptKey {
 public:
  explicit KeptKey(const CallKey& key);
  bool accepts(const CallKey& key) const;
  int traverse(visitproc visit, void* arg) const;

 private:
  std::vector<uint64_t> tokens_;
  std::vector<nb::object> values_;
  std::vector<nb::object> objects_;  // weak references, or the objects themselves
};

}  // namespace tandem::python
