// Which seeds the shuffles of an iterator drew, in order. A checkpoint stores them; an
// iterator that is restored draws the same ones again, and fresh ones afterwards. Any
// thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tandem::data {

class PassLog {
 public:
  using Pair = std::pair<int64_t, int64_t>;
  explicit PassLog(std::vector<Pair> replay = {}) : seeds_(std::move(replay)) {}

  /// The next stored pair, or a fresh one, which is stored.
  Pair draw(const std::function<Pair()>& fresh);
  std::vector<Pair> drawn() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Pair> seeds_;  // guarded by mutex_, as is next_
  size_t next_ = 0;
};

/// Iterators that this thread makes while it lives write into this log.
class PassLogScope {
 public:
  explicit PassLogScope(std::shared_ptr<PassLog> log);
  PassLogScope(const PassLogScope&) = delete;
  PassLogScope& operator=(const PassLogScope&) = delete;
  ~PassLogScope();

 private:
  std::shared_ptr<PassLog> previous_;
};
/// Null: nobody wants to know.
const std::shared_ptr<PassLog>& current_pass_log();

}  // namespace tandem::data
