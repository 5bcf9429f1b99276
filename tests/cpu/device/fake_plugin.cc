// A backend plugin that plays the part named by TANDEM_FAKE_PART: "npu" (one device of
// type NPU), "abi" (refuses), "absent" (finds nothing), "throws".
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "device/backend.h"
#include "device/cpu/cpu_device.h"

namespace {

using namespace tandem;  // NOLINT: one file, nothing exported but tandem_backend

std::string part() {
  const char* name = std::getenv("TANDEM_FAKE_PART");
  return name ? name : "";
}

class FakeBackend final : public Backend {
 public:
  std::string type() const override { return "NPU"; }
  std::vector<ProbedDevice> probe() override {
    if (part() == "throws") throw std::runtime_error("the driver is too old");
    if (part() == "absent") return {};
    ProbedDevice device;
    device.details.device_name = "Fake";
    return {device};
  }
  std::string absence_reason() const override { return "no driver; install it"; }
  std::unique_ptr<Device> open(const OpenRequest& request) override {
    return std::make_unique<CpuDevice>(request);
  }
};

}  // namespace

extern "C" tandem::Backend* tandem_backend(int abi);
extern "C" tandem::Backend* tandem_backend(int abi) {
  static FakeBackend backend;
  return part() == "abi" || abi != tandem::kBackendAbi ? nullptr : &backend;
}
