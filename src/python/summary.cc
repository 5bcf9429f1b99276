// Summary writers behind tf.summary: made here, written to by the op WriteSummary.
#include <nanobind/stl/string.h>

#include "base/wire.h"
#include "io/graph_def.h"
#include "io/summary_writer.h"
#include "python/bind.h"
#include "python/compiled.h"
#include "python/errors.h"
#include "python/graph_scopes.h"

namespace tandem::python {

namespace {

/// A writer and its number among the sinks, until it is closed.
struct PyWriter {
  std::shared_ptr<SummaryWriter> writer;
  int64_t number = 0;
  std::string path;

  void close() {
    if (!writer) return;
    // A flush that fails leaves the writer open: the next one may succeed.
    writer->flush();
    remove_summary_sink(number);
    writer.reset();
  }
};

std::string bytes_of(nb::handle o) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(o.ptr(), &data, &size) < 0) throw nb::python_error();
  return {data, static_cast<size_t>(size)};
}

nb::bytes metadata(const std::string& plugin, nb::handle content,
                   const std::string& description, int data_class) {
  WireMessage data, message;
  data.text(1, plugin);
  if (const std::string bytes = bytes_of(content); !bytes.empty()) data.text(2, bytes);
  message.message(1, data);
  if (!description.empty()) message.text(3, description);
  if (data_class) message.integer(4, data_class);
  return nb::bytes(message.bytes().data(), message.bytes().size());
}

const Graph& graph_of_object(nb::handle o) {
  if (nb::isinstance<PyGraph>(o)) return *nb::inst_ptr<PyGraph>(o)->graph;
  return compiled_of(o.ptr())->function().graph();
}

nb::bytes as_bytes(const WireMessage& message) {
  return nb::bytes(message.bytes().data(), message.bytes().size());
}

}  // namespace

void bind_summary(nb::module_& m) {
  nb::class_<PyWriter>(m, "SummaryWriterBase", "Writes an event file.")
      .def(
          "__init__",
          [](PyWriter* self, const std::string& folder, int64_t max_queue,
             int64_t flush_millis, const std::string& suffix) {
            auto made = std::make_shared<SummaryWriter>(
                folder, EventFileOptions{max_queue, flush_millis, suffix});
            const int64_t number = add_summary_sink(made);
            new (self) PyWriter{made, number, made->path()};
          },
          nb::arg("folder"), nb::arg("max_queue"), nb::arg("flush_millis"),
          nb::arg("suffix"))
      .def_ro("number", &PyWriter::number)
      .def_ro("path", &PyWriter::path)
      .def_prop_ro("closed", [](const PyWriter& w) { return !w.writer; })
      .def("write_graph",
           [](const PyWriter& w, int64_t step, nb::bytes graph) {
             if (w.writer) w.writer->write_graph(step, bytes_of(graph));
           })
      .def("write_raw",
           [](const PyWriter& w, int64_t step, nb::bytes summary) {
             if (w.writer) w.writer->write_raw(step, bytes_of(summary));
           })
      .def("flush",
           [](const PyWriter& w) {
             if (w.writer) w.writer->flush();
           })
      .def("close", &PyWriter::close);
  m.def("summary_metadata", metadata, nb::arg("plugin"), nb::arg("content"),
        nb::arg("description"), nb::arg("data_class"),
        "A SummaryMetadata message as bytes.");
  m.def(
      "graph_def",
      [](nb::handle graph) { return as_bytes(graph_def(graph_of_object(graph))); },
      nb::arg("graph"), "A GraphDef message of a FuncGraph or CompiledFunction.");
  m.def(
      "run_metadata",
      [](nb::list functions) {
        std::vector<const Graph*> graphs;
        for (nb::handle f : functions) graphs.push_back(&graph_of_object(f));
        return as_bytes(run_metadata(graphs));
      },
      nb::arg("functions"), "A RunMetadata message with the graphs of functions.");
}

}  // namespace tandem::python
