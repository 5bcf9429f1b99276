// Replicas: copies of one program, each on a thread of its own and usually with a device
// of its own, that meet in collective ops (tandem/ops/collective.h). A group is made once
// and outlives its scopes; any thread may use it. Which replica a thread runs is ambient:
// a scope sets it, eager calls and compiled functions read it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace tandem {

class CollectiveGroup;

struct ReplicaGroupOptions {
  /// How long a replica waits for the others in one collective before all of them fail
  /// with a DeadlineExceededError. 0: TANDEM_COLLECTIVE_TIMEOUT_S, or ten minutes.
  double timeout_s = 0;
};

/// Copies are the same group.
class ReplicaGroup {
 public:
  ReplicaGroup(std::string name, int64_t replicas, ReplicaGroupOptions options = {});

  const std::string& name() const;
  int64_t replicas() const;

  /// Collectives under way and later ones throw an AbortedError with this reason. For
  /// good: make a new group to go on.
  void abort(const std::string& reason) const;
  /// This replica takes part in nothing any more; who waits for it is told at once.
  void leave(int64_t replica) const;

 private:
  friend class ReplicaScope;
  std::shared_ptr<CollectiveGroup> group_;
};

/// Which replica this thread runs. Without a scope: the only one of a group of one.
struct ReplicaContext {
  std::string group = {};
  int64_t id = 0;
  int64_t count = 1;
};
/// Of the innermost scope, or of the innermost one of the named group.
ReplicaContext replica_context(const std::string& group = {});

/// This thread runs replica `id` of a group while the scope lives. A scope that is left
/// by an exception aborts its group, so that the others do not wait for this replica.
/// Scopes of one thread are left in the opposite order.
class ReplicaScope {
 public:
  ReplicaScope(const ReplicaGroup& group, int64_t id);
  ReplicaScope(const ReplicaScope&) = delete;
  ReplicaScope& operator=(const ReplicaScope&) = delete;
  ~ReplicaScope();

 private:
  int exceptions_;
};

}  // namespace tandem
