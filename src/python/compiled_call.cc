// FunctionCache: the native base of tf.function's objects. A call whose key is known runs
// without Python: take the arguments apart, find the trace, run it, put the results
// together. Everything else (tracing, signatures, eager mode, calls inside a trace) is
// asked of the Python class: `_resolve(args, kwargs)` and `_call_uncompiled(args,
// kwargs)`.
#include <algorithm>
#include <list>
#include <memory>
#include <optional>

#include "op/emitter.h"
#include "op/placement.h"
#include "python/bind.h"
#include "python/call_key.h"
#include "python/compiled.h"
#include "python/errors.h"
#include "python/interrupt.h"
#include "python/site.h"
#include "python/tensor_object.h"
#include "python/variable_object.h"

namespace tandem::python {

namespace {

constexpr size_t kMaxEntries = 128;  // the one unused for longest goes first

bool g_eagerly = false;
// What besides arguments and device scope decides a trace: the strategy around the call.
thread_local uint64_t t_context = 0;

// Functions that were called since start_call_log(), each once; null: nobody asked.
std::unique_ptr<std::vector<std::shared_ptr<CompiledFunction>>> g_log;

void note_call(const std::shared_ptr<CompiledFunction>& function) {
  if (std::ranges::find(*g_log, function) == g_log->end()) g_log->push_back(function);
}

struct Entry {
  KeptKey key;
  std::shared_ptr<CompiledFunction> compiled;
  /// For each parameter: a tensor of the call, one that is always the same, or the
  /// present value of a variable.
  struct Input {
    int32_t number = -1;
    Tensor fixed;
    std::optional<Variable> variable;
  };
  std::vector<Input> inputs;
  /// The structure of the results, with their numbers as leaves.
  nb::object results;
};

struct FunctionCache {
  FunctionCache() = default;
  FunctionCache(const FunctionCache&) = delete;
  FunctionCache& operator=(const FunctionCache&) = delete;
  std::list<std::shared_ptr<const Entry>> entries;  // most recently used first
  int64_t calls = 0;
};

PyObject* g_resolve = nullptr;
PyObject* g_uncompiled = nullptr;
PyObject* g_pack = nullptr;  // "_pack_results"

nb::object pack(PyObject* form, const std::vector<Tensor>& results) {
  if (PyLong_CheckExact(form)) {
    return nb::steal(wrap(results[static_cast<size_t>(PyLong_AsLong(form))]));
  }
  if (form == Py_None) return nb::none();
  if (PyTuple_CheckExact(form)) {
    const Py_ssize_t n = PyTuple_GET_SIZE(form);
    nb::object made = nb::steal(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyTuple_SET_ITEM(made.ptr(), i,
                       pack(PyTuple_GET_ITEM(form, i), results).release().ptr());
    }
    return made;
  }
  if (PyList_CheckExact(form)) {
    const Py_ssize_t n = PyList_GET_SIZE(form);
    nb::object made = nb::steal(PyList_New(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyList_SET_ITEM(made.ptr(), i,
                      pack(PyList_GET_ITEM(form, i), results).release().ptr());
    }
    return made;
  }
  if (PyDict_CheckExact(form)) {
    nb::object made = nb::steal(PyDict_New());
    PyObject* name;
    PyObject* value;
    Py_ssize_t at = 0;
    while (PyDict_Next(form, &at, &name, &value)) {
      if (PyDict_SetItem(made.ptr(), name, pack(value, results).ptr()) < 0) {
        throw nb::python_error();
      }
    }
    return made;
  }
  // Named tuples, composites and whatever else the Python side knows.
  nb::list all;
  for (const Tensor& t : results) all.append(nb::steal(wrap(t)));
  PyObject* made = PyObject_CallMethodOneArg(form, g_pack, all.ptr());
  if (!made) throw nb::python_error();
  return nb::steal(made);
}

PyObject* ask_python(PyObject* self, PyObject* method, PyObject* args, PyObject* kwargs) {
  const nb::object none = nb::steal(kwargs ? nullptr : PyDict_New());
  PyObject* const given[] = {self, args, kwargs ? kwargs : none.ptr()};
  PyObject* result = PyObject_VectorcallMethod(method, given, 3, nullptr);
  if (!result) throw nb::python_error();
  return result;
}

std::shared_ptr<const Entry> find(FunctionCache& cache, const CallKey& key) {
  for (auto it = cache.entries.begin(); it != cache.entries.end(); ++it) {
    if (!(*it)->key.accepts(key)) continue;
    if (it != cache.entries.begin()) {
      cache.entries.splice(cache.entries.begin(), cache.entries, it);
    }
    return cache.entries.front();
  }
  return nullptr;
}

// `_resolve` returns (compiled function, inputs, form of the results): each input is the
// number of a tensor of the call, a tensor, or a variable.
std::shared_ptr<const Entry> resolve(PyObject* self, FunctionCache& cache,
                                     const CallKey& key, PyObject* args,
                                     PyObject* kwargs) {
  const nb::object answer = nb::steal(ask_python(self, g_resolve, args, kwargs));
  const auto parts = nb::cast<nb::tuple>(answer);
  std::vector<Entry::Input> inputs;
  for (nb::handle given : parts[1]) {
    Entry::Input input;
    if (PyLong_Check(given.ptr())) {
      input.number = nb::cast<int32_t>(given);
    } else if (is_variable(given.ptr())) {
      input.variable = variable_of_object(given.ptr());
    } else {
      input.fixed = tensor_of(given.ptr());
    }
    inputs.push_back(std::move(input));
  }
  auto entry =
      std::make_shared<const Entry>(Entry{KeptKey(key), compiled_of(parts[0].ptr()),
                                          std::move(inputs), nb::borrow(parts[2])});
  cache.entries.push_front(entry);
  if (cache.entries.size() > kMaxEntries) cache.entries.pop_back();
  return entry;
}

PyObject* call_function(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    if (g_eagerly || current_emitter().tracing()) {
      return ask_python(self, g_uncompiled, args, kwargs);
    }
    CallKey key = key_of_call(args, kwargs);
    key.tokens.push_back(scope_key());
    key.tokens.push_back(t_context);
    FunctionCache& cache = *nb::inst_ptr<FunctionCache>(self);
    ++cache.calls;
    std::shared_ptr<const Entry> entry = find(cache, key);
    if (!entry) entry = resolve(self, cache, key, args, kwargs);
    std::vector<Tensor> inputs;
    inputs.reserve(entry->inputs.size());
    for (const Entry::Input& input : entry->inputs) {
      if (input.number >= 0) {
        inputs.push_back(key.tensors.at(static_cast<size_t>(input.number)));
      } else {
        inputs.push_back(input.variable ? input.variable->read() : input.fixed);
      }
    }
    if (g_log) note_call(entry->compiled);
    std::vector<Tensor> results;
    {
      const SiteScope site;
      const Interruptible unlocked;
      results = entry->compiled->call(inputs);
    }
    note_lines(results);
    return pack(entry->results.ptr(), results).release().ptr();
  });
}

int traverse_cache(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  for (const auto& e : nb::inst_ptr<FunctionCache>(self)->entries) {
    Py_VISIT(e->results.ptr());
    if (const int stop = e->key.traverse(visit, arg)) return stop;
  }
  return 0;
}
int clear_cache(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<FunctionCache>(self)->entries.clear();
  return 0;
}

PyType_Slot kFunctionCacheSlots[] = {
    {Py_tp_call, reinterpret_cast<void*>(call_function)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_cache)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_cache)},
    {0, nullptr}};

}  // namespace

