// CollectiveGroup: where the replicas of one process meet. In each round every replica
// brings a tensor; the last one to arrive combines them, once and in the order of
// replicas, and all go on with their results. Nobody waits for ever: a replica that
// fails, leaves or does not come in time fails the round for all. Shared by the threads
// of the replicas; every function may be called by any of them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tandem/error.h"
#include "tandem/tensor.h"

namespace tandem {

class CollectiveGroup {
 public:
  using Clock = std::chrono::steady_clock;
  /// Tensors of all replicas in order → the results in order. Runs on one replica's
  /// thread; what it throws, all replicas get.
  using Combine = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

  CollectiveGroup(std::string name, int64_t replicas, Clock::duration timeout);

  const std::string& name() const { return name_; }
  int64_t replicas() const { return static_cast<int64_t>(left_.size()); }

  /// Brings `input` and waits for the others. `what` says what is asked for and on what
  /// tensor: if it differs between replicas, all get an InvalidArgumentError.
  Tensor meet(int64_t replica, std::string what, Tensor input, const Combine& combine);

  void abort(const std::string& reason);
  void leave(int64_t replica);

 private:
  struct Failure {
    ErrorCode code;
    std::string message;
  };
  struct Round {
    explicit Round(size_t n) : what(n), inputs(n), here(n, 0) {}
    std::vector<std::string> what;
    std::vector<Tensor> inputs;
    std::vector<char> here;
    size_t arrived = 0;
    bool done = false;
    std::unique_ptr<Failure> failure;  // of the round, for all
    std::vector<Tensor> results;
  };

  // With mutex_ held.
  void check_open() const;
  void fail(Failure failure);
  std::string missing(const Round& round) const;

  void finish(Round& round, const Combine& combine);
  std::unique_ptr<Failure> combined(Round& round, const Combine& combine) const;
  std::string disagreement(const Round& round) const;

  const std::string name_;
  const Clock::duration timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Round> round_;      // the one that is gathering
  std::unique_ptr<Failure> failure_;  // of the group, for good
  std::vector<char> left_;            // by replica
  int64_t rounds_ = 0;
};

/// The group of that name that this thread runs a replica of, and which; null: none.
struct ReplicaSeat {
  CollectiveGroup* group = nullptr;
  int64_t id = 0;
};
ReplicaSeat find_replica(const std::string& group);

}  // namespace tandem
