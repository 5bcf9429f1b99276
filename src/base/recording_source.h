// Sources of a recording: what happens outside the host's threads and is known only to a
// device, such as when a GPU's kernels really ran. A backend adds its source once; the
// profiler starts and stops it around a recording (base/recorder.h), one at a time.
#pragma once

#include <string>
#include <vector>

namespace tandem::recorder {

class Source {
 public:
  virtual ~Source() = default;
  /// The recorder is on. May be called again in the same recording.
  virtual void start() = 0;
  /// Records its events (Kind::kActivity); devices are idle and the recorder is still on.
  /// Returns a line about what is missing in the recording and why, or nothing.
  virtual std::string stop() = 0;
};

/// The source must live as long as the process. Starts it where a recording is under way.
void add_source(Source* source);
/// In the order in which they were added.
std::vector<Source*> sources();

}  // namespace tandem::recorder
