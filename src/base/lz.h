// Compression for files that are read at run time, without a library: repeated strings
// become references, to earlier bytes or to a dictionary that both sides have. Made for
// machine code of many small programs, which have much in common. Pure functions.
#pragma once

#include <span>
#include <vector>

namespace tandem {

std::vector<char> lz_pack(std::span<const char> data, std::span<const char> dictionary);
/// `data` has the size that was packed; false when `packed` does not give so many bytes.
bool lz_unpack(std::span<const char> packed, std::span<const char> dictionary,
               std::span<char> data);

}  // namespace tandem
