// The built-in backend of the CPU: one physical device, always there.
#pragma once

#include "device/backend.h"

namespace tandem {

class CpuBackend final : public Backend {
 public:
  std::string type() const override { return "CPU"; }
  std::vector<ProbedDevice> probe() override;
  std::unique_ptr<Device> open(const OpenRequest& request) override;
};

}  // namespace tandem
