// Kernels' arguments on the pretended GPU: how large they are, and what kernels were
// given.
#include <cstring>

#include "gpu/fake/state.h"

namespace fake {

std::vector<uint64_t> words_of(const Function& function, void** arguments) {
  std::vector<uint64_t> words;
  for (size_t i = 0; i < function.sizes.size(); ++i) {
    const size_t size = function.sizes[i], first = words.size();
    words.resize(first + (size + 7) / 8);
    std::memcpy(words.data() + first, arguments[i], size);
  }
  return words;
}

std::vector<uint64_t> last_words(const std::string& kernel) {
  const Lock lock(mutex());
  return state().last_words[kernel];
}

}  // namespace fake

extern "C" CUresult cuFuncGetParamInfo(CUfunction function, size_t number, size_t* offset,
                                       size_t* size) {
  const auto& sizes = reinterpret_cast<fake::Function*>(function)->sizes;
  if (number >= sizes.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = 0;
  *size = sizes[number];
  return CUDA_SUCCESS;
}