void bind_compiled_call(nb::module_& m) {
  g_resolve = PyUnicode_InternFromString("_resolve");
  g_uncompiled = PyUnicode_InternFromString("_call_uncompiled");
  g_pack = PyUnicode_InternFromString("_pack_results");
  nb::class_<FunctionCache>(m, "FunctionCache", nb::type_slots(kFunctionCacheSlots),
                            nb::is_weak_referenceable(),
                            "What tf.function makes: finds the trace of a call.")
      .def(nb::init<>())
      .def_ro("_calls", &FunctionCache::calls)
      .def("_forget", [](FunctionCache& c) { c.entries.clear(); });
  m.def("start_call_log", [] {
    g_log = std::make_unique<std::vector<std::shared_ptr<CompiledFunction>>>();
  });
  m.def(
      "stop_call_log",
      [] {
        nb::list functions;
        if (g_log) {
          for (const auto& f : *g_log) functions.append(compiled_object(f));
        }
        g_log.reset();
        return functions;
      },
      "The compiled functions that were called since start_call_log().");
  m.def("set_functions_eager", [](bool on) { g_eagerly = on; });
  m.def("functions_eager", [] { return g_eagerly; });
  m.def("scope_key", [] { return scope_key(); }, "A number for the device scope.");
  m.def(
      "set_trace_context", [](uint64_t number) { t_context = number; },
      "Functions called under another number are traced again. Per thread.");
  m.def("trace_context", [] { return t_context; });
}

}  // namespace tandem::python
