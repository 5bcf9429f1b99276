#include "data/element_file.h"

#include <cstring>

#include <fmt/format.h>

#include "base/file.h"
#include "data/stack.h"
#include "data/stages.h"
#include "device/runtime.h"
#include "tensor/tensor_impl.h"

namespace tandem::data {

namespace {

constexpr std::string_view kFormat = "tandem elements 1";
constexpr size_t kMostPending = 1 << 20;

template <class T>
void put(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  std::string_view take(uint64_t n) {
    if (n > bytes_.size()) throw DataLossError("An element in a file is cut off.");
    const std::string_view part = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return part;
  }
  uint64_t size() const { return bytes_.size(); }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }

 private:
  std::string_view bytes_;
};

void encode(const Tensor& given, std::string& to) {
  const Tensor t = given.to_host();
  if (t.dtype() == DType::kVariant) {
    throw UnimplementedError("A dataset among the components cannot be stored.");
  }
  const std::string_view name = dtype_name(t.dtype());
  put(to, static_cast<uint8_t>(name.size()));
  to += name;
  put(to, static_cast<uint8_t>(t.rank()));
  for (const int64_t d : t.shape().dims()) put(to, d);
  if (t.dtype() != DType::kString) {
    to.append(static_cast<const char*>(t.host_data()), t.impl()->bytes());
    return;
  }
  const auto* text = static_cast<const std::string*>(t.host_data());
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    put(to, static_cast<uint64_t>(text[i].size()));
    to += text[i];
  }
}

/// The bytes come from a file that anybody may have written: nothing is allocated that
/// they cannot fill.
Tensor decode(Bytes& from) {
  const DType dtype = dtype_from_name(from.take(from.number<uint8_t>()));
  if (dtype == DType::kVariant || dtype == DType::kResource) {
    throw DataLossError("An element in a file has a component that none can have.");
  }
  const size_t least = dtype == DType::kString ? sizeof(uint64_t) : dtype_size(dtype);
  const uint64_t most = from.size() / least;
  Shape shape;
  uint64_t n = 1, nonzero = 1;
  for (int rank = from.number<uint8_t>(); rank > 0; --rank) {
    const auto d = from.number<int64_t>();
    // Of an empty tensor, too, the other sizes must be such that they can be multiplied.
    constexpr uint64_t kMostElements = uint64_t{1} << 48;
    const auto size = static_cast<uint64_t>(d);
    if (d < 0 || (d > 0 && size > kMostElements / nonzero)) {
      throw DataLossError("An element in a file has a size that none can have.");
    }
    n *= size;
    if (d > 0) nonzero *= size;
    shape.push_back(d);
  }
  if (n > most) throw DataLossError("An element in a file is cut off.");
  const Tensor t = make_tensor(Runtime::get().cpu(), dtype, shape);
  if (dtype != DType::kString) {
    const std::string_view bytes = from.take(t.impl()->bytes());
    if (!bytes.empty()) std::memcpy(writable(t), bytes.data(), bytes.size());
    return t;
  }
  auto* text = static_cast<std::string*>(writable(t));
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    text[i] = from.take(from.number<uint64_t>());
  }
  return t;
}

class ElementFileStage final : public Stage {
 public:
  ElementFileStage(std::string path, std::vector<Component> components, int64_t count)
      : Stage("Load", std::move(components)), path_(std::move(path)), count_(count) {}
  int64_t cardinality() const override { return count_; }
  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    struct Reading final : Cursor {
      Reading(const Context& c, const std::string& path, std::vector<Component> of,
              int64_t elements)
          : Cursor(c, "Load"), reader(path, std::move(of)), count(elements) {}
      bool advance(Element& out) override {
        const bool found = reader.read(out);
        // What follows may rely on the number that the description gives.
        if (count >= 0 &&
            (found ? reader.elements() > count : reader.elements() < count)) {
          throw DataLossError(fmt::format(
              "{}: {} elements were read, and the description of the dataset says {}.",
              reader.path(), reader.elements(), count));
        }
        return found;
      }
      ElementFileReader reader;
      const int64_t count;
    };
    return std::make_unique<Reading>(context, path_, components(), count_);
  }
  StagePtr substitute(const Substitution&) const override { return shared_from_this(); }

 private:
  const std::string path_;
  const int64_t count_;
};

