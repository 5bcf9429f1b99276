// Plugins: backends in shared libraries. Loads every `libtandem_*.so` in the folders of
// TANDEM_PLUGIN_PATH (colon-separated; a file may be named too) and beside libtandem.so.
// A library that cannot be used is reported, never fatal. Libraries stay loaded.
#pragma once

#include <string>
#include <vector>

#include "device/backend.h"

namespace tandem {

struct Plugin {
  std::string path;
  void* library = nullptr;     // dlopen handle, for further symbols:
                               // `tandem_register_kernels`, `tandem_describe_backend`
  Backend* backend = nullptr;  // owned by the library
};

struct LoadedPlugins {
  std::vector<Plugin> plugins;
  std::vector<std::string> problems;  // one line each
};

/// Loads on the first call; the same result ever after. Any thread.
const LoadedPlugins& load_plugins();

}  // namespace tandem
