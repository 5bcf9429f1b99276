#include "base/trusted_files.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/flags.h"

namespace tandem {

namespace {

namespace fs = std::filesystem;

std::string name_of_user(uid_t user) {
  std::vector<char> buffer(1 << 14);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) || !found) return {};
  return found->pw_name;
}

/// A group that only this user is in, as distributions make one for each user.
bool is_private_group(gid_t group) {
  std::vector<char> buffer(1 << 16);
  ::group entry{};
  ::group* found = nullptr;
  if (getgrgid_r(group, &entry, buffer.data(), buffer.size(), &found) || !found)
    return false;
  const std::string user = name_of_user(geteuid());
  if (user.empty() || user != found->gr_name) return false;
  for (char** member = found->gr_mem; *member; ++member) {
    if (user != *member) return false;
  }
  return true;
}

std::string judge(const struct stat& s, const std::string& path,
                  std::optional<uid_t> owner) {
  const bool known =
      s.st_uid == geteuid() || s.st_uid == 0 || (owner && s.st_uid == *owner);
  if (!known) return fmt::format("{} belongs to user {}", path, s.st_uid);
  // In a folder such as /tmp nobody replaces the files of others.
  if (S_ISDIR(s.st_mode) && (s.st_mode & S_ISVTX)) return {};
  if (s.st_mode & S_IWOTH) return fmt::format("everybody may write {}", path);
  if ((s.st_mode & S_IWGRP) && s.st_gid != 0 && !is_private_group(s.st_gid)) {
    return fmt::format("group {} may write {}", s.st_gid, path);
  }
  return {};
}

}  // namespace

std::string reason_to_distrust(const std::string& path, std::optional<uid_t> owner) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return fmt::format("{} cannot be looked at: {}", path, error.message());
  for (const fs::path& part : {real, real.parent_path()}) {
    struct stat s{};
    if (stat(part.c_str(), &s)) {
      return fmt::format("{} cannot be looked at: {}", part.string(), strerror(errno));
    }
    if (std::string why = judge(s, part.string(), owner); !why.empty()) return why;
  }
  return {};
}

std::string reason_to_distrust(int fd, const std::string& path) {
  struct stat s{};
  if (fstat(fd, &s))
    return fmt::format("{} cannot be looked at: {}", path, strerror(errno));
  if (!S_ISREG(s.st_mode)) return path + " is no file";
  return judge(s, path, {});
}

bool is_network_file_system(uint32_t type) {
  switch (type) {
    case 0x6969:      // NFS
    case 0x517B:      // SMB
    case 0xFF534D42:  // CIFS
    case 0xFE534D42:  // SMB2
    case 0x5346414F:  // AFS
    case 0x6B414653:  // AFS of the kernel
    case 0x00C36400:  // Ceph
    case 0x0BD00BD0:  // Lustre
    case 0x47504653:  // GPFS
    case 0x19830326:  // BeeGFS
    case 0x65735546:  // FUSE: sshfs, GlusterFS and others
    case 0x01021997:  // 9p: shares of virtual machines
      return true;
    default:
      return false;
  }
}

bool is_on_network(const std::string& folder) {
  std::error_code error;
  fs::path there = fs::absolute(folder.empty() ? "." : folder, error);
  struct statfs s{};
  while (statfs(there.c_str(), &s)) {
    if (!there.has_relative_path()) return false;
    there = there.parent_path();
  }
  return is_network_file_system(static_cast<uint32_t>(s.f_type));
}

namespace {

std::string wanted_cache_folder() {
  // Set to nothing: no cache.
  if (const char* given = std::getenv("TANDEM_CACHE_DIR")) return given;
  if (const auto base = env_string("XDG_CACHE_HOME")) return *base + "/tandem";
  if (const auto home = env_string("HOME")) return *home + "/.cache/tandem";
  return {};
}

}  // namespace

std::string cache_folder() {
  std::string folder = wanted_cache_folder();
  if (!folder.empty() && is_on_network(folder)) folder.clear();
  return folder;
}

bool make_cache_folder(const std::string& folder) {
  if (folder.empty()) return false;
  std::error_code error;
  const fs::path above = fs::path(folder).parent_path();
  if (!above.empty()) fs::create_directories(above, error);
  if (mkdir(folder.c_str(), 0700) && errno != EEXIST) return false;
  return fs::is_directory(folder, error) && reason_to_distrust(folder).empty();
}

}  // namespace tandem
