#include "device/cuda/image_parameters.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <elf.h>

namespace tandem::cuda {

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

ImageParameters parameters_of(const void* image) {
  ImageParameters all;
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

}  // namespace tandem::cuda
