// The makers of stages, one function each.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "data/dataset_tensor.h"
#include "graph/trace.h"
#include "python/casters.h"
#include "python/data.h"
#include "python/tensor_object.h"

namespace tandem::python {

namespace {

using data::Dataset;

std::vector<data::StagePtr> stages_of(const std::vector<Dataset>& datasets) {
  std::vector<data::StagePtr> stages;
  for (const Dataset& d : datasets) stages.push_back(d.stage());
  return stages;
}

std::vector<Shape> shapes_of(nb::handle list) {
  std::vector<Shape> shapes;
  for (nb::handle s : list) shapes.push_back(to_shape(s.ptr()));
  return shapes;
}

void bind_sources(nb::module_& m) {
  m.def("tensors",
        [](nb::handle list) { return Dataset(data::make_tensors(to_element(list))); });
  m.def("slices",
        [](nb::handle list) { return Dataset(data::make_array(to_element(list))); });
  m.def("range", [](nb::handle start, nb::handle stop, nb::handle step, DType dtype) {
    return Dataset(data::make_range(to_size(start), to_size(stop), to_size(step), dtype));
  });
  m.def(
      "random",
      [](std::optional<int64_t> seed, bool rerandomize) {
        const data::Seeds seeds =
            data::next_seeds("RandomDataset", seed, current_tracer() != nullptr);
        return Dataset(data::make_random(seeds.first, seeds.second, rerandomize));
      },
      nb::arg("seed").none(), nb::arg("rerandomize"));
  m.def("traced", [](const Tensor& variant, nb::handle components) {
    return Dataset(data::make_traced(variant, to_components(components)));
  });
  m.def(
      "symbolic_tensors",
      [](const Dataset& d) { return data::symbolic_tensors(*d.stage()); },
      "The tensors of a trace that the description holds.");
  m.def("encode_components", [](nb::handle list) {
    Ints numbers;
    for (const data::Component& c : to_components(list)) {
      numbers.push_back(static_cast<int64_t>(c.dtype));
      numbers.push_back(c.shape.rank());
      for (const int64_t n : c.shape.dims()) numbers.push_back(n);
    }
    return numbers;
  });
  m.def("dataset_of", [](const Tensor& variant) { return data::dataset_of(variant); });
  m.def("dataset_tensor", [](const Dataset& d) { return data::dataset_tensor(d); });
}

void bind_choosing(nb::module_& m) {
  m.def("take", [](const Dataset& d, nb::handle count) {
    return Dataset(data::make_take(d.stage(), to_size(count)));
  });
  m.def("skip", [](const Dataset& d, nb::handle count) {
    return Dataset(data::make_skip(d.stage(), to_size(count)));
  });
  m.def("repeat", [](const Dataset& d, nb::handle count) {
    return Dataset(data::make_repeat(d.stage(), to_size(count)));
  });
  m.def("shard", [](const Dataset& d, nb::handle shards, nb::handle index) {
    return Dataset(data::make_shard(d.stage(), to_size(shards), to_size(index)));
  });
  m.def(
      "shuffle",
      [](const Dataset& d, nb::handle size, std::optional<int64_t> seed, bool each) {
        return Dataset(data::make_shuffle(
            d.stage(),
            {to_size(size),
             data::next_seeds("ShuffleDataset", seed, current_tracer() != nullptr),
             each}));
      },
      nb::arg("dataset"), nb::arg("size"), nb::arg("seed").none(), nb::arg("each"));
  m.def("ignore_errors", [](const Dataset& d, bool log) {
    return Dataset(data::make_ignore_errors(d.stage(), log));
  });
  m.def("unique", [](const Dataset& d) { return Dataset(data::make_unique(d.stage())); });
  m.def("assert_cardinality", [](const Dataset& d, nb::handle expected) {
    return Dataset(data::make_assert_cardinality(d.stage(), to_size(expected)));
  });
}

void bind_batches(nb::module_& m) {
  m.def("batch",
        [](const Dataset& d, nb::handle size, bool drop, int64_t parallel, bool order) {
          return Dataset(parallel ? data::make_parallel_batch(d.stage(), to_size(size),
                                                              drop, parallel, order)
                                  : data::make_batch(d.stage(), to_size(size), drop));
        });
  m.def("padded_batch", [](const Dataset& d, nb::handle size, nb::handle shapes,
                           const std::vector<Tensor>& values, bool drop) {
    return Dataset(data::make_padded_batch(
        d.stage(), {to_size(size), drop, shapes_of(shapes), values}));
  });
  m.def("ragged_batch", [](const Dataset& d, nb::handle size, bool drop,
                           const std::vector<bool>& ragged) {
    return Dataset(data::make_ragged_batch(d.stage(), to_size(size), drop, ragged));
  });
  m.def("unbatch",
        [](const Dataset& d) { return Dataset(data::make_unbatch(d.stage())); });
  m.def("rebatch", [](const Dataset& d, const std::vector<int64_t>& sizes, bool drop) {
    return Dataset(data::make_rebatch(d.stage(), sizes, drop));
  });
  m.def("window", [](const Dataset& d, nb::handle size, nb::handle shift,
                     nb::handle stride, bool drop) {
    return Dataset(data::make_window(
        d.stage(), {to_size(size), to_size(shift), to_size(stride), drop}));
  });
  m.def("group_by_window",
        [](const Dataset& d, const PyUserFunction& key, const PyUserFunction& reduce,
           const PyUserFunction& size, nb::handle components) {
          return Dataset(data::make_group_by_window(
              d.stage(), {key.function, reduce.function, size.function},
              to_components(components)));
        });
}

void bind_functions_of_elements(nb::module_& m) {
  m.def("map", [](const Dataset& d, const PyUserFunction& f, int64_t parallel, bool order,
                  nb::handle components) {
    return Dataset(data::make_map(d.stage(), f.function,
                                  {parallel, order, to_components(components)}));
  });
  m.def("filter", [](const Dataset& d, const PyUserFunction& f) {
    return Dataset(data::make_filter(d.stage(), f.function));
  });
  m.def("take_while", [](const Dataset& d, const PyUserFunction& f) {
    return Dataset(data::make_take_while(d.stage(), f.function));
  });
  m.def("scan", [](const Dataset& d, nb::handle state, const PyUserFunction& f,
                   nb::handle components) {
    return Dataset(data::make_scan(d.stage(), to_element(state), f.function,
                                   to_components(components)));
  });
  m.def("interleave", [](const Dataset& d, const PyUserFunction& f, nb::handle cycle,
                         nb::handle block, int64_t parallel, nb::handle components) {
    return Dataset(data::make_interleave(d.stage(), f.function,
                                         {to_size(cycle), to_size(block), parallel},
                                         to_components(components)));
  });
}

void bind_combining(nb::module_& m) {
  m.def("zip", [](const std::vector<Dataset>& all) {
    return Dataset(data::make_zip(stages_of(all)));
  });
  m.def("concatenate", [](const Dataset& a, const Dataset& b) {
    return Dataset(data::make_concatenate(a.stage(), b.stage()));
  });
  m.def("choose",
        [](const Dataset& selector, const std::vector<Dataset>& all, bool stop) {
          return Dataset(data::make_choose(selector.stage(), stages_of(all), stop));
        });
  m.def("prefetch", [](const Dataset& d, int64_t size) {
    return Dataset(data::make_prefetch(d.stage(), size));
  });
  m.def("cache", [](const Dataset& d, const std::string& file) {
    return Dataset(file.empty() ? data::make_cache(d.stage())
                                : data::make_file_cache(d.stage(), file));
  });
  m.def("copy_to_device", [](const Dataset& d, const std::string& device) {
    return Dataset(data::make_copy_to_device(d.stage(), device));
  });
}

}  // namespace

void bind_data_stages(nb::module_& data) {
  bind_sources(data);
  bind_choosing(data);
  bind_batches(data);
  bind_functions_of_elements(data);
  bind_combining(data);
}

}  // namespace tandem::python
