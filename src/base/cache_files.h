// Files of a cache that hold code: each with a checksum, used only when nobody else could
// have written it, the oldest removed when a folder holds too much. What cannot be read
// or written is made again. Any thread, any process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace tandem {

/// False where there is none that is whole and can be trusted (reason_to_distrust).
bool read_cache_file(const std::filesystem::path& path, std::vector<char>& contents);
/// Written aside and renamed.
void write_cache_file(const std::filesystem::path& path,
                      const std::vector<char>& contents);

/// What a folder of the cache keeps at most. Looked at now and then while it is written.
constexpr uintmax_t kMostCacheBytes = uintmax_t{512} << 20;
/// Removes the oldest files of a folder until it holds no more than `most` bytes.
void forget_oldest_files(const std::filesystem::path& folder,
                         uintmax_t most = kMostCacheBytes);

}  // namespace tandem
