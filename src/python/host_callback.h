// The Python functions that graphs call (tf.py_function): whoever holds what
// host_function() gives keeps one alive. With the interpreter lock; released on any
// thread.
#pragma once

#include <cstdint>
#include <memory>

namespace tandem::python {

/// The function of that number; null where there is none, which its call says.
std::shared_ptr<const void> host_function(int64_t token);

}  // namespace tandem::python
