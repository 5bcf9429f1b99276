#include "base/record_file.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/crc32c.h"
#include "tandem/error.h"

namespace tandem {

namespace {

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

}  // namespace

FileHandle open_file(const std::string& path, const char* mode) {
  FileHandle file(std::fopen(path.c_str(), mode));
  struct stat info{};
  if (file && fstat(fileno(file.get()), &info) == 0 && S_ISDIR(info.st_mode)) {
    throw FailedPreconditionError(path + "; Is a directory");
  }
  if (file) return file;
  const std::string message = fmt::format("{}; {}", path, std::strerror(errno));
  if (errno == ENOENT) throw NotFoundError(message);
  if (errno == EACCES || errno == EPERM) throw PermissionDeniedError(message);
  throw UnknownError(message);
}

RecordWriter::RecordWriter(const std::string& path, bool append)
    : path_(path), file_(open_file(path, append ? "ab" : "wb")) {}

void RecordWriter::put(const void* data, size_t bytes) {
  if (std::fwrite(data, 1, bytes, file_.get()) != bytes) {
    throw ResourceExhaustedError(
        fmt::format("{}: could not write; {}", path_, std::strerror(errno)));
  }
}

void RecordWriter::write(std::string_view record) {
  if (!file_) throw FailedPreconditionError("Writer is closed: " + path_);
  const uint64_t length = record.size();
  const uint32_t length_crc = masked_crc32c(bytes_of(length));
  const uint32_t data_crc = masked_crc32c(record);
  put(&length, sizeof(length));
  put(&length_crc, sizeof(length_crc));
  put(record.data(), record.size());
  put(&data_crc, sizeof(data_crc));
}

void RecordWriter::flush() {
  if (file_) std::fflush(file_.get());
}

void RecordWriter::close() {
  if (file_ && std::fflush(file_.get()) != 0) {
    throw ResourceExhaustedError(
        fmt::format("{}: could not write; {}", path_, std::strerror(errno)));
  }
  file_.reset();
}

RecordReader::RecordReader(const std::string& path)
    : path_(path), file_(open_file(path, "rb")) {}

void RecordReader::fail(const char* what) const {
  throw DataLossError(fmt::format("{} at {} of {}", what, offset_, path_));
}

bool RecordReader::read(std::string& record) {
  struct {
    uint64_t length;
    uint32_t crc;
  } __attribute__((packed)) head;
  const size_t got = std::fread(&head, 1, sizeof(head), file_.get());
  if (got == 0) return false;
  if (got != sizeof(head)) fail("truncated record");
  const uint64_t length = head.length;
  if (masked_crc32c(bytes_of(length)) != head.crc) fail("corrupted record");
  // In parts: a length that is wrong after all must not take all memory.
  record.clear();
  while (record.size() < length) {
    const size_t at = record.size();
    const size_t part = std::min<uint64_t>(length - at, 64u << 20);
    record.resize(at + part);
    if (std::fread(record.data() + at, 1, part, file_.get()) != part) {
      fail("truncated record");
    }
  }
  uint32_t crc = 0;
  if (std::fread(&crc, 1, sizeof(crc), file_.get()) != sizeof(crc)) {
    fail("truncated record");
  }
  if (masked_crc32c(record) != crc) fail("corrupted record");
  offset_ += static_cast<int64_t>(sizeof(head) + length + sizeof(crc));
  return true;
}

}  // namespace tandem
