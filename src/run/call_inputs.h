// Checking the inputs of an eager call and bringing them where they are needed. Used by
// one call on one thread.
#pragma once

#include <span>
#include <vector>

#include "op/emitter.h"
#include "op/input_count.h"
#include "tensor/tensor_impl.h"

namespace tandem {

/// Inputs after copies and host reads: borrowed pointers, and the tensors that replaced
/// some of them.
class Inputs {
 public:
  explicit Inputs(std::span<const TensorArg> given) {
    for (const TensorArg& t : given) impls_.push_back(t.impl());
  }
  size_t size() const { return impls_.size(); }
  TensorImpl* operator[](size_t i) const { return impls_[i]; }
  std::span<TensorImpl* const> view() const { return impls_; }
  void replace(size_t i, Tensor t) {
    impls_[i] = t.impl();
    owned_.push_back(std::move(t));
  }
  /// Input i is what input `other` has been replaced by.
  void share(size_t i, size_t other) { impls_[i] = impls_[other]; }

 private:
  SmallVec<TensorImpl*, 8> impls_;
  std::vector<Tensor> owned_;
};

/// Throws when input i is absent, belongs to a trace, or is a handle where a tensor is
/// wanted.
void check_input(const OpDef& op, const TensorImpl* impl, size_t i);
/// A host input on the host. Contents the host already knows need no copy back.
Tensor host_input(const Tensor& t);
/// Of memory that a definition or a kernel asked for itself.
[[noreturn]] void throw_no_host_memory(const OpDef& op);
/// Warns or throws as the thread's copy policy says.
void check_copy_allowed(const OpDef& op, size_t i, const TensorImpl& t, Device& target);

}  // namespace tandem
