// GradientTape and functions with gradients of their own. Structures
// of tensors are flattened in Python; here there are lists.
#include <memory>
#include <vector>

#include <nanobind/stl/string.h>

#include "python/bind.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/gradient_object.h"
#include "python/interrupt.h"
#include "python/tensor_list.h"
#include "python/tensor_object.h"
#include "python/variable_object.h"
#include "run/tape.h"
#include "tandem/gradient.h"
#include "tensor/tensor_impl.h"

namespace tandem::python {

namespace {

Source source_of(nb::handle o) {
  if (is_variable(o.ptr())) return Source(variable_of_object(o.ptr()));
  if (is_tensor(o.ptr())) return Source(tensor_of(o.ptr()));
  return Source(to_tensor(o.ptr()));
}

// None becomes a tensor that is not defined.
std::vector<Tensor> tensors_or_none_of(nb::handle list) {
  std::vector<Tensor> result;
  for (nb::handle item : list) {
    result.push_back(item.is_none() ? Tensor() : to_tensor(item.ptr()));
  }
  return result;
}

Unconnected unconnected_of(bool zero) {
  return zero ? Unconnected::kZero : Unconnected::kNone;
}

struct PyTape {
  std::unique_ptr<GradientTape> tape;
  TapeOptions options;
  Tape* record = nullptr;  // of `tape`

  void start() {
    tape = std::make_unique<GradientTape>(options);
    record = newest_tape();
  }

  GradientTape& started() const {
    if (!tape) {
      throw RuntimeStateError(
          "GradientTape: a tape records nothing before its `with` block is entered.");
    }
    return *tape;
  }
};

nb::list tape_gradient(PyTape& self, nb::list targets, nb::list sources, bool zero,
                       nb::handle output_gradients) {
  std::vector<Source> from;
  for (nb::handle s : sources) from.push_back(source_of(s));
  const std::vector<Tensor> of = tensors_or_none_of(targets);
  GradientOptions options{.unconnected = unconnected_of(zero)};
  if (!output_gradients.is_none())
    options.output_gradients = tensors_or_none_of(output_gradients);
  std::vector<Gradient> result;
  {
    const Interruptible unlocked;
    result = self.started().gradient(of, from, options);
  }
  nb::list list;
  for (const Gradient& g : result) list.append(gradient_object(g));
  return list;
}

// Holds a Python callable in a std::function that any thread may call and drop.
struct Callback {
  PyObject* callable;
  explicit Callback(nb::handle c) : callable(Py_NewRef(c.ptr())) {}
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;
  ~Callback() {
    const nb::gil_scoped_acquire locked;
    Py_DECREF(callable);
  }
};

nb::list run_custom_gradient(nb::callable forward, nb::list inputs) {
  const std::vector<Tensor> given = tensors_or_none_of(inputs);
  const CustomForwardFn function = [&](const std::vector<Tensor>& in) {
    const nb::gil_scoped_acquire locked;
    const nb::tuple pair = nb::cast<nb::tuple>(forward(wrap_all(in)));
    auto back = std::make_shared<Callback>(pair[1]);
    BackwardFn backward = [back](const std::vector<Tensor>& upstream) {
      const nb::gil_scoped_acquire relocked;
      const nb::object result = nb::handle(back->callable)(wrap_all(upstream));
      return tensors_or_none_of(result);
    };
    return std::make_pair(tensors_or_none_of(pair[0]), std::move(backward));
  };
  std::vector<Tensor> outputs;
  {
    const Interruptible unlocked;
    outputs = custom_gradient(function, given);
  }
  return wrap_all(outputs);
}

struct PyForwardAccumulator {
  std::unique_ptr<ForwardAccumulator> accumulator;
};

nb::list run_recompute_grad(nb::callable function, nb::list inputs) {
  const std::vector<Tensor> given = tensors_or_none_of(inputs);
  auto kept = std::make_shared<Callback>(function);
  const auto run = [kept](const std::vector<Tensor>& in) {
    const nb::gil_scoped_acquire locked;
    return tensors_or_none_of(nb::handle(kept->callable)(wrap_all(in)));
  };
  std::vector<Tensor> outputs;
  {
    const Interruptible unlocked;
    outputs = recompute_grad(run, given);
  }
  return wrap_all(outputs);
}

}  // namespace

nb::object gradient_object(const Gradient& g) {
  if (!g.defined()) return nb::none();
  if (!g.is_slices()) return nb::steal(wrap(g.dense()));
  const IndexedSlices& s = g.slices();
  return nb::make_tuple(nb::steal(wrap(s.values)), nb::steal(wrap(s.indices)),
                        nb::steal(wrap(s.dense_shape)));
}

void bind_gradients(nb::module_& m) {
  nb::class_<PyTape>(m, "Tape", "The record behind tf.GradientTape.")
      .def(
          "__init__",
          [](PyTape* self, bool persistent, bool watch_accessed_variables) {
            new (self) PyTape{nullptr, {persistent, watch_accessed_variables}};
          },
          nb::arg("persistent"), nb::arg("watch_accessed_variables"))
      .def("start", &PyTape::start)
      .def("stop", [](PyTape& t) { t.started().stop(); })
      .def("resume", [](PyTape& t) { push_tape(t.record); })
      .def("reset", [](PyTape& t) { t.started().reset(); })
      .def("watch", [](PyTape& t, nb::handle o) { t.started().watch(source_of(o)); })
      .def("watched_handles",
           [](const PyTape& t) {
             nb::list ids;
             if (t.tape) {
               for (const Variable& v : t.tape->watched_variables()) {
                 ids.append(v.handle().impl()->id);
               }
             }
             return ids;
           })
      .def("gradient", tape_gradient, nb::arg("targets"), nb::arg("sources"),
           nb::arg("zero"), nb::arg("output_gradients").none())
      .def(
          "jacobian",
          [](PyTape& t, nb::handle target, nb::handle source, bool zero, bool batch) {
            const Tensor of = to_tensor(target.ptr());
            const Source from = source_of(source);
            Tensor result;
            {
              const Interruptible unlocked;
              result = batch ? t.started().batch_jacobian(of, from, unconnected_of(zero))
                             : t.started().jacobian(of, from, unconnected_of(zero));
            }
            return nb::steal(wrap(std::move(result)));
          },
          nb::arg("target"), nb::arg("source"), nb::arg("zero"), nb::arg("batch"));
  nb::class_<PyForwardAccumulator>(m, "ForwardAccumulator",
                                   "Tangents of what is computed while it lives.")
      .def("__init__",
           [](PyForwardAccumulator* self, nb::list primals, nb::list tangents) {
             std::vector<Source> from;
             for (nb::handle p : primals) from.push_back(source_of(p));
             new (self) PyForwardAccumulator{std::make_unique<ForwardAccumulator>(
                 from, tensors_or_none_of(tangents))};
           })
      .def("stop", [](PyForwardAccumulator& a) { a.accumulator.reset(); })
      .def("jvp", [](PyForwardAccumulator& a, nb::handle target, bool zero) {
        const Tensor of = to_tensor(target.ptr());
        Tensor result;
        {
          const Interruptible unlocked;
          result = a.accumulator->jvp(of, unconnected_of(zero));
        }
        return nb::steal(wrap(std::move(result)));
      });
  m.def("recompute_grad", run_recompute_grad, nb::arg("function"), nb::arg("inputs"));
  m.def("custom_gradient", run_custom_gradient, nb::arg("forward"), nb::arg("inputs"));
}

}  // namespace tandem::python
