// Files of records: datasets that read them, the TFRecord writer, and saved elements.
#include <nanobind/stl/string.h>

#include "base/record_file.h"
#include "data/element_file.h"
#include "python/data.h"
#include "python/interrupt.h"

namespace tandem::python {

namespace {

using data::Dataset;

// Writes all elements; returns how many there were.
int64_t save(const Dataset& dataset, const std::string& path) {
  const Interruptible unlocked;
  data::ElementFileWriter writer(path);
  data::Iterator iterator(dataset);
  data::Element element;
  int64_t count = 0;
  for (; iterator.next(element); ++count) writer.write(element);
  writer.close();
  return count;
}

}  // namespace

void bind_data_files(nb::module_& data) {
  data.def("text_lines",
           [](const Dataset& d) { return Dataset(data::make_text_lines(d.stage())); });
  data.def("records",
           [](const Dataset& d) { return Dataset(data::make_records(d.stage())); });
  data.def("fixed_records", [](const Dataset& d, int64_t record, int64_t header,
                               int64_t footer) {
    return Dataset(data::make_fixed_records(d.stage(), {record, header, footer}));
  });
  data.def("save", save, nb::arg("dataset"), nb::arg("path"));
  data.def("load", [](const std::string& path, nb::handle components,
                      int64_t cardinality) {
    return Dataset(data::make_element_file(path, to_components(components), cardinality));
  });
  nb::class_<RecordWriter>(data, "RecordWriter")
      .def(nb::init<std::string>(), nb::arg("path"))
      .def("write",
           [](RecordWriter& w, nb::bytes record) {
             w.write({static_cast<const char*>(record.data()), record.size()});
           })
      .def("flush", &RecordWriter::flush)
      .def("close", &RecordWriter::close);
}

}  // namespace tandem::python
