// The built-in backend of emulated GPUs: TANDEM_EMULATE_GPUS of them, each with
// TANDEM_EMULATED_MEMORY_MB of memory, of which CUDA_VISIBLE_DEVICES hides some. Read
// when physical devices are first listed.
#pragma once

#include <mutex>
#include <vector>

#include "device/backend.h"

namespace tandem {

class EmulatedBackend final : public Backend {
 public:
  std::string type() const override { return "GPU"; }
  /// Throws ValueError when one of the variables makes no sense.
  std::vector<ProbedDevice> probe() override;
  std::string absence_reason() const override;
  std::unique_ptr<Device> open(const OpenRequest& request) override;

 private:
  bool hidden_ = false;  // by CUDA_VISIBLE_DEVICES
  std::mutex mutex_;
  std::vector<int64_t>
      unreserved_;  // bytes of each physical device not yet given to a logical one
};

}  // namespace tandem
