// Functions in files, for tf.saved_model.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "io/stored_function.h"
#include "python/bind.h"
#include "python/compiled.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/tensor_object.h"
#include "tandem/variable.h"

namespace tandem::python {

void bind_saved_model(nb::module_& m) {
  m.def(
      "stored_variables",
      [](nb::handle compiled) {
        nb::list all;
        for (const Tensor& handle :
             stored_variables(compiled_of(compiled.ptr())->function().graph())) {
          const Variable v = Variable::from_handle(handle);
          nb::dict d;
          d["id"] = handle.impl()->id;
          d["name"] = v.name();
          d["trainable"] = v.trainable();
          d["shape"] = shape_object(v.shape());
          d["value"] = nb::steal(wrap(v.read()));
          all.append(d);
        }
        return all;
      },
      nb::arg("compiled"),
      "The variables of a function in the order of its stored form.");
  m.def(
      "stored_tables",
      [](nb::handle compiled) {
        return stored_tables(compiled_of(compiled.ptr())->function().graph());
      },
      nb::arg("compiled"), "The numbers of the lookup tables that a function uses.");
  m.def(
      "store_function",
      [](const std::string& path, nb::handle compiled) {
        const auto function = compiled_of(compiled.ptr());
        const nb::gil_scoped_release unlocked;
        store_function(path, function->function().graph());
      },
      nb::arg("path"), nb::arg("compiled"));
  m.def(
      "load_function",
      [](const std::string& path, nb::list handles,
         const std::vector<std::string>& arguments,
         const std::vector<std::string>& results, const TableNumbers& tables) {
        std::vector<DType> takes, gives;
        for (const std::string& name : arguments) takes.push_back(dtype_from_name(name));
        for (const std::string& name : results) gives.push_back(dtype_from_name(name));
        std::vector<Tensor> given;
        for (nb::handle h : handles) given.push_back(tensor_of(h.ptr()));
        std::shared_ptr<CompiledFunction> function;
        {
          const nb::gil_scoped_release unlocked;
          function = load_function(path, given, tables);
          check_interface(function->function(), path, takes, gives);
        }
        return compiled_object(std::move(function));
      },
      nb::arg("path"), nb::arg("handles"), nb::arg("arguments"), nb::arg("results"),
      nb::arg("tables"),
      "A stored function; `arguments` and `results` are names of dtypes, `tables` gives "
      "the numbers of tables for those stored.");
}

}  // namespace tandem::python
