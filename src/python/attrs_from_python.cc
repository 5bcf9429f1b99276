#include "python/attrs_from_python.h"

#include <cmath>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "op/emitter.h"
#include "ops/callbacks.h"
#include "python/convert.h"
#include "python/dtypes.h"
#include "python/errors.h"
#include "python/host_callback.h"

namespace tandem::python {

namespace {

enum class Field { kBool, kInt, kFloat, kStr, kDType, kInts, kShape, kStrs, kFloats };

Field field_kind(const std::string& type) {
  static const std::unordered_map<std::string_view, Field> kinds = {
      {"bool", Field::kBool},         {"int", Field::kInt},
      {"float", Field::kFloat},       {"str", Field::kStr},
      {"dtype", Field::kDType},       {"list(int)", Field::kInts},
      {"shape", Field::kShape},       {"list(str)", Field::kStrs},
      {"list(float)", Field::kFloats}};
  const auto found = kinds.find(type);
  return found == kinds.end() ? Field::kStr : found->second;  // enums are names
}

// What an op's attributes are, and every struct made for it.
struct OpAttrs {
  std::vector<Field> kinds;
  std::unordered_map<std::string, Attrs> made;
};

OpAttrs& table_of(const OpDef& op) {
  static auto* all = new std::unordered_map<int, OpAttrs>;
  OpAttrs& table = (*all)[op.id];
  if (table.kinds.empty()) {
    for (const AttrField& f : op.attrs->fields) table.kinds.push_back(field_kind(f.type));
  }
  return table;
}

void append_number(std::string& out, double v) {
  if (std::isnan(v)) {
    out += "\"nan\"";
  } else if (std::isinf(v)) {
    out += v > 0 ? "\"inf\"" : "\"-inf\"";
  } else {
    fmt::format_to(std::back_inserter(out), "{}", v);
  }
}

void append_text(std::string& out, PyObject* value, const std::string& what) {
  const char* text = PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : nullptr;
  if (!text)
    raise(PyExc_TypeError,
          fmt::format("{} must be a string, got {}", what, repr_of(value)));
  out += nlohmann::json(text).dump();
}

double to_double(PyObject* value) {
  const double v = PyFloat_AsDouble(value);
  if (v == -1.0 && PyErr_Occurred()) throw nb::python_error();
  return v;
}

template <class Append>
void append_list(std::string& out, PyObject* value, Append&& append) {
  const nb::object fast = nb::steal(PySequence_Fast(value, "a sequence is wanted"));
  if (!fast.is_valid()) throw nb::python_error();
  out += '[';
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.ptr()); ++i) {
    if (i) out += ',';
    append(PySequence_Fast_GET_ITEM(fast.ptr(), i));
  }
  out += ']';
}

template <class Range>
void append_ints(std::string& out, const Range& range) {
  out += '[';
  bool first = true;
  for (int64_t v : range) {
    if (!first) out += ',';
    out += std::to_string(v);
    first = false;
  }
  out += ']';
}

void append_value(std::string& out, Field kind, PyObject* value,
                  const std::string& what) {
  switch (kind) {
    case Field::kBool: {
      const int yes = PyObject_IsTrue(value);
      if (yes < 0) throw nb::python_error();
      out += yes ? "true" : "false";
      return;
    }
    case Field::kInt: {
      const Ints one = to_ints(value, what.c_str());
      if (one.size() != 1) {
        raise(PyExc_TypeError,
              fmt::format("{} must be one integer, got {}", what, repr_of(value)));
      }
      out += std::to_string(one[0]);
      return;
    }
    case Field::kFloat:
      return append_number(out, to_double(value));
    case Field::kStr:
      return append_text(out, value, what);
    case Field::kDType:
      out += fmt::format("\"{}\"", dtype_name(to_dtype(value)));
      return;
    case Field::kInts:
      return append_ints(out, to_ints(value, what.c_str()));
    case Field::kShape: {
      const Shape shape = to_shape(value);
      if (!shape.has_rank()) {
        out += "null";
      } else {
        append_ints(out, shape.dims());
      }
      return;
    }
    case Field::kStrs:
      return append_list(out, value,
                         [&](PyObject* item) { append_text(out, item, what); });
    case Field::kFloats:
      return append_list(out, value,
                         [&](PyObject* item) { append_number(out, to_double(item)); });
  }
}

Attrs parsed(const OpDef& op, const std::string& json) {
  const AttrsRef fresh{op.attrs->from_json(json), op.attrs};
  Attrs made(fresh);
  op.attrs->destroy(const_cast<void*>(fresh.data));
  return made;
}

}  // namespace

AttrsRef attrs_from_python(const OpDef& op, PyObject* names, PyObject* const* values,
                           Attrs& keep) {
  const Py_ssize_t n = names ? PyTuple_GET_SIZE(names) : 0;
  if (n == 0) return default_attrs(op);
  if (!op.attrs) {
    raise(PyExc_TypeError, fmt::format("{} has no attribute {}", op.name,
                                       repr_of(PyTuple_GET_ITEM(names, 0))));
  }
  OpAttrs& table = table_of(op);
  std::string json = "{";
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (values[i] == Py_None) continue;
    const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));
    size_t f = 0;
    while (f < table.kinds.size() && op.attrs->fields[f].name != name) ++f;
    if (f == table.kinds.size()) {
      raise(PyExc_TypeError, fmt::format("{} has no attribute '{}'", op.name, name));
    }
    if (json.size() > 1) json += ',';
    json += '"';
    json += name;
    json += "\":";
    append_value(json, table.kinds[f], values[i], op.name + ": " + name);
  }
  json += '}';
  auto found = table.made.find(json);
  if (found == table.made.end()) {
    Attrs made = parsed(op, json);
    if (op.name == "PyFunc") {  // kept here, the function would never be freed
      PyFuncAttrs call = made.ref().as<PyFuncAttrs>();
      call.function = host_function(call.token);
      keep = Attrs(AttrsRef{&call, op.attrs});
      return keep.ref();
    }
    // Programs use few combinations; one that does not must not grow for ever.
    constexpr size_t kMost = 4096;
    if (table.made.size() >= kMost) table.made.clear();
    found = table.made.emplace(std::move(json), std::move(made)).first;
  }
  // Another thread may clear the table while this call runs without the lock.
  keep = found->second;
  return keep.ref();
}

}  // namespace tandem::python
