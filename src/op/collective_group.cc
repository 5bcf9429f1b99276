#include "op/collective_group.h"

#include <fmt/format.h>

namespace tandem {

CollectiveGroup::CollectiveGroup(std::string name, int64_t replicas,
                                 Clock::duration timeout)
    : name_(std::move(name)),
      timeout_(timeout),
      round_(std::make_shared<Round>(static_cast<size_t>(replicas))),
      left_(static_cast<size_t>(replicas), 0) {}

Tensor CollectiveGroup::meet(int64_t replica, std::string what, Tensor input,
                             const Combine& combine) {
  const auto me = static_cast<size_t>(replica);
  std::unique_lock lock(mutex_);
  check_open();
  const std::shared_ptr<Round> round = round_;
  if (round->here[me]) {
    throw FailedPreconditionError(fmt::format(
        "group '{}': two threads run replica {} at the same time. Give each thread a "
        "replica of its own.",
        name_, replica));
  }
  round->here[me] = 1;
  round->what[me] = std::move(what);
  round->inputs[me] = std::move(input);
  if (++round->arrived == left_.size()) {
    // The next round may gather while this one is computed.
    round_ = std::make_shared<Round>(left_.size());
    ++rounds_;
    lock.unlock();
    finish(*round, combine);
    lock.lock();
  } else {
    for (size_t r = 0; r < left_.size(); ++r) {
      if (!left_[r] || round->here[r]) continue;
      fail({ErrorCode::kAborted,
            fmt::format("group '{}': replica {} waits in {}, which replica {} left "
                        "without. Every replica must run the same collectives.",
                        name_, replica, round->what[me], r)});
    }
    const auto over = [&] { return round->done || failure_ != nullptr; };
    if (!changed_.wait_for(lock, timeout_, over)) {
      fail({ErrorCode::kDeadlineExceeded,
            fmt::format(
                "group '{}': replica {} waited {:.0f} s in {} for {}. Every replica must "
                "run the same collectives in the same order; a longer time can be set "
                "with TANDEM_COLLECTIVE_TIMEOUT_S.",
                name_, replica, std::chrono::duration<double>(timeout_).count(),
                round->what[me], missing(*round))});
    }
    // A round that was complete is computed to its end, whatever happens to the group.
    if (round->arrived == left_.size()) {
      changed_.wait(lock, [&] { return round->done; });
    }
  }
  if (!round->done) throw_error(failure_->code, failure_->message);
  if (round->failure) throw_error(round->failure->code, round->failure->message);
  return std::move(round->results[me]);
}

void CollectiveGroup::finish(Round& round, const Combine& combine) {
  std::unique_ptr<Failure> failure = combined(round, combine);
  const std::lock_guard lock(mutex_);
  round.failure = std::move(failure);
  round.inputs.clear();
  round.done = true;
  changed_.notify_all();
}

std::unique_ptr<CollectiveGroup::Failure> CollectiveGroup::combined(
    Round& round, const Combine& combine) const {
  for (const std::string& what : round.what) {
    if (what == round.what[0]) continue;
    return std::make_unique<Failure>(
        Failure{ErrorCode::kInvalidArgument, disagreement(round)});
  }
  try {
    round.results = combine(round.inputs);
    return nullptr;
  } catch (const Error& e) {
    return std::make_unique<Failure>(Failure{e.code(), e.what()});
  } catch (const std::exception& e) {
    return std::make_unique<Failure>(Failure{ErrorCode::kInternal, e.what()});
  }
}

std::string CollectiveGroup::disagreement(const Round& round) const {
  std::string text = fmt::format("group '{}': the replicas do not agree:", name_);
  for (size_t r = 0; r < round.what.size(); ++r) {
    text += fmt::format("{} replica {} calls {}", r ? "," : "", r, round.what[r]);
  }
  return text +
         ". Every replica must run the same collectives in the same order, on tensors of "
         "one dtype and shape.";
}

std::string CollectiveGroup::missing(const Round& round) const {
  std::string text;
  for (size_t r = 0; r < round.here.size(); ++r) {
    if (!round.here[r]) text += fmt::format("{}replica {}", text.empty() ? "" : ", ", r);
  }
  return text;
}

void CollectiveGroup::check_open() const {
  if (failure_) throw_error(ErrorCode::kAborted, failure_->message);
}

void CollectiveGroup::fail(Failure failure) {
  if (!failure_) failure_ = std::make_unique<Failure>(std::move(failure));
  changed_.notify_all();
}

void CollectiveGroup::abort(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  fail({ErrorCode::kAborted, fmt::format("group '{}' was aborted: {}", name_, reason)});
}

void CollectiveGroup::leave(int64_t replica) {
  const std::lock_guard lock(mutex_);
  const auto me = static_cast<size_t>(replica);
  left_[me] = 1;
  if (round_->arrived == 0 || round_->here[me]) return;
  fail({ErrorCode::kAborted,
        fmt::format("group '{}': replica {} left while others wait for it in collective "
                    "{}. Every replica must run the same collectives.",
                    name_, replica, rounds_)});
}

}  // namespace tandem
