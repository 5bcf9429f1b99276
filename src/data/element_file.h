// Elements as bytes, and files of them: what cache(file), save and load use. A file is a
// record file whose first record names the format; each record after it is one element.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/new_file.h"
#include "base/record_file.h"
#include "data/stage.h"

namespace tandem::data {

std::string encode_element(const Element& element);
/// Throws DataLossError when the bytes are not those of an element.
Element decode_element(std::string_view bytes);

/// The file appears under its name when it is closed.
class ElementFileWriter {
 public:
  explicit ElementFileWriter(const std::string& path);
  void write(const Element& element);
  void close();
  int64_t elements() const { return elements_; }

 private:
  void flush();
  NewFile file_;
  std::string pending_;
  int64_t elements_ = 0;
};

class ElementFileReader {
 public:
  /// No components: they are not known, and every element is taken.
  ElementFileReader(const std::string& path,
                    std::optional<std::vector<Component>> components);
  /// Throws DataLossError for an element that is not of the components.
  bool read(Element& element);
  const std::string& path() const { return path_; }
  /// How many were read.
  int64_t elements() const { return number_; }

 private:
  const std::string path_;
  const std::optional<std::vector<Component>> components_;
  RecordReader records_;
  std::string record_;
  int64_t number_ = 0;
};

/// The elements of a file, in order.
StagePtr make_element_file(std::string path, std::vector<Component> components,
                           int64_t cardinality);

}  // namespace tandem::data
