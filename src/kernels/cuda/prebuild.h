// Prebuilder: compiles kernels ahead, when the plugin is built (tools/prebuild). Whoever
// has a list of calls prepares their kernels for devices that stand for a GPU of an
// architecture; the texts that this asks for are compiled for that architecture and
// written into the file that prebuilt.h reads. One thread, but for build(), which uses
// several.
#pragma once

#include <string>

#include "device/device.h"

namespace tandem::cuda {

class Prebuilder {
 public:
  virtual ~Prebuilder() = default;
  /// Stands for a GPU: kernels can be prepared for it, and nothing else.
  virtual Device& device(int arch) = 0;
  struct Built {
    int programs = 0;  // texts, over all architectures
    int compiled = 0;  // of those, not found in the cache
    std::string problem;
  };
  /// Compiles what was asked for so far, with a cache of its own in `cache`, and writes
  /// the file. Without a compiler the file has no programs, and `problem` says why.
  virtual Built build(const std::string& cache, const std::string& file) = 0;
};

/// What the plugin exports as `tandem_prebuilder`.
using PrebuilderEntry = Prebuilder* (*)();

/// Called instead of compiling when a kernel is prepared for such a device.
void note_text(int arch, const std::string& name, const std::string& source);

}  // namespace tandem::cuda
