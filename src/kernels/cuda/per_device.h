// PerDevice: something that a library wants once for each GPU (a handle, mostly), made
// when it is first asked for. Lives as long as the process, because so do devices and the
// libraries' threads. Any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "device/cuda/cuda_device.h"

namespace tandem::cuda {

template <class T>
class PerDevice {
 public:
  /// `make(T&)` completes a new one, with the GPU's context current. What it throws
  /// leaves nothing behind.
  template <class Make>
  T& of(CudaDevice& device, Make&& make) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<T>& place = all_[&device];
    if (!place) {
      device.activate();
      auto made = std::make_unique<T>();
      make(*made);
      place = std::move(made);
    }
    return *place;
  }

 private:
  std::mutex mutex_;
  std::map<CudaDevice*, std::unique_ptr<T>> all_;
};

/// The one of T for this GPU. T is a type of the caller's own.
template <class T, class Make>
T& per_device(CudaDevice& device, Make&& make) {
  static auto* const all = new PerDevice<T>;
  return all->of(device, make);
}

}  // namespace tandem::cuda
