#include "graph/source_of.h"

#include <mutex>
#include <unordered_map>

#include <fmt/format.h>

#include "base/call_site.h"
#include "base/hash.h"

namespace tandem {

namespace {

// The line of a location that is still to be found out. No program has one like it.
constexpr int kNotLookedUp = -1;

struct NativeLocation final : SourceLocation {
  explicit NativeLocation(const CallSite& s) : SourceLocation{{}, kNotLookedUp, {}} {
    site = s;
  }
  CallSite site;
  mutable std::once_flag once;
  mutable SourceLocation found;
};

struct SiteHash {
  size_t operator()(const CallSite& s) const {
    uint64_t h = 0;
    for (const uintptr_t address : s.frames) h = hash_mix(h, address);
    return h;
  }
};

struct Sites {
  std::mutex mutex;
  // Guarded by mutex. As many as there are calls in the program.
  std::unordered_map<CallSite, std::shared_ptr<const SourceLocation>, SiteHash> known;
};
// Never destroyed: a trace may be made when the process ends.
Sites& sites() {
  static auto* all = new Sites;
  return *all;
}

}  // namespace

namespace {
const bool g_installed =
    (set_memory_line_provider([] { return memory_line(native_location()); }), true);
}  // namespace

std::shared_ptr<const SourceLocation> native_location() {
  const CallSite site = current_call_site();
  if (!site.frames[0]) return nullptr;
  Sites& all = sites();
  const std::lock_guard lock(all.mutex);
  auto& location = all.known[site];
  if (!location) location = std::make_shared<const NativeLocation>(site);
  return location;
}

const SourceLocation* source_of(const Node& node) {
  return source_of(node.location.get());
}

const SourceLocation* source_of(const SourceLocation* at) {
  if (!at || at->line != kNotLookedUp) return at;
  const auto& native = *static_cast<const NativeLocation*>(at);
  std::call_once(native.once, [&] {
    CodeLine line = find_code_line(native.site);
    native.found = {std::move(line.file), line.line, std::move(line.function)};
  });
  return native.found.file.empty() ? nullptr : &native.found;
}

MemoryLine memory_line(std::shared_ptr<const SourceLocation> location) {
  if (!location) return {};
  return {std::move(location), [](const void* place) {
            const auto* at = source_of(static_cast<const SourceLocation*>(place));
            return at ? site_text(*at) : std::string("an unknown place");
          }};
}

std::string site_text(const SourceLocation& at) {
  return at.line > 0 ? fmt::format("{}:{}", at.file, at.line)
                     : fmt::format("{}({})", at.file, at.function);
}

}  // namespace tandem
