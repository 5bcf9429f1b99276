// What kernels on oneDNN share: the engine, a stream per thread, the thread count, and
// slots that bring a user's tensor into the layout that a primitive chose. Primitives are
// made in prepare and immutable; memory objects live for one launch, so that a plan may
// run on several threads at once.
#pragma once

#include <string>
#include <unordered_map>

#include <oneapi/dnnl/dnnl.hpp>

#include "op/kernel.h"

namespace tandem::cpu::onednn {

const dnnl::engine& engine();
dnnl::stream& stream();

dnnl::memory::data_type data_type(DType dtype);
/// Attributes with the scratchpad given by the caller.
const dnnl::primitive_attr& user_scratchpad();

/// What a fused primitive does at its end: adds a bias, and of the activations Relu and
/// LeakyRelu. The library's others turn NaN into numbers; ours run over its result then.
struct End {
  bool bias = false;
  std::string activation = {};
  double alpha = 0;  // of LeakyRelu

  /// The activation runs inside the primitive, or there is none.
  bool complete() const;
  /// Attributes with it, and with the scratchpad given by the caller.
  dnnl::primitive_attr attr() const;
};

/// oneDNN reads OpenMP's thread count when a primitive is made and when it runs.
class LibraryThreads {
 public:
  explicit LibraryThreads(int threads);
  LibraryThreads(const LibraryThreads&) = delete;
  LibraryThreads& operator=(const LibraryThreads&) = delete;
  ~LibraryThreads();

 private:
  int previous_;
};

/// Hands out parts of the workspace, 64-byte aligned.
class WorkspaceLayout {
 public:
  size_t take(size_t bytes) {
    const size_t at = total_;
    total_ += (bytes + 63) / 64 * 64;
    return at;
  }
  size_t total() const { return total_; }

 private:
  size_t total_ = 0;
};

/// One tensor of a primitive: the user's layout, the primitive's, and the way between.
struct Slot {
  int arg = 0;    // DNNL_ARG_…
  int index = 0;  // of the op's input or output
  bool output = false;
  dnnl::memory::desc user, inner;
  dnnl::reorder reorder = {};  // null when both layouts are one
  size_t inner_at = 0, scratch_at = 0;
  dnnl::memory::desc scratch = {};

  bool reorders() const { return static_cast<bool>(reorder); }
};
Slot make_slot(int arg, int index, bool output, const dnnl::memory::desc& user,
               const dnnl::memory::desc& inner, WorkspaceLayout& layout);

/// A primitive with its tensors.
struct Call {
  dnnl::primitive primitive = {};
  std::vector<Slot> slots = {};
  dnnl::memory::desc scratch = {};
  size_t scratch_at = 0;
  int threads = 1;
  size_t workspace_bytes = 0;
};
/// Reorders inputs, runs, reorders outputs. Throws InternalError when oneDNN fails.
void execute(const Call& call, const LaunchArgs& args);

}  // namespace tandem::cpu::onednn
