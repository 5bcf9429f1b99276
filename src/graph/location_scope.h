// LocationScope: whose line of the user's program traced nodes are. Per thread.
#pragma once

#include <memory>

#include "graph/graph.h"

namespace tandem {

/// Nodes traced while it lives belong to this line: gradients to that of the op they are
/// of. Null changes nothing.
class LocationScope {
 public:
  explicit LocationScope(std::shared_ptr<const SourceLocation> location);
  LocationScope(const LocationScope&) = delete;
  LocationScope& operator=(const LocationScope&) = delete;
  ~LocationScope();

 private:
  std::shared_ptr<const SourceLocation> before_;
};

}  // namespace tandem
