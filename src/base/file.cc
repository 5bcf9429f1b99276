#include "base/file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/new_file.h"
#include "tandem/error.h"

namespace tandem {

namespace {

ErrorCode code_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::kPermissionDenied;
    case EEXIST:
      return ErrorCode::kAlreadyExists;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
      return ErrorCode::kResourceExhausted;
    case EISDIR:
    case ENOTEMPTY:
      return ErrorCode::kFailedPrecondition;
    case EINVAL:
    case ENAMETOOLONG:
      return ErrorCode::kInvalidArgument;
    default:
      return ErrorCode::kUnknown;
  }
}

}  // namespace

void throw_file_error(int error, const std::string& doing, const std::string& given) {
  // Files that lie beside are named as they will be called.
  std::string path = given;
  for (size_t at; (at = path.find("/" + std::string(kAsideMark))) != path.npos;) {
    path.erase(at, std::min(path.find('/', at + 1), path.size()) - at);
  }
  throw_error(code_of(error), fmt::format("{}; {}: {}", path, doing, strerror(error)));
}

std::string checked_path(const std::string& path) {
  if (path.find('\0') == std::string::npos) {
    constexpr std::string_view kScheme = "file://";
    return path.starts_with(kScheme) ? path.substr(kScheme.size()) : path;
  }
  std::string shown = path;
  std::ranges::replace(shown, '\0', '?');
  throw InvalidArgumentError(
      fmt::format("{}: the name has a zero byte (shown as ?), which no file has. Give "
                  "another name.",
                  shown));
}

OpenFile::OpenFile(const std::string& path) : path_(checked_path(path)) {
  fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) throw_file_error(errno, "cannot be read", path);
  struct stat about{};
  if (fstat(fd_, &about) != 0 || S_ISDIR(about.st_mode)) {
    const int error = S_ISDIR(about.st_mode) ? EISDIR : errno;
    close(fd_);
    throw_file_error(error, "cannot be read", path);
  }
  size_ = static_cast<uint64_t>(about.st_size);
}

OpenFile::~OpenFile() { close(fd_); }

void OpenFile::read(uint64_t offset, void* to, uint64_t bytes) const {
  auto* p = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = pread(fd_, p, bytes, static_cast<off_t>(offset));
    if (got < 0) {
      if (errno == EINTR) continue;
      throw_file_error(errno, "cannot be read", path_);
    }
    if (got == 0) {
      throw DataLossError(
          fmt::format("{}: the file ends {} bytes before what is stored in it. It was "
                      "cut off; use an "
                      "earlier copy.",
                      path_, bytes));
    }
    p += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<uint64_t>(got);
  }
}

std::string read_whole_file(const std::string& path) {
  const OpenFile file(path);
  std::string bytes(file.size(), '\0');
  file.read(0, bytes.data(), bytes.size());
  return bytes;
}

void make_folders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(checked_path(path), error);
  if (error) throw_file_error(error.value(), "cannot be made", path);
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

std::string path_inside(const std::string& folder, const std::string& name,
                        const std::string& where) {
  namespace fs = std::filesystem;
  const auto refuse = [&](const char* why) {
    std::string shown = name;
    std::ranges::replace(shown, '\0', '?');
    throw InvalidArgumentError(
        fmt::format("{}: the name '{}' leads out of the folder {}: {}. The file was not "
                    "written by Tandem or was changed; do not load it.",
                    where, shown, folder, why));
  };
  const fs::path relative(name);
  if (name.empty()) refuse("it is empty");
  if (name.find('\0') != std::string::npos) refuse("it has a zero byte");
  if (relative.is_absolute()) refuse("it is absolute");
  if (std::ranges::find(relative, fs::path("..")) != relative.end()) {
    refuse("it has '..' in it");
  }
  const std::string path = folder + "/" + name;
  std::error_code error;
  const fs::path around = fs::weakly_canonical(folder, error);
  const fs::path real = error ? fs::path() : fs::weakly_canonical(path, error);
  const bool inside =
      !error && std::ranges::mismatch(around, real).in1 == around.end() && real != around;
  // weakly_canonical leaves a link that leads nowhere as it is.
  if (!inside || fs::is_symlink(real, error)) refuse("a symbolic link leads elsewhere");
  return path;
}

}  // namespace tandem
