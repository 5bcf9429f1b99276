#include "data/element_file.h"

#include <cstring>

#include "data/stack.h"
#include "data/stages.h"
#include "device/runtime.h"
#include "tensor/tensor_impl.h"

namespace tandem::data {

namespace {

constexpr std::string_view kFormat = "tandem elements 1";

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

Tensor decode(Bytes& from) {
  const DType dtype = dtype_from_name(from.take(from.number<uint8_t>()));
  Shape shape;
  for (int rank = from.number<uint8_t>(); rank > 0; --rank) {
    shape.push_back(from.number<int64_t>());
  }
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
  std::unique_ptr<Cursor> open(const Context& context) const override {
    struct Reading final : Cursor {
      Reading(const Context& c, const std::string& path)
          : Cursor(c, "Load"), reader(path) {}
      bool advance(Element& out) override { return reader.read(out); }
      ElementFileReader reader;
    };
    return std::make_unique<Reading>(context, path_);
  }
  StagePtr substitute(const Substitution&) const override { return shared_from_this(); }

 private:
  const std::string path_;
  const int64_t count_;
};

class FileCacheStage final : public Stage {
 public:
  FileCacheStage(StagePtr input, std::string file)
      : Stage("Cache", input->components()),
        input_(std::move(input)),
        file_(std::move(file)) {}
  int64_t cardinality() const override { return input_->cardinality(); }
  std::unique_ptr<Cursor> open(const Context& context) const override {
    // Written beside its name and renamed when it is complete.
    struct Writing final : Cursor {
      Writing(const Context& c, std::unique_ptr<Cursor> from, std::string path)
          : Cursor(c, "Cache"),
            input(std::move(from)),
            part(path + ".part"),
            target(std::move(path)),
            writer(part) {}
      ~Writing() override {
        if (!done) std::remove(part.c_str());
      }
      bool advance(Element& out) override {
        if (input->next(out)) {
          writer.write(out);
          return true;
        }
        writer.close();
        if (std::rename(part.c_str(), target.c_str()) != 0) {
          throw UnknownError("cache: could not rename " + part + " to " + target);
        }
        done = true;
        return false;
      }
      const std::unique_ptr<Cursor> input;
      const std::string part, target;
      ElementFileWriter writer;
      bool done = false;
    };
    const std::string path = file_ + ".index";
    if (FILE* found = std::fopen(path.c_str(), "rb")) {
      std::fclose(found);
      return make_element_file(path, components(), cardinality())->open(context);
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

ElementFileWriter::ElementFileWriter(const std::string& path) : records_(path) {
  records_.write(kFormat);
}

ElementFileReader::ElementFileReader(const std::string& path) : records_(path) {
  if (!records_.read(record_) || record_ != kFormat) {
    throw DataLossError(path + " is not a file of elements, or one of another version.");
  }
}

bool ElementFileReader::read(Element& element) {
  if (!records_.read(record_)) return false;
  element = decode_element(record_);
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
