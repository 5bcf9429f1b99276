// KernelMarks: kernels of which something special is known, by id. Filled when kernels
// are registered; any thread may ask.
#pragma once

#include <mutex>
#include <set>
#include <string>

#include "op/kernel.h"

namespace tandem {

class KernelMarks {
 public:
  void add(const std::string& kernel_id) {
    const std::lock_guard lock(mutex_);
    ids_.insert(kernel_id);
  }
  bool has(const Kernel& kernel) const {
    const std::lock_guard lock(mutex_);
    return ids_.contains(kernel.id);
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::string> ids_;
};

}  // namespace tandem
