// Sizes of kernels' arguments on the pretended GPU: read from the machine code, which has
// a list of them for each kernel. And what kernels were given.
#include <algorithm>
#include <cstring>
#include <string_view>

#include <elf.h>

#include "gpu/fake/state.h"

namespace fake {

namespace {

// Of .nv.info.KERNEL: entries of a kind, an attribute and a length.
constexpr uint8_t kHasBytes = 4, kParameter = 0x17;
constexpr std::string_view kSection = ".nv.info.";

std::vector<size_t> sizes_in(const char* info, size_t bytes) {
  std::vector<size_t> sizes;
  for (size_t at = 0; at + 4 <= bytes;) {
    uint16_t length = 0;
    std::memcpy(&length, info + at + 2, sizeof(length));
    const bool has_bytes = static_cast<uint8_t>(info[at]) == kHasBytes;
    if (has_bytes && static_cast<uint8_t>(info[at + 1]) == kParameter) {
      uint16_t number = 0;
      uint32_t packed = 0;
      std::memcpy(&number, info + at + 8, sizeof(number));
      std::memcpy(&packed, info + at + 12, sizeof(packed));
      sizes.resize(std::max<size_t>(sizes.size(), number + size_t{1}));
      sizes[number] = packed >> 18;
    }
    at += 4 + (has_bytes ? length : 0);
  }
  return sizes;
}

}  // namespace

Sizes parameters_of(const void* image) {
  Sizes all;
  const auto* const begin = static_cast<const char*>(image);
  if (std::memcmp(begin, ELFMAG, SELFMAG) != 0) return all;  // PTX
  Elf64_Ehdr header;
  std::memcpy(&header, begin, sizeof(header));
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), begin + header.e_shoff,
              sections.size() * sizeof(Elf64_Shdr));
  const char* const names = begin + sections.at(header.e_shstrndx).sh_offset;
  for (const Elf64_Shdr& s : sections) {
    const std::string_view name = names + s.sh_name;
    if (!name.starts_with(kSection)) continue;
    all[std::string(name.substr(kSection.size()))] =
        sizes_in(begin + s.sh_offset, s.sh_size);
  }
  return all;
}

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
