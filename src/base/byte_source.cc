#include "base/byte_source.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/file.h"
#include "tandem/error.h"

namespace tandem {

namespace {

constexpr size_t kBuffer = 256 << 10;

struct CloseFile {
  void operator()(std::FILE* f) const { std::fclose(f); }
};

class PlainFile final : public ByteSource {
 public:
  explicit PlainFile(const std::string& path)
      : path_(path), file_(std::fopen(checked_path(path).c_str(), "rbe")) {
    struct stat info{};
    if (file_ && fstat(fileno(file_.get()), &info) == 0 && S_ISDIR(info.st_mode)) {
      throw FailedPreconditionError(path + "; Is a directory");
    }
    if (file_) return;
    const std::string message = fmt::format("{}; {}", path, std::strerror(errno));
    if (errno == ENOENT) throw NotFoundError(message);
    if (errno == EACCES || errno == EPERM) throw PermissionDeniedError(message);
    throw UnknownError(message);
  }
  size_t read(void* to, size_t n) override {
    const size_t got = std::fread(to, 1, n, file_.get());
    if (got < n && std::ferror(file_.get())) {
      throw_file_error(errno, "cannot be read", path_);
    }
    return got;
  }

 private:
  const std::string path_;
  const std::unique_ptr<std::FILE, CloseFile> file_;
};

/// A GZIP file may consist of several packed streams one after the other, as `cat` of
/// such files makes them. What follows the stream of a ZLIB file is not looked at.
class Unpacked final : public ByteSource {
 public:
  Unpacked(const std::string& path, bool gzip)
      : path_(path), gzip_(gzip), file_(path), in_(kBuffer) {
    constexpr int kWindow = 15, kGzipHeader = 16;
    if (inflateInit2(&stream_, gzip ? kWindow + kGzipHeader : kWindow) != Z_OK) {
      throw ResourceExhaustedError(path_ + ": zlib could not start");
    }
  }
  ~Unpacked() override { inflateEnd(&stream_); }
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;

  size_t read(void* to, size_t n) override {
    constexpr size_t kMost = std::numeric_limits<uInt>::max();
    auto* out = static_cast<Bytef*>(to);
    size_t done = 0;
    while (done < n && more()) {
      stream_.next_out = out + done;
      stream_.avail_out = static_cast<uInt>(std::min(n - done, kMost));
      const uInt asked = stream_.avail_out;
      const int result = inflate(&stream_, Z_NO_FLUSH);
      done += asked - stream_.avail_out;
      inside_ = true;
      if (result == Z_STREAM_END) {
        inside_ = false;
        ended_ = !gzip_;
        inflateReset(&stream_);
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        fail(fmt::format("inflate() failed with error {}: {}", result,
                         stream_.msg ? stream_.msg : zError(result)));
      }
    }
    return done;
  }

 private:
  /// Whether there is something to unpack.
  bool more() {
    if (ended_) return false;
    if (stream_.avail_in > 0) return true;
    const size_t got = file_.read(in_.data(), in_.size());
    offset_ += got;
    stream_.next_in = in_.data();
    stream_.avail_in = static_cast<uInt>(got);
    if (got > 0) return true;
    // TensorFlow takes the end of the file for the end of the contents, and loses those
    // that are missing.
    if (inside_) fail("the file is cut off");
    ended_ = true;
    return false;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw DataLossError(fmt::format("{}; {}, at byte {} of the {} file", path_, what,
                                    offset_ - stream_.avail_in, gzip_ ? "GZIP" : "ZLIB"));
  }

  const std::string path_;
  const bool gzip_;
  PlainFile file_;
  std::vector<Bytef> in_;
  z_stream stream_{};
  uint64_t offset_ = 0;  // bytes of the file that were read
  bool inside_ = false;  // a stream began and has not ended
  bool ended_ = false;
};

}  // namespace

Compression compression_from_name(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) {
    return static_cast<char>(std::toupper(c));
  });
  if (upper.empty()) return Compression::kNone;
  if (upper == "GZIP") return Compression::kGzip;
  if (upper == "ZLIB") return Compression::kZlib;
  throw InvalidArgumentError(
      fmt::format("Unsupported compression_type: {}. Use '', 'GZIP' or 'ZLIB'.", name));
}

std::unique_ptr<ByteSource> open_bytes(const std::string& path, Compression compression) {
  if (compression == Compression::kNone) return std::make_unique<PlainFile>(path);
  return std::make_unique<Unpacked>(path, compression == Compression::kGzip);
}

bool LineReader::read(std::string& line) {
  line.clear();
  for (;;) {
    const std::string_view there = std::string_view(held_).substr(at_);
    const size_t end = there.find('\n');
    line += there.substr(0, end);
    if (end != std::string_view::npos) {
      at_ += end + 1;
      break;
    }
    held_.resize(kBuffer);
    held_.resize(source_->read(held_.data(), kBuffer));
    at_ = 0;
    if (!held_.empty()) continue;
    if (line.empty()) return false;
    break;
  }
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

}  // namespace tandem
