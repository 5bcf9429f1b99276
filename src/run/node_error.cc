#include "run/node_error.h"

#include <string_view>

#include <fmt/format.h>

#include "graph/source_of.h"
#include "tandem/control_flow.h"
#include "tandem/error.h"

namespace tandem {

std::string text_at(const Node& node) {
  std::string text = fmt::format("\n\t [[{{{{node {}}}}}]]", node.name);
  if (const SourceLocation* at = source_of(node)) {
    text += " at " + site_text(*at);
    if (at->line > 0 && !at->function.empty() && at->function[0] != '<') {
      text += ", in " + at->function;
    }
  }
  return text;
}

void rethrow_at(const Node& node) {
  try {
    throw;
  } catch (const CancelledError&) {
    throw;
  } catch (const Error& e) {
    if (std::string_view(e.what()).find("[[{{node ") != std::string_view::npos) throw;
    const std::string message = e.what() + text_at(node);
    if (dynamic_cast<const ValueError*>(&e)) throw ValueError(message);
    if (dynamic_cast<const TypeError*>(&e)) throw TypeError(message);
    if (dynamic_cast<const RuntimeStateError*>(&e)) throw RuntimeStateError(message);
    throw_error(e.code(), message);
  }
}

std::exception_ptr error_at(const Node& node) {
  try {
    rethrow_at(node);
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace tandem
