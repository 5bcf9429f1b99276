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

// Lists of dictionaries, which a table is made of easily.
nb::dict summary_of(const Profile& profile) {
  ProfileSummary s;
  {
    const nb::gil_scoped_release unlocked;
    s = profile.summary();
  }
  nb::list steps, ops, kernels, stages, memory;
  const auto row = [](auto... fields) {
    nb::dict made;
    ((made[fields.first] = fields.second), ...);
    return made;
  };
  using std::pair;
  for (const auto& x : s.steps) {
    steps.append(row(pair{"name", x.name}, pair{"number", x.number},
                     pair{"seconds", x.seconds}, pair{"input_seconds", x.input_seconds}));
  }
  for (const auto& x : s.ops) {
    ops.append(row(pair{"device", x.device}, pair{"name", x.name}, pair{"type", x.type},
                   pair{"count", x.count}, pair{"seconds", x.seconds},
                   pair{"self_seconds", x.self_seconds}));
  }
  for (const auto& x : s.kernels) {
    kernels.append(row(pair{"device", x.device}, pair{"name", x.name}, pair{"op", x.op},
                       pair{"count", x.count}, pair{"seconds", x.seconds},
                       pair{"bytes", x.bytes}));
  }
  for (const auto& x : s.stages) {
    stages.append(row(pair{"path", x.path}, pair{"elements", x.elements},
                      pair{"seconds", x.seconds}, pair{"self_seconds", x.self_seconds}));
  }
  for (const auto& x : s.memory) {
    memory.append(row(pair{"device", x.device}, pair{"allocations", x.allocations},
                      pair{"peak_bytes", x.peak_bytes}));
  }
  return row(pair{"steps", steps}, pair{"ops", ops}, pair{"kernels", kernels},
             pair{"stages", stages}, pair{"memory", memory});
}

}  // namespace

void bind_profile(nb::module_& m) {
  nb::class_<Profile>(m, "Profile", "A finished recording.")
      .def("write", &Profile::write, nb::arg("log_folder"), Unlocked(),
           "Writes the files of TensorBoard's profile page; returns their folder.")
      .def("write_chrome_trace", &Profile::write_chrome_trace, nb::arg("path"),
           Unlocked())
      .def("chrome_trace", &Profile::chrome_trace, Unlocked())
      .def("summary", summary_of,
           "Steps, ops, kernels, stages of pipelines and memory in figures.")
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
