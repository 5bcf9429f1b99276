#include "data/stage_path.h"

#include <mutex>
#include <string>

#include "base/recorder.h"

namespace tandem::data {

thread_local constinit const StagePath* PathHere::opening_ = nullptr;

const StagePath& StagePath::root() {
  static const StagePath* const one = new StagePath(nullptr, "Root");
  return *one;
}

const StagePath& StagePath::below(const char* name) const {
  const auto find = [&] {
    const StagePath* p = first_.load(std::memory_order_acquire);
    while (p && p->name_ != name) p = p->next_;
    return p;
  };
  if (const StagePath* found = find()) return *found;
  static std::mutex growing;
  const std::lock_guard lock(growing);
  if (const StagePath* found = find()) return *found;
  auto* const made = new StagePath(this, name);
  made->next_ = first_.load(std::memory_order_relaxed);
  first_.store(made, std::memory_order_release);
  return *made;
}

const char* StagePath::text() const {
  if (const char* known = text_.load(std::memory_order_acquire)) return known;
  std::string text;
  for (const StagePath* p = this; p; p = p->above_) {
    text = std::string("::") + p->name_ + text;
  }
  const char* const made = recorder::intern("path=Iterator" + text + "\n");
  text_.store(made, std::memory_order_release);
  return made;
}

}  // namespace tandem::data
