// Files and folders that appear when they are complete, for what Python writes itself.
#include <nanobind/stl/string.h>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/new_file.h"
#include "python/bind.h"

namespace tandem::python {

namespace {

void write_file(const std::string& path, nb::bytes contents) {
  const std::string_view bytes(static_cast<const char*>(contents.data()),
                               contents.size());
  const nb::gil_scoped_release unlocked;
  NewFile file(path);
  file.write(bytes);
  file.commit();
}

uint32_t checksum_of_file(const std::string& path) {
  const nb::gil_scoped_release unlocked;
  const OpenFile file(path);
  std::string part;
  uint32_t checksum = 0;
  constexpr uint64_t kPart = 4 << 20;
  for (uint64_t at = 0; at < file.size(); at += kPart) {
    part.resize(std::min(kPart, file.size() - at));
    file.read(at, part.data(), part.size());
    checksum = crc32c(part, checksum);
  }
  return checksum;
}

}  // namespace

void bind_files(nb::module_& m) {
  using unlocked = nb::call_guard<nb::gil_scoped_release>;
  m.def("write_file", write_file, nb::arg("path"), nb::arg("contents"),
        "Writes a file that appears when it is on disk.");
  m.def("checksum_of_file", checksum_of_file, nb::arg("path"));
  m.def("remove_abandoned", remove_abandoned, nb::arg("folder"), unlocked(),
        "Removes what killed processes have left in the folder.");
  m.def(
      "path_inside", path_inside, nb::arg("folder"), nb::arg("name"), nb::arg("where"),
      "The path of what a file of the folder names; InvalidArgumentError for a name that "
      "leads out of it.");
  m.def("describe_file", describe_file, nb::arg("path"),
        "What a file is, in words; empty: there is none, or it is empty.");
  nb::class_<NewFolder>(m, "NewFolder", "A folder that is filled beside its name.")
      .def(nb::init<std::string>(), nb::arg("path"), unlocked())
      .def_prop_ro("path", &NewFolder::path)
      .def("publish", &NewFolder::publish, nb::arg("name"), nb::arg("to"), unlocked(),
           "Brings one of its files to disk and gives it the name `to`.")
      .def("commit", &NewFolder::commit, unlocked(),
           "Brings everything to disk and gives the folder its name, which must be free.")
      .def("close", &NewFolder::close, unlocked(), "Removes what was not published.")
      .def("__enter__", [](nb::object self) { return self; })
      .def("__exit__", [](NewFolder& folder, nb::args) { folder.close(); });
  nb::class_<FolderLock>(m, "FolderLock", "Savers of one folder take turns.")
      .def(nb::init<std::string>(), nb::arg("folder"), unlocked())
      .def("__enter__", [](nb::object self) { return self; })
      .def("__exit__", [](FolderLock& lock, nb::args) { lock.release(); });
}

}  // namespace tandem::python
