// What debug information says about return addresses: by libbacktrace, which g++ brings,
// or else the names of exported functions.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include "base/call_site.h"
#if TANDEM_HAVE_BACKTRACE
#include <backtrace.h>
#endif

namespace tandem {

namespace {

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 && text ? text.get() : name;
}

bool is_library_file(std::string_view file) {
  for (const std::string_view part : {"/include/tandem/", "/include/c++/"}) {
    if (file.find(part) != std::string_view::npos) return true;
  }
  return false;
}

bool is_library_function(std::string_view name) {
  return name.starts_with("std::") || name.starts_with("tandem::") ||
         name.starts_with("__gnu_cxx::");
}

struct Lines {
  bool any = false;  // there is debug information for the address
  std::optional<CodeLine> line;
  bool inlined = false;  // its function is no symbol, but part of another
};

struct Symbol {
  std::string name;
  uintptr_t offset = 0;
};

// The program or shared library, without its folders, which differ between machines.
std::string module_of(uintptr_t address) {
  Dl_info info;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  if (!dladdr(reinterpret_cast<void*>(address), &info) || !info.dli_fname) return {};
  return std::filesystem::path(info.dli_fname).filename().string();
}

#if TANDEM_HAVE_BACKTRACE

void ignore(void*, const char*, int) {}

// Lives as long as the process; find_code_line lets in one thread at a time.
backtrace_state* debug_information() {
  static backtrace_state* state = backtrace_create_state(nullptr, 0, ignore, nullptr);
  return state;
}

// Called for the functions that were inlined at an address, innermost first.
int take_line(void* data, uintptr_t, const char* file, int line, const char* function) {
  auto& lines = *static_cast<Lines*>(data);
  if (lines.line) lines.inlined = true;
  if (!file || lines.line) return 0;
  lines.any = true;
  // Builds give relative paths: "/build/../src/train.cc".
  const std::string path = std::filesystem::path(file).lexically_normal().string();
  if (is_library_file(path)) return 0;
  lines.line =
      CodeLine{path, line, function ? short_function_name(demangled(function)) : ""};
  return 0;
}

Lines lines_of(uintptr_t address) {
  Lines lines;
  backtrace_pcinfo(debug_information(), address, take_line, ignore, &lines);
  return lines;
}

void take_symbol(void* data, uintptr_t address, const char* name, uintptr_t value,
                 uintptr_t) {
  if (name) *static_cast<Symbol*>(data) = {demangled(name), address - value};
}

Symbol symbol_of(uintptr_t address) {
  Symbol symbol;
  backtrace_syminfo(debug_information(), address, take_symbol, ignore, &symbol);
  return symbol;
}

#else

Lines lines_of(uintptr_t) { return {}; }

Symbol symbol_of(uintptr_t address) {
  Dl_info info;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  if (!dladdr(reinterpret_cast<void*>(address), &info) || !info.dli_sname) return {};
  return {demangled(info.dli_sname),
          address - reinterpret_cast<uintptr_t>(info.dli_saddr)};
}

#endif

}  // namespace

CodeLine find_code_line(const CallSite& site) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  for (const uintptr_t after : site.frames) {
    if (!after) break;
    // The call is before the address that it returns to.
    const uintptr_t address = after - 1;
    Lines lines = lines_of(address);
    if (lines.any && !lines.line) continue;
    const Symbol symbol = symbol_of(address);
    if (lines.line) {
      // Short debug information has "operator()" for every lambda.
      if (!lines.inlined && !symbol.name.empty()) {
        lines.line->function = short_function_name(symbol.name);
      }
      return std::move(*lines.line);
    }
    if (is_library_function(symbol.name)) continue;
    const std::string name = short_function_name(symbol.name);
    return {module_of(address), 0,
            name.empty() ? std::string() : fmt::format("{}+{:#x}", name, symbol.offset)};
  }
  return {};
}

std::string short_function_name(const std::string& demangled_name) {
  std::string text = demangled_name;
  // Not a list of parameters.
  static constexpr std::string_view kHidden = "(anonymous namespace)::";
  for (size_t at; (at = text.find(kHidden)) != std::string::npos;) {
    text.erase(at, kHidden.size());
  }
  std::string name;
  int depth = 0;  // of template arguments, which are long and say little
  for (size_t i = 0; i < text.size(); ++i) {
    const char before = i ? text[i - 1] : ':';
    if (!depth && (before == ':' || before == ' ') &&
        text.compare(i, 8, "operator") == 0) {
      // Its name has the characters that end others.
      name += text.substr(i, text.find('(', i + 9) - i);
      break;
    }
    if (text[i] == '<') ++depth;
    if (!depth && text[i] == '(') break;
    if (!depth && text[i] == ' ') {
      name.clear();  // it was the type of the result
    } else if (!depth) {
      name += text[i];
    }
    if (text[i] == '>' && depth) --depth;
  }
  return name;
}

}  // namespace tandem
