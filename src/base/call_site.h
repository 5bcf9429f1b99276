// CallSite: from where the user's program called into this library, as return addresses
// that are cheap to take, and what the program's debug information says about them, which
// is not. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tandem {

/// The innermost frames of this thread that are not code of libtandem, zero-filled.
/// Several, because templates and inline functions of public headers are compiled into
/// the user's program: which of the frames is the user's only debug information can tell.
struct CallSite {
  std::array<uintptr_t, 8> frames{};
  friend bool operator==(const CallSite&, const CallSite&) = default;
};

/// Walks the stack; some microseconds. All zero where every frame is the library's.
CallSite current_call_site();

/// A line, or without debug information the program and "function+0x1c" with line 0;
/// empty file: nothing is known.
struct CodeLine {
  std::string file;
  int line = 0;
  std::string function;
};

/// The innermost line that is neither the standard library's nor of a header of this
/// library. Reads debug information: the first time may take tenths of a second.
CodeLine find_code_line(const CallSite& site);

/// "step" of "void (anonymous namespace)::step<int>(int)::{lambda(int)#1}::operator()":
/// the name of the function that a user would give.
std::string short_function_name(const std::string& demangled);

}  // namespace tandem
