// Files of records: datasets that read them, the TFRecord writer, and saved elements.
#include <map>

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "base/record_file.h"
#include "data/element_file.h"
#include "python/data.h"
#include "python/interrupt.h"

namespace tandem::python {

namespace {

using data::Dataset;

// Each keeps a file open while elements are written.
constexpr size_t kMostShards = 512;

// Writes all elements into files of `folder`; returns the name and the number of elements
// of each. `sharded`: the first component is the number of the file that gets the rest.
nb::list save_elements(const Dataset& dataset, const std::string& folder, bool sharded) {
  std::map<int64_t, data::ElementFileWriter> writers;
  const auto name = [](int64_t shard) { return fmt::format("{:05}.elements", shard); };
  const auto writer = [&](int64_t shard) -> data::ElementFileWriter& {
    return writers.try_emplace(shard, folder + "/" + name(shard)).first->second;
  };
  {
    const Interruptible unlocked;
    data::Iterator iterator(dataset);
    data::Element element;
    if (!sharded) writer(0);
    while (iterator.next(element)) {
      int64_t shard = 0;
      if (sharded) {
        shard = element.front().item<int64_t>();
        element.erase(element.begin());
        if (shard < 0 || (!writers.contains(shard) && writers.size() == kMostShards)) {
          throw InvalidArgumentError(fmt::format(
              "Dataset.save: shard_func gave the shard {}. Shards are numbers "
              "from 0 on, and there may be {} of them.",
              shard, kMostShards));
        }
      }
      writer(shard).write(element);
    }
    for (auto& [shard, file] : writers) file.close();
  }
  nb::list files;
  for (const auto& [shard, file] : writers) {
    files.append(nb::make_tuple(name(shard), file.elements()));
  }
  return files;
}

}  // namespace

void bind_data_files(nb::module_& data) {
  data.def("text_lines", [](const Dataset& d, const std::string& compression) {
    return Dataset(data::make_text_lines(d.stage(), compression_from_name(compression)));
  });
  data.def("records", [](const Dataset& d, const std::string& compression) {
    return Dataset(data::make_records(d.stage(), compression_from_name(compression)));
  });
  data.def("fixed_records", [](const Dataset& d, const std::string& compression,
                               int64_t record, int64_t header, int64_t footer) {
    return Dataset(data::make_fixed_records(d.stage(), {record, header, footer},
                                            compression_from_name(compression)));
  });
  data.def("save", save_elements, nb::arg("dataset"), nb::arg("folder"),
           nb::arg("sharded"));
  data.def("load", [](const std::string& path, nb::handle components,
                      int64_t cardinality) {
    return Dataset(data::make_element_file(path, to_components(components), cardinality));
  });
  nb::class_<RecordWriter>(data, "RecordWriter")
      .def(
          "__init__",
          [](RecordWriter* at, const std::string& path, const std::string& compression,
             int level) {
            new (at)
                RecordWriter(path, {.compression = compression_from_name(compression),
                                    .compression_level = level});
          },
          nb::arg("path"), nb::arg("compression") = "", nb::arg("level") = -1)
      .def("write",
           [](RecordWriter& w, nb::bytes record) {
             w.write({static_cast<const char*>(record.data()), record.size()});
           })
      .def("flush", &RecordWriter::flush)
      .def("close", &RecordWriter::close);
}

}  // namespace tandem::python
