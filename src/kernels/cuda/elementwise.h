// A prepared elementwise program: its kernel, and the words of its argument but for the
// pointers. Made in prepare(), launched from any thread.
#pragma once

#include <vector>

#include "kernels/cuda/broadcast.h"
#include "kernels/cuda/elementwise_text.h"
#include "kernels/cuda/program.h"

namespace tandem::cuda {

inline constexpr int kMaxWords = 384;

struct ElementwisePlan {
  Function any, vectors;  // vectors: null where elements do not come in vectors
  int inputs = 0, outputs = 0;
  int64_t n = 0;
  int lanes = 1;
  std::vector<uint64_t> words;      // template of the argument
  std::vector<uint64_t> alignment;  // per pointer, what `vectors` needs
  std::shared_ptr<ErrorSite> site;  // ops that may fail
};

/// `op` names the program in messages.
ElementwisePlan plan_elementwise(Device* device, const std::string& op,
                                 const FusedProgram& program, const Shape& domain,
                                 std::span<const Shape> inputs);
void run_elementwise(const ElementwisePlan& plan, const StreamContext& stream,
                     void* const* inputs, void* const* outputs);

}  // namespace tandem::cuda
