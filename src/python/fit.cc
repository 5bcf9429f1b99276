// The training loop of Keras models: sources of batches, and the loop that runs a
// compiled step over them without the interpreter lock. Python decides when it wants to
// be asked; structures of batches and logs are flattened there.
#include <algorithm>
#include <memory>
#include <vector>

#include <nanobind/stl/shared_ptr.h>

#include "base/recorder.h"
#include "python/bind.h"
#include "python/compiled.h"
#include "python/convert.h"
#include "python/convert_parts.h"
#include "python/dtypes.h"
#include "python/errors.h"
#include "python/interrupt.h"
#include "python/numpy_api.h"
#include "python/tensor_list.h"
#include "python/tensor_object.h"
#include "tensor/transfer.h"
#include "train/array_source.h"
#include "train/step_loop.h"

namespace tandem::python {

namespace {

using train::ArraySource;
using train::BatchSource;
using train::OutputRows;
using train::StepLoop;

// A loop comes back at least this often, so that signals are handled.
constexpr int64_t kSignalsNs = 100'000'000;

// Arrays that can be read in place are shared: what is written to them while training is
// seen, as with any loop that slices them batch by batch.
Tensor rows_of(nb::handle value) {
  if (is_tensor(value.ptr())) return tensor_of(value.ptr());
  if (PyArray_Check(value.ptr())) {
    PyArrayObject* array = as_array(value.ptr());
    const DType dtype = dtype_of_numpy(PyArray_TYPE(array));
    if (dtype != DType::kInvalid && dtype != DType::kString &&
        PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISALIGNED(array) &&
        PyArray_ISNOTSWAPPED(array) && PyArray_NBYTES(array) > 0) {
      Ints dims;
      for (int i = 0; i < PyArray_NDIM(array); ++i) dims.push_back(PyArray_DIM(array, i));
      PyObject* keep = Py_NewRef(value.ptr());
      return from_foreign(PyArray_DATA(array), dtype,
                          Shape(std::span<const int64_t>(dims)),
                          [keep] { release_later(keep); });
    }
  }
  return to_tensor(value.ptr(), {.on_host = true});
}

std::shared_ptr<ArraySource> make_array_source(nb::list arrays, int64_t batch_size) {
  std::vector<Tensor> tensors;
  for (nb::handle a : arrays) tensors.push_back(rows_of(a));
  const Interruptible unlocked;
  return std::make_shared<ArraySource>(
      std::make_shared<const data::ArrayRows>(std::move(tensors)), batch_size);
}

void start_source(ArraySource& source, nb::handle order) {
  std::vector<int64_t> rows;
  if (!order.is_none()) {
    const nb::object array =
        nb::steal(PyArray_FromAny(order.ptr(), PyArray_DescrFromType(NPY_INT64), 1, 1,
                                  NPY_ARRAY_CARRAY_RO, nullptr));
    if (!array.is_valid()) throw nb::python_error();
    const auto* data = static_cast<const int64_t*>(PyArray_DATA(as_array(array.ptr())));
    rows.assign(data, data + PyArray_SIZE(as_array(array.ptr())));
  }
  source.start(std::move(rows));
}

// The next batch as a list of tensors, or None.
nb::object next_batch(BatchSource& source) {
  std::vector<Tensor> batch;
  bool any = false;
  {
    const Interruptible unlocked;
    any = source.next(batch);
  }
  if (!any) return nb::none();
  return wrap_all(batch);
}

void append_rows(OutputRows& rows, nb::list tensors) {
  std::vector<Tensor> list;
  for (nb::handle t : tensors) list.push_back(to_tensor(t.ptr()));
  const Interruptible unlocked;
  rows.append(std::move(list));
}

// (executions, why it came back). Handlers of signals run in between; an exception of one
// leaves the loop where it is, and what ran is done.
nb::tuple run_loop(StepLoop& loop, int64_t executions, int64_t steps_per_execution,
                   double seconds, int watched) {
  const int64_t now = recorder::now_ns();
  const int64_t deadline =
      seconds < 1e6 ? now + static_cast<int64_t>(seconds * 1e9) : INT64_MAX;
  StepLoop::Outcome all;
  for (;;) {
    StepLoop::Limits limits;
    limits.executions = executions - all.executions;
    limits.steps_per_execution = steps_per_execution;
    limits.deadline_ns = std::min(deadline, recorder::now_ns() + kSignalsNs);
    limits.watched = watched;
    StepLoop::Outcome part;
    {
      const Interruptible unlocked;
      part = loop.run(limits);
    }
    all.executions += part.executions;
    all.end = part.end;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (part.end != StepLoop::End::kTime || recorder::now_ns() >= deadline) break;
  }
  return nb::make_tuple(all.executions, static_cast<int>(all.end));
}

}  // namespace

void bind_fit(nb::module_& m) {
  nb::class_<BatchSource>(m, "BatchSource", "Where a training loop takes batches from.")
      .def("next", next_batch, "The tensors of the next batch; None: there is none.");
  nb::class_<ArraySource, BatchSource>(m, "ArraySource", "Batches of rows of arrays.")
      .def(nb::new_(&make_array_source), nb::arg("arrays"), nb::arg("batch_size"))
      .def("start", start_source, nb::arg("order").none(),
           "Begins again, with the rows in that order.");

  nb::class_<OutputRows>(m, "OutputRows", "Rows of many batches as one tensor.")
      .def(nb::init<>())
      .def("append", append_rows, nb::arg("tensors"))
      .def("finish", [](OutputRows& rows) { return wrap_all(rows.finish()); });

  nb::class_<StepLoop>(m, "StepLoop", "Runs a compiled step over batches.")
      .def(nb::new_([](nb::handle step, std::shared_ptr<BatchSource> source) {
             return std::make_shared<StepLoop>(compiled_of(step.ptr()),
                                               std::move(source));
           }),
           nb::arg("step"), nb::arg("source"))
      .def("run", run_loop, nb::arg("executions"), nb::arg("steps_per_execution"),
           nb::arg("seconds"), nb::arg("watched"),
           "(executions that ran, END_…); comes back for the first of them.")
      .def(
          "results", [](StepLoop& l) { return wrap_all(l.results()); },
          "Of the last step.")
      .def("collect", &StepLoop::collect, nb::arg("rows"),
           "Keeps the results of all steps from now on; rows: how many are expected.")
      .def("collected", [](StepLoop& l) {
        std::vector<Tensor> made;
        {
          const Interruptible unlocked;
          made = l.collected();
        }
        return wrap_all(made);
      });
  using End = StepLoop::End;
  m.attr("END_EXECUTIONS") = static_cast<int>(End::kExecutions);
  m.attr("END_TIME") = static_cast<int>(End::kTime);
  m.attr("END_NO_DATA") = static_cast<int>(End::kNoData);
  m.attr("END_NOT_FINITE") = static_cast<int>(End::kNotFinite);
}

}  // namespace tandem::python
