// HostWords: numbers that were computed in prepare() and are needed in the GPU's memory.
// They travel as arguments of kernels, so that nothing waits and a captured step holds
// them. Any thread.
#pragma once

#include <memory>
#include <vector>

#include "kernels/cuda/program.h"

namespace tandem::cuda {

class HostWords {
 public:
  HostWords() = default;
  HostWords(Device* device, std::vector<int64_t> words);

  size_t bytes() const { return words_.size() * sizeof(int64_t); }
  /// Writes them to `to`, in stream order.
  void run(const StreamContext& stream, int64_t* to) const;

 private:
  Function function_;
  std::vector<int64_t> words_;
};

std::string host_words_text();

}  // namespace tandem::cuda
