#include "base/recording_source.h"

#include <mutex>

#include "base/recorder.h"

namespace tandem::recorder {

namespace {

struct Sources {
  std::mutex mutex;
  std::vector<Source*> list;
};
Sources& all() {
  static Sources* const made = new Sources;
  return *made;
}

}  // namespace

void add_source(Source* source) {
  {
    const std::lock_guard lock(all().mutex);
    all().list.push_back(source);
  }
  if (enabled()) source->start();
}

std::vector<Source*> sources() {
  const std::lock_guard lock(all().mutex);
  return all().list;
}

}  // namespace tandem::recorder
