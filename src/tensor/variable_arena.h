// VariableArena: one piece of memory for the values of several variables of one device
// (design, decisions 5, 15, 20): a bucket for a collective, one write of a checkpoint.
// That they lie together is an optimisation, never a promise: a value that is still read
// elsewhere when its variable is written, or that was assigned, is in memory of its own,
// and comes back when its place is free and the variable is written again. A variable is
// in at most one arena; a value of another shape leaves it. Reads, views and exported
// memory keep the place they look at. Variables of an arena share a lock, which guards
// all of this; places are given free by any thread.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tensor/variable_impl.h"

namespace tandem {

class VariableArena : public std::enable_shared_from_this<VariableArena> {
 public:
  /// Makes an arena of those of these variables that are in none and have contents of
  /// plain numbers, in this order, and moves them there. They are on one device; the
  /// caller holds their lock exclusively. Null, and nothing changes, when that would be
  /// fewer than two, or the memory is not there.
  static std::shared_ptr<VariableArena> gather(std::span<VariableImpl* const> variables);

  VariableArena(const VariableArena&) = delete;
  VariableArena& operator=(const VariableArena&) = delete;

  const Ref<Buffer>& memory() const { return memory_; }
  size_t slots() const { return slots_.size(); }
  size_t offset(size_t slot) const { return slots_[slot].offset; }

  /// Whether the value is where it belongs. The variable is in an arena.
  static bool at_home(const VariableImpl& v);
  /// Moves the value back to its place; false when something else is still there, or the
  /// value has another shape now, with which the variable leaves the arena.
  static bool bring_home(VariableImpl& v);

 private:
  struct Slot {
    size_t offset = 0;
    Shape shape;
    /// What looks at the place now; null: nobody. Reset by the buffer's end.
    std::atomic<const Buffer*> taken{nullptr};
  };
  VariableArena(Ref<Buffer> memory, size_t slots);
  void move_in(VariableImpl& v, size_t slot);

  Ref<Buffer> memory_;
  LeaseSet lease_;  // it stays where it is
  std::vector<Slot> slots_;
};

/// Where these variables lie when they are one piece of memory: in one arena, at home, in
/// neighbouring places in this order (places begin at multiples of kArenaAlignment; what
/// is between them is nobody's). The caller holds their lock.
struct VariableSpan {
  Ref<Buffer> memory;
  size_t offset = 0;
  size_t bytes = 0;
};
inline constexpr size_t kArenaAlignment = 64;
std::optional<VariableSpan> one_piece(std::span<VariableImpl* const> variables);

}  // namespace tandem
