#include "python/site.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "graph/source_of.h"
#include "graph/trace.h"
#include "tensor/tensor_impl.h"

namespace tandem::python {

namespace {

using Location = std::shared_ptr<const SourceLocation>;

/// What is known of a file whose code has run: whether it is the user's, and its lines
/// that were asked for. Code of one file shares one name object, so that its address says
/// which file it is; it is kept alive.
struct File {
  bool skipped = false;
  bool generated = false;
  std::unordered_map<int, Location> lines;  // null: no line of the user's
};

/// All of it is used under the interpreter lock, and lives as long as the process.
struct Files {
  std::vector<std::string> libraries;  // folders
  std::unordered_map<PyObject*, File> known;
  std::map<std::string, std::unordered_map<int, Location>, std::less<>> generated;
};
Files& files() {
  static auto* all = new Files;
  return *all;
}

// Installed packages are the user's like any other code, but for those that Tandem is
// made of.
bool is_library(std::string_view name) {
  if (name.starts_with("<frozen ")) return true;
  for (const std::string_view installed : {"/site-packages/", "/dist-packages/"}) {
    const size_t at = name.rfind(installed);
    if (at == std::string_view::npos) continue;
    std::string_view package = name.substr(at + installed.size());
    package = package.substr(0, package.find('/'));
    for (const std::string_view part : {"tandem", "keras", "malt", "numpy", "optree"}) {
      if (package == part) return true;
    }
    return false;
  }
  for (const std::string& folder : files().libraries) {
    if (name.starts_with(folder)) return true;
  }
  return false;
}

File& file_of(PyObject* name) {
  const auto found = files().known.find(name);
  if (found != files().known.end()) return found->second;
  File file;
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) PyErr_Clear();
  const auto made =
      text ? files().generated.find(std::string_view(text)) : files().generated.end();
  if (made != files().generated.end()) {
    file.generated = true;
    file.lines = made->second;
  } else {
    file.skipped = !text || is_library(text);
  }
  return files().known.emplace(Py_NewRef(name), std::move(file)).first->second;
}

// Null: not the user's.
Location location_of(PyCodeObject* code, PyFrameObject* frame) {
  File& file = file_of(code->co_filename);
  if (file.skipped) return nullptr;
  const int line = std::max(PyFrame_GetLineNumber(frame), 0);  // -1: code without lines
  const auto found = file.lines.find(line);
  if (found != file.lines.end()) return found->second;
  if (file.generated) return nullptr;
  const char* function = PyUnicode_AsUTF8(code->co_name);
  if (!function) PyErr_Clear();
  auto made = std::make_shared<const SourceLocation>(SourceLocation{
      PyUnicode_AsUTF8(code->co_filename), line, function ? function : ""});
  file.lines.emplace(line, made);
  return made;
}

// A thread that Python does not know has no frames, and must not get any while the
// interpreter ends.
Location ask() {
  if (!Py_IsInitialized() || !PyGILState_GetThisThreadState()) return nullptr;
  const nb::gil_scoped_acquire locked;
  return user_location();
}

using Lines = std::map<int, std::tuple<std::string, int, std::string>>;
void add_source_map(const std::string& generated, const Lines& lines) {
  auto& known = files().generated[generated];
  for (const auto& [line, from] : lines) {
    const auto& [file, number, function] = from;
    known[line] =
        std::make_shared<const SourceLocation>(SourceLocation{file, number, function});
  }
}

}  // namespace

Location user_location() {
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  Location found;
  while (frame && !found) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    found = location_of(code, frame);
    Py_DECREF(code);
    PyFrameObject* back = found ? nullptr : PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  return found;
}

const char* user_site() {
  const Location at = user_location();
  return at ? recorder::intern(at->file + ":" + std::to_string(at->line)) : nullptr;
}

void note_lines(std::span<const Tensor> results) {
  for (const Tensor& t : results) {
    const TensorImpl* impl = t.impl();
    if (!impl || !impl->buffer || !is_line_noted(*impl->buffer)) continue;
    note_line(*impl->buffer, memory_line(user_location()));
  }
}

void bind_site(nb::module_& m) {
  set_location_provider(ask);
  set_memory_line_provider(nullptr);  // note_lines says it once the lock is back
  m.def(
      "add_library_folders",
      [](const std::vector<std::string>& folders) {
        auto& all = files().libraries;
        all.insert(all.end(), folders.begin(), folders.end());
        files().known.clear();
      },
      nb::arg("folders"), "Code below these folders is not the user's.");
  m.def("add_source_map", add_source_map, nb::arg("generated"), nb::arg("lines"),
        "Which lines (file, line, function) the lines of a generated file come from.");
  m.def(
      "user_location",
      []() -> nb::object {
        const Location at = user_location();
        if (!at) return nb::none();
        return nb::make_tuple(at->file, at->line, at->function);
      },
      "(file, line, function) of the innermost frame of the user's, or None.");
}

}  // namespace tandem::python
