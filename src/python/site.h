// The line of the user's program, for events that are recorded, nodes that are traced and
// errors. Frames of Tandem, Keras, AutoGraph and the standard library are passed over,
// and code that AutoGraph generated counts as the lines that it was made from.
#pragma once

#include <memory>
#include <span>

#include "base/recorder.h"
#include "graph/graph.h"
#include "python/bind.h"

namespace tandem::python {

/// Where the innermost frame of the user's is now; null where there is none. Takes the
/// interpreter lock if the thread does not hold it. The result is shared by all that ask
/// for one line.
std::shared_ptr<const SourceLocation> user_location();

/// The same as "file:line", kept for ever.
const char* user_site();

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

/// Says which line made the large ones among results, for when memory runs out.
void note_lines(std::span<const Tensor> results);

/// Makes traces ask for the user's line.
void bind_site(nb::module_& m);

}  // namespace tandem::python
