// Datasets of files: lines of text, TFRecord records, records of a fixed length. The
// names come from a dataset of string scalars.
#include <fmt/format.h>

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

class LineReader {
 public:
  explicit LineReader(const std::string& path) : file_(open_file(path, "rb")) {}
  ~LineReader() { std::free(line_); }
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;
  bool read(std::string& text) {
    ssize_t n = getline(&line_, &capacity_, file_.get());
    if (n < 0) return false;
    if (n > 0 && line_[n - 1] == '\n') --n;
    if (n > 0 && line_[n - 1] == '\r') --n;
    text.assign(line_, static_cast<size_t>(n));
    return true;
  }

 private:
  FileHandle file_;
  char* line_ = nullptr;
  size_t capacity_ = 0;
};

class FixedReader {
 public:
  FixedReader(const std::string& path, FixedRecordOptions options)
      : file_(open_file(path, "rb")), bytes_(options.record_bytes) {
    std::fseek(file_.get(), 0, SEEK_END);
    const int64_t all = std::ftell(file_.get());
    const int64_t body = all - options.header_bytes - options.footer_bytes;
    if (body < 0 || body % bytes_ != 0) {
      throw InvalidArgumentError(fmt::format(
          "Excess bytes in file {}: its body of {} bytes is no multiple of record_bytes, "
          "which is {}.",
          path, body, bytes_));
    }
    left_ = body / bytes_;
    std::fseek(file_.get(), options.header_bytes, SEEK_SET);
  }
  bool read(std::string& record) {
    if (left_-- <= 0) return false;
    record.resize(static_cast<size_t>(bytes_));
    return std::fread(record.data(), 1, record.size(), file_.get()) == record.size();
  }

 private:
  FileHandle file_;
  const int64_t bytes_;
  int64_t left_;
};

template <class Reader, class... Options>
class FilesStage final : public Stage {
 public:
  FilesStage(const char* name, StagePtr files, Options... options)
      : Stage(name, {{DType::kString, Shape{}}}),
        files_(std::move(files)),
        options_(options...) {}
  std::unique_ptr<Cursor> open(const Context& c) const override {
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

StagePtr make_text_lines(StagePtr files) {
  return std::make_shared<FilesStage<LineReader>>("TextLine", std::move(files));
}
StagePtr make_records(StagePtr files) {
  return std::make_shared<FilesStage<RecordReader>>("TFRecord", std::move(files));
}
StagePtr make_fixed_records(StagePtr files, FixedRecordOptions options) {
  if (options.record_bytes < 1 || options.header_bytes < 0 || options.footer_bytes < 0) {
    throw InvalidArgumentError(
        "FixedLengthRecordDataset: record_bytes must be positive, header_bytes and "
        "footer_bytes must not be negative.");
  }
  return std::make_shared<FilesStage<FixedReader, FixedRecordOptions>>(
      "FixedLengthRecord", std::move(files), options);
}

}  // namespace tandem::data
