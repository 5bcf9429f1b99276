#include "data/pass_log.h"

namespace tandem::data {

namespace {
thread_local std::shared_ptr<PassLog> t_log;
}

PassLog::Pair PassLog::draw(const std::function<Pair()>& fresh) {
  const std::lock_guard lock(mutex_);
  if (next_ == seeds_.size()) seeds_.push_back(fresh());
  return seeds_[next_++];
}

std::vector<PassLog::Pair> PassLog::drawn() const {
  const std::lock_guard lock(mutex_);
  return {seeds_.begin(), seeds_.begin() + static_cast<std::ptrdiff_t>(next_)};
}

PassLogScope::PassLogScope(std::shared_ptr<PassLog> log)
    : previous_(std::exchange(t_log, std::move(log))) {}
PassLogScope::~PassLogScope() { t_log = std::move(previous_); }
const std::shared_ptr<PassLog>& current_pass_log() { return t_log; }

}  // namespace tandem::data
