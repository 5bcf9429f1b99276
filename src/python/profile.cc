// The profiler behind tf.profiler.experimental.
#include "tandem/profile.h"

#include <memory>
#include <optional>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/bind.h"

namespace tandem::python {

namespace {

struct PyMark {
  std::string name;
  ProfileMark::Values values;
  std::unique_ptr<ProfileMark> mark;
};

}  // namespace

void bind_profile(nb::module_& m) {
  nb::class_<Profile>(m, "Profile", "A finished recording.")
      .def("write", &Profile::write, nb::arg("log_folder"), Unlocked(),
           "Writes the files of TensorBoard's profile page; returns their folder.")
      .def("write_chrome_trace", &Profile::write_chrome_trace, nb::arg("path"),
           Unlocked())
      .def("chrome_trace", &Profile::chrome_trace, Unlocked())
      .def("__len__", &Profile::events);
  m.def("start_profile", start_profile, Unlocked());
  m.def("stop_profile", stop_profile, Unlocked());
  m.def("profiling", profiling);
  nb::class_<PyMark>(m, "ProfileMark", "A named piece of this thread's work.")
      .def(
          "__init__",
          [](PyMark* self, std::string name, ProfileMark::Values values) {
            new (self) PyMark{std::move(name), std::move(values), nullptr};
          },
          nb::arg("name"), nb::arg("values"))
      .def("start",
           [](PyMark& p) { p.mark = std::make_unique<ProfileMark>(p.name, p.values); })
      .def("add",
           [](PyMark& p, const ProfileMark::Values& values) {
             if (p.mark) p.mark->add(values);
           })
      .def("stop", [](PyMark& p) { p.mark.reset(); });
}

}  // namespace tandem::python
