// The line of the user's program, for events that are recorded and nodes that are traced.
#pragma once

#include <memory>

#include "base/recorder.h"
#include "graph/graph.h"

namespace tandem::python {

/// "file:line" of the innermost frame that is neither Tandem's nor Keras's, kept for
/// ever; null where there is none. Needs the interpreter lock.
const char* user_site();

/// The same place for a node that is traced (set_location_provider), with or without the
/// interpreter lock.
std::shared_ptr<const SourceLocation> user_location();

/// Gives events of the block the user's line. One load while nothing is recorded. Made
/// with the interpreter lock held.
class SiteScope {
 public:
  SiteScope() : on_(recorder::enabled()) {
    if (on_) before_ = recorder::set_site(user_site());
  }
  SiteScope(const SiteScope&) = delete;
  SiteScope& operator=(const SiteScope&) = delete;
  ~SiteScope() {
    if (on_) recorder::set_site(before_);
  }

 private:
  bool on_;
  const char* before_ = nullptr;
};

}  // namespace tandem::python
