#include "device/plugin.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>

#include <dlfcn.h>
#include <sys/stat.h>

#include "base/flags.h"
#include "base/log.h"
#include "base/trusted_files.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

bool is_plugin_name(const std::string& name) {
  return name.starts_with("libtandem_") && name.ends_with(".so");
}

/// Plugins of a folder by name; of a file, itself.
std::vector<fs::path> candidates_in(const fs::path& place) {
  std::error_code error;
  if (fs::is_regular_file(place, error)) return {place};
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(place, error)) {
    if (is_plugin_name(entry.path().filename().string())) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<fs::path> candidates() {
  std::vector<fs::path> places;
  std::istringstream path(env_string("TANDEM_PLUGIN_PATH").value_or(""));
  for (std::string place; std::getline(path, place, ':');) {
    if (!place.empty()) places.emplace_back(place);
  }
  Dl_info self;
  if (dladdr(reinterpret_cast<const void*>(&load_plugins), &self) && self.dli_fname) {
    std::error_code error;
    const fs::path library = fs::weakly_canonical(self.dli_fname, error);
    if (!error) places.push_back(library.parent_path());
  }
  std::vector<fs::path> found;
  std::set<std::string> names;  // the first of a name wins
  for (const auto& place : places) {
    for (const auto& file : candidates_in(place)) {
      if (names.insert(file.filename().string()).second) found.push_back(file);
    }
  }
  return found;
}

/// Who installed libtandem itself may install plugins, too.
std::optional<uid_t> owner_of_library() {
  Dl_info self;
  struct stat s{};
  if (!dladdr(reinterpret_cast<const void*>(&load_plugins), &self) || !self.dli_fname)
    return {};
  if (stat(self.dli_fname, &s)) return {};
  return s.st_uid;
}

/// Fills in `plugin`; returns what is wrong with the library, or nothing.
std::string load(const fs::path& file, Plugin& plugin) {
  plugin.path = file.string();
  const std::string doubt = reason_to_distrust(plugin.path, owner_of_library());
  if (!doubt.empty()) return "is not loaded, as others could have written it: " + doubt;
  plugin.library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!plugin.library) {
    const char* why = dlerror();
    return std::string("cannot be loaded: ") + (why ? why : "unknown reason");
  }
  const auto entry =
      reinterpret_cast<BackendEntry>(dlsym(plugin.library, "tandem_backend"));
  if (!entry) return "does not export tandem_backend";
  try {
    plugin.backend = entry(kBackendAbi);
  } catch (const std::exception& error) {
    return std::string("failed to start: ") + error.what();
  }
  if (!plugin.backend) {
    return "was built for another version of Tandem (backend interface " +
           std::to_string(kBackendAbi) + " is wanted); build it again";
  }
  return {};
}

}  // namespace

const LoadedPlugins& load_plugins() {
  static const LoadedPlugins* const loaded = [] {
    auto* result = new LoadedPlugins;
    for (const auto& file : candidates()) {
      Plugin plugin;
      const std::string problem = load(file, plugin);
      if (problem.empty()) {
        result->plugins.push_back(plugin);
        continue;
      }
      result->problems.push_back("plugin " + file.string() + " " + problem);
      logging::warn(result->problems.back());
    }
    return result;
  }();
  return *loaded;
}

}  // namespace tandem
