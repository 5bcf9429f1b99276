// Whether somebody else could have written a file: asked before code or plans from a file
// are used. And where the caches of this user lie. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

namespace tandem {

/// Why `path` may not be trusted: it or its folder belongs to somebody else, or others
/// may write it. Empty: only this user, root, or `owner` can have written it. A link is
/// followed; what it leads to is judged.
std::string reason_to_distrust(const std::string& path, std::optional<uid_t> owner = {});
/// Of an open file, in a folder that was judged.
std::string reason_to_distrust(int fd, const std::string& path);

/// Whether a folder lies on a file system of other machines, where locks and shared
/// memory are not those of this one. Of one that is not there, the next above it that is.
bool is_on_network(const std::string& folder);
/// By its number (statfs).
bool is_network_file_system(uint32_t type);

/// The folder of this user's caches: TANDEM_CACHE_DIR, else `tandem` in XDG_CACHE_HOME or
/// in ~/.cache. Empty: none, and caches live in memory only, as they do where the folder
/// is on a network.
std::string cache_folder();
/// Makes a folder of the cache for this user alone; whether it is there and can be
/// trusted.
bool make_cache_folder(const std::string& folder);

}  // namespace tandem
