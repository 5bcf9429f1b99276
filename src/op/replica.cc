// Groups as users see them, and the scopes that say which replica a thread runs.
#include "tandem/replica.h"

#include <exception>

#include <fmt/format.h>

#include "base/flags.h"
#include "op/collective_group.h"
#include "tandem/error.h"

namespace tandem {

namespace {

struct Seat {
  std::shared_ptr<CollectiveGroup> group;
  int64_t id;
};
thread_local std::vector<Seat> t_seats;  // innermost last

const Seat* seat_in(const std::string& group) {
  for (auto s = t_seats.rbegin(); s != t_seats.rend(); ++s) {
    if (group.empty() || s->group->name() == group) return &*s;
  }
  return nullptr;
}

CollectiveGroup::Clock::duration timeout_of(const ReplicaGroupOptions& options) {
  constexpr double kTenMinutes = 600;
  const double seconds = options.timeout_s > 0
                             ? options.timeout_s
                             : env_double("TANDEM_COLLECTIVE_TIMEOUT_S", kTenMinutes);
  return std::chrono::duration_cast<CollectiveGroup::Clock::duration>(
      std::chrono::duration<double>(seconds));
}

}  // namespace

ReplicaGroup::ReplicaGroup(std::string name, int64_t replicas,
                           ReplicaGroupOptions options) {
  if (replicas < 1) {
    throw ValueError(fmt::format("ReplicaGroup '{}': needs at least one replica, got {}.",
                                 name, replicas));
  }
  if (name.empty()) throw ValueError("ReplicaGroup: needs a name.");
  group_ =
      std::make_shared<CollectiveGroup>(std::move(name), replicas, timeout_of(options));
}
const std::string& ReplicaGroup::name() const { return group_->name(); }
int64_t ReplicaGroup::replicas() const { return group_->replicas(); }
void ReplicaGroup::abort(const std::string& reason) const { group_->abort(reason); }
void ReplicaGroup::leave(int64_t replica) const { group_->leave(replica); }

ReplicaContext replica_context(const std::string& group) {
  const Seat* seat = seat_in(group);
  if (!seat) return {.group = group};
  return {seat->group->name(), seat->id, seat->group->replicas()};
}

ReplicaSeat find_replica(const std::string& group) {
  const Seat* seat = seat_in(group);
  return seat ? ReplicaSeat{seat->group.get(), seat->id} : ReplicaSeat{};
}

ReplicaScope::ReplicaScope(const ReplicaGroup& group, int64_t id)
    : exceptions_(std::uncaught_exceptions()) {
  if (id < 0 || id >= group.replicas()) {
    throw ValueError(fmt::format("ReplicaScope: group '{}' has {} replicas, got id {}.",
                                 group.name(), group.replicas(), id));
  }
  t_seats.push_back({group.group_, id});
}

ReplicaScope::~ReplicaScope() {
  const Seat seat = t_seats.back();
  t_seats.pop_back();
  if (std::uncaught_exceptions() > exceptions_) {
    seat.group->abort(fmt::format("replica {} failed", seat.id));
  }
}

}  // namespace tandem
