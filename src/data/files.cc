// Datasets of files: lines of text, TFRecord records, records of a fixed length. The
// names come from a dataset of string scalars.
#include <fmt/format.h>

#include "base/file.h"
#include "base/record_file.h"
#include "data/stages.h"
#include "device/runtime.h"
#include "tensor/tensor_impl.h"

namespace tandem::data {

namespace {

// Reads one file after the other. `Reader` is made from a path and has
// bool read(std::string&).
template <class Reader, class... Options>
class FilesCursor final : public Cursor {
 public:
  FilesCursor(const Context& c, const char* name, std::unique_ptr<Cursor> files,
              Options... options)
      : Cursor(c, name), files_(std::move(files)), options_(options...) {}

 private:
  bool advance(Element& out) override {
    for (;;) {
      if (reader_) {
        const Tensor text = make_tensor(Runtime::get().cpu(), DType::kString, Shape{});
        if (reader_->read(*static_cast<std::string*>(text.impl()->data()))) {
          out.assign(1, text);
          return true;
        }
        reader_.reset();
      }
      Element file;
      if (!files_->next(file)) return false;
      const std::string path = file.at(0).template item<std::string>();
      reader_ = std::apply(
          [&](const auto&... o) { return std::make_unique<Reader>(path, o...); },
          options_);
    }
  }
  const std::unique_ptr<Cursor> files_;
  const std::tuple<Options...> options_;
  std::unique_ptr<Reader> reader_;
};

class FixedReader {
 public:
  FixedReader(const std::string& path, FixedRecordOptions options,
              Compression compression)
      : path_(path),
        bytes_(static_cast<size_t>(options.record_bytes)),
        footer_(static_cast<size_t>(options.footer_bytes)),
        source_(open_bytes(path, compression)) {
    // Packed contents show their size at their end alone.
    if (compression == Compression::kNone) {
      const auto all = static_cast<int64_t>(OpenFile(path).size());
      check(all - options.header_bytes - options.footer_bytes);
    }
    std::string header;
    const size_t got =
        fill(header, static_cast<size_t>(options.header_bytes)) + fill(held_, footer_);
    const auto body =
        static_cast<int64_t>(got) - options.header_bytes - options.footer_bytes;
    if (body < 0) check(body);
  }
  bool read(std::string& record) {
    // What lies behind the last record is the footer: so many bytes are held back.
    const size_t got = fill(held_, bytes_);
    count_ += got;
    if (got == 0) return false;
    if (got < bytes_) check(static_cast<int64_t>(count_));
    record.assign(held_, 0, bytes_);
    held_.erase(0, bytes_);
    return true;
  }

 private:
  /// Adds `more` bytes, in parts: `more` may be any number.
  size_t fill(std::string& to, size_t more) {
    constexpr size_t kPart = 1 << 20;
    const size_t before = to.size();
    while (to.size() < before + more) {
      const size_t at = to.size(), part = std::min(before + more - at, kPart);
      to.resize(at + part);
      to.resize(at + source_->read(to.data() + at, part));
      if (to.size() < at + part) break;
    }
    return to.size() - before;
  }
  void check(int64_t body) const {
    const auto bytes = static_cast<int64_t>(bytes_);
    if (body >= 0 && body % bytes == 0) return;
    throw InvalidArgumentError(fmt::format(
        "Excess bytes in file {}: its body of {} bytes is no multiple of record_bytes, "
        "which is {}.",
        path_, body, bytes));
  }

  const std::string path_;
  const size_t bytes_, footer_;
  const std::unique_ptr<ByteSource> source_;
  std::string held_;
  size_t count_ = 0;  // bytes of records that were read
};

template <class Reader, class... Options>
class FilesStage final : public Stage {
 public:
  FilesStage(const char* name, StagePtr files, Options... options)
      : Stage(name, {{DType::kString, Shape{}}}),
        files_(std::move(files)),
        options_(options...) {}
  std::unique_ptr<Cursor> make_cursor(const Context& c) const override {
    return std::apply(
        [&](const auto&... o) {
          return std::make_unique<FilesCursor<Reader, Options...>>(c, name(),
                                                                   files_->open(c), o...);
        },
        options_);
  }
  StagePtr substitute(const Substitution& s) const override {
    return std::apply(
        [&](const auto&... o) {
          return std::make_shared<FilesStage>(name(), files_->substitute(s), o...);
        },
        options_);
  }

 private:
  const StagePtr files_;
  const std::tuple<Options...> options_;
};

}  // namespace

StagePtr make_text_lines(StagePtr files, Compression compression) {
  return std::make_shared<FilesStage<LineReader, Compression>>(
      "TextLine", std::move(files), compression);
}
StagePtr make_records(StagePtr files, Compression compression) {
  return std::make_shared<FilesStage<RecordReader, Compression>>(
      "TFRecord", std::move(files), compression);
}
StagePtr make_fixed_records(StagePtr files, FixedRecordOptions options,
                            Compression compression) {
  constexpr int64_t kMost = int64_t{1} << 40;
  const auto fits = [](int64_t bytes, int64_t least) {
    return bytes >= least && bytes <= kMost;
  };
  if (!fits(options.record_bytes, 1) || !fits(options.header_bytes, 0) ||
      !fits(options.footer_bytes, 0)) {
    throw InvalidArgumentError(fmt::format(
        "FixedLengthRecordDataset: record_bytes must be positive, header_bytes and "
        "footer_bytes must not be negative, and none may be above 2^40; they are {}, {} "
        "and {}.",
        options.record_bytes, options.header_bytes, options.footer_bytes));
  }
  return std::make_shared<FilesStage<FixedReader, FixedRecordOptions, Compression>>(
      "FixedLengthRecord", std::move(files), options, compression);
}

}  // namespace tandem::data
