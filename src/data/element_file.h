// Elements as bytes, and files of them: what cache(file), save and load use. A file is a
// record file whose first record names the format; each record after it is one element.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/record_file.h"
#include "data/stage.h"

namespace tandem::data {

std::string encode_element(const Element& element);
/// Throws DataLossError when the bytes are not those of an element.
Element decode_element(std::string_view bytes);

class ElementFileWriter {
 public:
  explicit ElementFileWriter(const std::string& path);
  void write(const Element& element) { records_.write(encode_element(element)); }
  void close() { records_.close(); }

 private:
  RecordWriter records_;
};

class ElementFileReader {
 public:
  explicit ElementFileReader(const std::string& path);
  bool read(Element& element);

 private:
  RecordReader records_;
  std::string record_;
};

/// The elements of a file, in order.
StagePtr make_element_file(std::string path, std::vector<Component> components,
                           int64_t cardinality);

}  // namespace tandem::data
