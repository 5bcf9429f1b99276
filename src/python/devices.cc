// tf.device and tf.config: thin covers of tandem/device.h.
#include <optional>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "op/placement.h"
#include "python/bind.h"
#include "python/errors.h"
#include "python/interrupt.h"
#include "run/eager.h"
#include "tandem/device.h"
#include "tandem/precision.h"

namespace tandem::python {

namespace {

// A `with` block; scopes may be entered again, as TensorFlow's can.
struct PyDeviceScope {
  explicit PyDeviceScope(std::optional<std::string> name) : device(std::move(name)) {}
  PyDeviceScope(const PyDeviceScope&) = delete;
  PyDeviceScope& operator=(const PyDeviceScope&) = delete;
  std::optional<std::string> device;
  std::vector<std::unique_ptr<DeviceScope>> entered;
};

void enter_device_scope(PyDeviceScope& scope) {
  scope.entered.push_back(scope.device ? std::make_unique<DeviceScope>(*scope.device)
                                       : std::make_unique<DeviceScope>(std::nullopt));
}

nb::dict memory_info(const std::string& device) {
  if (device.find(':') == std::string::npos) {
    throw ValueError("Failed parsing device name: '" + device +
                     "'. It needs a type and a number, such as \"GPU:0\".");
  }
  const MemoryInfo info = config::get_memory_info(device);
  nb::dict d;
  d["current"] = info.current;
  d["peak"] = info.peak;
  return d;
}

nb::dict device_details(const PhysicalDevice& device) {
  const config::DeviceDetails details = config::get_device_details(device);
  nb::dict d;
  if (device.device_type == "CPU") return d;  // as in TensorFlow
  if (!details.device_name.empty()) d["device_name"] = details.device_name;
  int major = 0, minor = 0;
  if (std::sscanf(details.compute_capability.c_str(), "%d.%d", &major, &minor) == 2) {
    d["compute_capability"] = nb::make_tuple(major, minor);
  }
  if (details.emulated) d["emulated"] = true;
  return d;
}

template <class T>
void bind_device_class(nb::module_& m, const char* name) {
  nb::class_<T>(m, name)
      .def(nb::init<std::string, std::string>(), nb::arg("name"), nb::arg("device_type"))
      .def_ro("name", &T::name)
      .def_ro("device_type", &T::device_type)
      .def("__eq__",
           [](const T& a, nb::handle b) {
             return nb::isinstance<T>(b) && a == nb::cast<const T&>(b);
           })
      .def("__hash__", [](const T& a) { return std::hash<std::string>{}(a.name); })
      .def("__repr__", [name](const T& a) {
        return std::string(name) + "(name='" + a.name + "', device_type='" +
               a.device_type + "')";
      });
}

const std::string& type_or_all(const std::optional<std::string>& type) {
  static const std::string all;
  return type ? *type : all;
}

}  // namespace

void bind_devices(nb::module_& m) {
  bind_device_class<PhysicalDevice>(m, "PhysicalDevice");
  bind_device_class<LogicalDevice>(m, "LogicalDevice");
  nb::class_<LogicalDeviceConfiguration>(m, "LogicalDeviceConfiguration")
      .def(
          "__init__",
          [](LogicalDeviceConfiguration* self, std::optional<double> memory_limit,
             std::optional<int> experimental_priority, nb::handle) {
            new (self) LogicalDeviceConfiguration{memory_limit, experimental_priority};
          },
          nb::arg("memory_limit") = nb::none(),
          nb::arg("experimental_priority") = nb::none(),
          nb::arg("experimental_device_ordinal") = nb::none())
      .def_ro("memory_limit", &LogicalDeviceConfiguration::memory_limit)
      .def_ro("experimental_priority", &LogicalDeviceConfiguration::priority);
  nb::class_<PyDeviceScope>(m, "DeviceScope", "Ops of the block run on a device.")
      .def(nb::init<std::optional<std::string>>(), nb::arg("device").none())
      .def("__enter__", enter_device_scope)
      .def("__exit__", [](PyDeviceScope& s, nb::args) { s.entered.pop_back(); });

  m.def(
      "device_scope",
      [] {
        const DeviceSpec* spec = current_device_spec();
        return spec ? spec->str() : std::string();
      },
      "The device that scopes ask for now; empty outside any.");

  nb::module_ c = m.def_submodule("config", "Devices and their configuration.");
  using Type = std::optional<std::string>;
  c.def(
      "list_physical_devices",
      [](const Type& t) { return config::list_physical_devices(type_or_all(t)); },
      nb::arg("device_type") = nb::none());
  c.def(
      "list_logical_devices",
      [](const Type& t) { return config::list_logical_devices(type_or_all(t)); },
      nb::arg("device_type") = nb::none());
  c.def(
      "get_visible_devices",
      [](const Type& t) { return config::get_visible_devices(type_or_all(t)); },
      nb::arg("device_type") = nb::none());
  c.def(
      "set_visible_devices",
      [](const std::vector<PhysicalDevice>& devices, const Type& t) {
        config::set_visible_devices(devices, type_or_all(t));
      },
      nb::arg("devices"), nb::arg("device_type") = nb::none());
  c.def("get_device_details", device_details, nb::arg("device"));
  c.def("get_memory_growth", config::get_memory_growth, nb::arg("device"));
  c.def("set_memory_growth", config::set_memory_growth, nb::arg("device"),
        nb::arg("enable"));
  c.def("get_logical_device_configuration", config::get_logical_device_configuration,
        nb::arg("device"));
  c.def("set_logical_device_configuration", config::set_logical_device_configuration,
        nb::arg("device"), nb::arg("logical_devices"));
  c.def("get_intra_op_parallelism_threads", config::get_intra_op_parallelism_threads);
  c.def("set_intra_op_parallelism_threads", config::set_intra_op_parallelism_threads,
        nb::arg("num_threads"));
  c.def("get_inter_op_parallelism_threads", config::get_inter_op_parallelism_threads);
  c.def("set_inter_op_parallelism_threads", config::set_inter_op_parallelism_threads,
        nb::arg("num_threads"));
  c.def("get_soft_device_placement", config::get_soft_device_placement);
  c.def("set_soft_device_placement", config::set_soft_device_placement,
        nb::arg("enabled"));
  c.def("get_log_device_placement", config::get_log_device_placement);
  c.def("set_log_device_placement", config::set_log_device_placement, nb::arg("enabled"));
  c.def(
      "set_device_policy",
      [](const Type& policy) {
        config::set_device_policy(
            config::copy_policy_from_name(policy ? std::string_view(*policy) : "silent"));
      },
      nb::arg("device_policy").none());
  c.def("get_device_policy", [] {
    switch (config::get_device_policy()) {
      case CopyPolicy::kSilent:
        return "silent";
      case CopyPolicy::kSilentForInt32:
        return "silent_for_int32";
      case CopyPolicy::kWarn:
        return "warn";
      default:
        return "explicit";
    }
  });
  c.def("enable_op_determinism", config::enable_op_determinism);
  c.def("op_determinism_enabled", config::op_determinism_enabled);
  c.def("get_memory_info", memory_info, nb::arg("device"));
  c.def(
      "get_memory_usage",
      [](const std::string& d) { return config::get_memory_usage(d); },
      nb::arg("device"));
  c.def(
      "reset_memory_stats", [](const std::string& d) { config::reset_memory_stats(d); },
      nb::arg("device"));
  m.def("enable_tensor_float_32_execution", config::enable_tensor_float_32_execution,
        nb::arg("enabled"));
  m.def("tensor_float_32_execution_enabled", config::tensor_float_32_execution_enabled);
  m.def(
      "synchronize",
      [] {
        const Interruptible unlocked;
        synchronize();
      },
      "Waits until all work given to the devices is done.");
  m.def(
      "run_stats",
      [] {
        nb::dict d;
        d["ops"] = eager_op_count();
        d["copies"] = copy_stats().count;
        d["copied_bytes"] = copy_stats().bytes;
        return d;
      },
      "Ops and copies since the process began.");
}

}  // namespace tandem::python
