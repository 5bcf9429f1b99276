#include "base/record_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/log.h"
#include "tandem/error.h"

namespace tandem {

namespace {

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

/// Bytes that a writer holds before it writes by itself.
constexpr size_t kMostPending = 256 << 10;
/// Bytes that a reader asks for before it has seen the ones before them.
constexpr size_t kMostAtOnce = 1 << 20;

}  // namespace

void append_record(std::string& to, std::string_view record) {
  const uint64_t length = record.size();
  const uint32_t length_crc = masked_crc32c(bytes_of(length));
  const uint32_t data_crc = masked_crc32c(record);
  to.append(bytes_of(length)).append(bytes_of(length_crc));
  to.append(record).append(bytes_of(data_crc));
}

RecordWriter::RecordWriter(const std::string& path, const RecordWriterOptions& options)
    : path_(path) {
  if (options.compression != Compression::kNone) {
    packer_.emplace(options.compression, options.compression_level);
  }
  fd_ = ::open(checked_path(path).c_str(),
               O_WRONLY | O_CREAT | O_CLOEXEC | (options.exclusive ? O_EXCL : O_TRUNC),
               0666);
  if (fd_ < 0) throw_file_error(errno, "cannot be written", path);
}

RecordWriter::~RecordWriter() {
  if (fd_ < 0) return;
  try {
    close();
  } catch (const Error& e) {
    logging::warn(e.what());
    ::close(fd_);
  }
}

void RecordWriter::write(std::string_view record) {
  if (fd_ < 0 || ended_) throw FailedPreconditionError("Writer is closed: " + path_);
  if (records_.size() + pending_.size() >= kMostPending) flush();
  append_record(packer_ ? records_ : pending_, record);
}

void RecordWriter::flush() {
  if (fd_ < 0) return;
  if (!records_.empty()) {
    packer_->pack(records_, pending_);
    records_.clear();
  }
  put();
}

void RecordWriter::put() {
  size_t done = 0;
  while (done < pending_.size()) {
    const ssize_t n = ::write(fd_, pending_.data() + done, pending_.size() - done);
    if (n >= 0) {
      done += static_cast<size_t>(n);
      continue;
    }
    if (errno == EINTR) continue;
    const int error = errno;
    // Half a record, or half of what was packed at once, would hide those that come after
    // it. A pipe keeps what it has got.
    if (ftruncate(fd_, static_cast<off_t>(written_)) == 0) {
      (void)lseek(fd_, static_cast<off_t>(written_), SEEK_SET);
    } else {
      written_ += done;
      pending_.erase(0, done);
    }
    throw_file_error(error,
                     fmt::format("cannot be written, {} bytes wait for the next flush",
                                 pending_.size()),
                     path_);
  }
  written_ += done;
  pending_.clear();
}

void RecordWriter::close() {
  if (fd_ < 0) return;
  flush();
  if (packer_ && !ended_) {
    packer_->finish(pending_);
    ended_ = true;
    put();
  }
  ::close(fd_);
  fd_ = -1;
}

RecordReader::RecordReader(const std::string& path, Compression compression)
    : path_(path), source_(open_bytes(path, compression)) {}

void RecordReader::fail(const char* what) const {
  throw DataLossError(fmt::format("{} at {} of {}", what, offset_, path_));
}

bool RecordReader::read(std::string& record) {
  struct {
    uint64_t length;
    uint32_t crc;
  } __attribute__((packed)) head;
  const size_t got = source_->read(&head, sizeof(head));
  if (got == 0) return false;
  if (got != sizeof(head)) fail("truncated record");
  const uint64_t length = head.length;
  if (masked_crc32c(bytes_of(length)) != head.crc) fail("corrupted record");
  // In parts: a length that is wrong after all must not take all memory.
  record.clear();
  while (record.size() < length) {
    const size_t at = record.size();
    const size_t part = std::min<uint64_t>(length - at, kMostAtOnce);
    record.resize(at + part);
    if (source_->read(record.data() + at, part) != part) fail("truncated record");
  }
  uint32_t crc = 0;
  if (source_->read(&crc, sizeof(crc)) != sizeof(crc)) fail("truncated record");
  if (masked_crc32c(record) != crc) fail("corrupted record");
  offset_ += static_cast<int64_t>(sizeof(head) + length + sizeof(crc));
  return true;
}

}  // namespace tandem