class FileCacheStage final : public Stage {
  struct Reading final : Cursor {
    Reading(const Context& c, const std::string& path,
            std::optional<std::vector<Component>> of)
        : Cursor(c, "Cache"), reader(path, std::move(of)) {}
    bool advance(Element& out) override { return reader.read(out); }
    ElementFileReader reader;
  };

 public:
  FileCacheStage(StagePtr input, std::string file)
      : Stage("Cache", input->components()),
        input_(std::move(input)),
        file_(std::move(file)) {}
  int64_t cardinality() const override { return input_->cardinality(); }
  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    struct Writing final : Cursor {
      Writing(const Context& c, std::unique_ptr<Cursor> from, const std::string& path)
          : Cursor(c, "Cache"), input(std::move(from)), writer(path) {}
      bool advance(Element& out) override {
        if (input->next(out)) {
          writer.write(out);
          return true;
        }
        writer.close();
        return false;
      }
      const std::unique_ptr<Cursor> input;
      ElementFileWriter writer;
    };
    const std::string path = file_ + ".index";
    if (FILE* found = std::fopen(checked_path(path).c_str(), "rb")) {
      std::fclose(found);
      // A map that is made in C++ need not say what its components are.
      const auto known =
          components().empty() ? std::nullopt : std::optional(components());
      return std::make_unique<Reading>(context, path, known);
    }
    return std::make_unique<Writing>(context, input_->open(context), path);
  }
  StagePtr substitute(const Substitution& s) const override {
    return make_file_cache(input_->substitute(s), file_);
  }

 private:
  const StagePtr input_;
  const std::string file_;
};

}  // namespace

std::string encode_element(const Element& element) {
  std::string bytes;
  put(bytes, static_cast<uint32_t>(element.size()));
  for (const Tensor& t : element) encode(t, bytes);
  return bytes;
}

Element decode_element(std::string_view bytes) {
  Bytes from(bytes);
  Element element;
  for (uint32_t n = from.number<uint32_t>(); n > 0; --n) element.push_back(decode(from));
  return element;
}

ElementFileWriter::ElementFileWriter(const std::string& path) : file_(path) {
  append_record(pending_, kFormat);
}

void ElementFileWriter::write(const Element& element) {
  append_record(pending_, encode_element(element));
  ++elements_;
  if (pending_.size() >= kMostPending) flush();
}

void ElementFileWriter::flush() {
  file_.write(pending_);
  pending_.clear();
}

void ElementFileWriter::close() {
  flush();
  file_.commit();
}

ElementFileReader::ElementFileReader(const std::string& path,
                                     std::optional<std::vector<Component>> components)
    : path_(path), components_(std::move(components)), records_(path) {
  bool ours = false;
  try {
    ours = records_.read(record_) && record_ == kFormat;
  } catch (const DataLossError&) {
    // Said below, with what it is instead.
  }
  if (ours) return;
  const std::string kind = describe_file(path);
  throw DataLossError(fmt::format(
      "{} is not a file of elements, or one of another version: it is {}. Remove it to "
      "have it written anew.",
      path, kind.empty() ? "empty" : kind));
}

bool ElementFileReader::read(Element& element) {
  if (!records_.read(record_)) return false;
  const auto damaged = [&](std::string_view what) {
    throw DataLossError(fmt::format("{}: element {}: {}", path_, number_, what));
  };
  try {
    element = decode_element(record_);
  } catch (const Error& e) {
    damaged(e.what());
  }
  const size_t count = components_ ? components_->size() : 0;
  if (components_ && element.size() != count) {
    damaged(
        fmt::format("it has {} components, and {} are wanted", element.size(), count));
  }
  for (size_t i = 0; i < count; ++i) {
    const Component& wanted = (*components_)[i];
    if (element[i].dtype() != wanted.dtype ||
        !wanted.shape.compatible_with(element[i].shape())) {
      damaged(fmt::format("component {} is {} of shape {}, and {} of shape {} is wanted",
                          i, dtype_name(element[i].dtype()), element[i].shape().str(),
                          dtype_name(wanted.dtype), wanted.shape.str()));
    }
  }
  ++number_;
  return true;
}

StagePtr make_element_file(std::string path, std::vector<Component> components,
                           int64_t cardinality) {
  return std::make_shared<ElementFileStage>(std::move(path), std::move(components),
                                            cardinality);
}

StagePtr make_file_cache(StagePtr input, std::string file) {
  return std::make_shared<FileCacheStage>(std::move(input), std::move(file));
}

}  // namespace tandem::data
