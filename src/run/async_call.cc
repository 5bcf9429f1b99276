#include "run/async_call.h"

#include <optional>

#include "base/ranges.h"
#include "base/recorder.h"

namespace tandem {

std::exception_ptr AsyncCall::input_error() const {
  for (const auto& b : inputs) {
    if (!b) continue;
    if (auto e = b->error()) return e;
  }
  return nullptr;
}

void AsyncCall::run(const StreamContext& context) {
  std::exception_ptr error = input_error();
  const bool inherited = error != nullptr;
  if (!error) {
    try {
      CurrentTeam current(team);
      std::optional<TeamToken> token;
      if (plan->kernel->library_threads && team) token.emplace(team);
      const bool timed = recorder::enabled();
      const int64_t begin = timed ? recorder::now_ns() : 0;
      const LaunchArgs args{in_pointers.data(), out_pointers.data(), workspace_pointer,
                            &context};
      {
        const ranges::Range range(plan->op->name.c_str());
        plan->kernel->launch(*plan->prepared, args);
      }
      if (timed) {
        recorder::record(recorder::Kind::kOp, plan->op->name.c_str(), context.lane, begin,
                         recorder::now_ns(), 0, site);
      }
      return;
    } catch (...) {
      error = std::current_exception();
    }
  }
  // Variables keep their value; everything else that should have been written is
  // spoiled.
  for (const auto& b : outputs) b->poison(error);
  // The stream reports where it began; who reads a spoiled output sees it earlier.
  if (!inherited) std::rethrow_exception(error);
}

void AsyncCall::translate(int64_t address_offset) {
  if (address_offset == 0) return;
  const auto moved = [address_offset](void* p) {
    return static_cast<void*>(static_cast<std::byte*>(p) + address_offset);
  };
  for (size_t i = 0; i < in_pointers.size(); ++i) {
    if (in_pointers[i] && inputs[i]) in_pointers[i] = moved(in_pointers[i]);
  }
  for (void*& p : out_pointers) p = moved(p);
  if (workspace_pointer) workspace_pointer = moved(workspace_pointer);
}

}  // namespace tandem
