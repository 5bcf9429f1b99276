#include "kernels/cpu/fused_registers.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tandem::cpu {

namespace {

using StepKind = FusedStep::Kind;
using Place = FusedSlot::Place;

constexpr uint32_t kAlign = 64;
constexpr size_t kLongestRun = kMicroPointers / (kMaxOperands + 1);

bool writes(const FusedStep& step) {
  return step.kind != StepKind::kColumnFold && step.kind != StepKind::kAllFold;
}

class RegisterAllocator {
 public:
  RegisterAllocator(FusedCode& code, std::span<const SlotLife> lives)
      : code_(code),
        lives_(lives),
        last_use_(code.slots.size(), -1),
        placed_(code.slots.size(), false) {}

  bool run() {
    find_locals();
    for (size_t s = 0; s < code_.slots.size(); ++s) {
      FusedSlot& slot = code_.slots[s];
      if (slot.place == Place::kStore) {
        slot.offset = code_.store_size;
        code_.store_size += slot.size;
      } else if (lives_[s].fixed_bytes) {
        slot.offset = take(lives_[s].fixed_bytes);
      }
    }
    for (size_t i = 0; i < code_.steps.size(); ++i) {
      for_operands(code_.steps[i],
                   [&](uint16_t s) { last_use_[s] = static_cast<int>(i); });
    }
    for (size_t i = 0; i < code_.steps.size(); ++i) step(static_cast<int>(i));
    make_runs();
    code_.arena_bytes = top_;
    return top_ <= kFusedArena;
  }

 private:
  template <class F>
  static void for_operands(const FusedStep& step, F&& f) {
    for (int a = 0; a < fused_operands(step); ++a) f(step.in[a]);
  }
  bool is_register(uint16_t s) const {
    return code_.slots[s].place == Place::kArena && !lives_[s].fixed_bytes && !local_[s];
  }
  uint32_t take(uint32_t bytes) {
    const uint32_t align = bytes <= 16 ? 16 : kAlign;
    top_ = (top_ + align - 1) / align * align;
    const uint32_t offset = top_;
    top_ += bytes;
    return offset;
  }

  void step(int i) {
    const FusedStep& s = code_.steps[static_cast<size_t>(i)];
    std::vector<uint16_t> dying;
    for_operands(s, [&](uint16_t operand) {
      if (!is_register(operand) || last_use_[operand] != i) return;
      if (std::find(dying.begin(), dying.end(), operand) == dying.end()) {
        dying.push_back(operand);
      }
    });
    // A block may write over an operand of its element size, which a register of the free
    // list always has.
    // A run goes through its steps many times: it frees registers at its end.
    const bool over = s.kind == StepKind::kBlock && !s.micro;
    if (over) release(dying);
    if (writes(s) && is_register(s.out) && !placed_[s.out]) place(s.out);
    if (over) return;
    pending_.insert(pending_.end(), dying.begin(), dying.end());
    if (s.micro && static_cast<size_t>(i) + 1 < code_.steps.size() &&
        run_of_[static_cast<size_t>(i) + 1] == run_of_[static_cast<size_t>(i)]) {
      return;
    }
    release(pending_);
    pending_.clear();
  }
  void release(const std::vector<uint16_t>& dying) {
    for (uint16_t s : dying) {
      free_[code_.slots[s].size].push_back(code_.slots[s].offset);
    }
  }
  void place(uint16_t s) {
    FusedSlot& slot = code_.slots[s];
    placed_[s] = true;
    auto& list = free_[slot.size];
    if (!list.empty()) {
      slot.offset = list.back();
      list.pop_back();
      return;
    }
    // Short rows are repeated with stores that reach a little beyond the end.
    slot.offset = take(static_cast<uint32_t>(code_.block) * slot.size + kAlign);
  }

  // ---- Runs
  // ----------------------------------------------------------------------------
  // Neighbouring steps of the chunks of a phase make a run; values that nobody else sees
  // are local to it.
  void find_locals() {
    local_.assign(code_.slots.size(), false);
    run_of_.assign(code_.steps.size(), -1);
    int run = -1;
    for (const FusedPhase& phase : code_.phases) {
      size_t length = 0;
      for (uint32_t i = phase.chunk; i < phase.tail; ++i) {
        const bool micro = code_.steps[i].micro != nullptr;
        length = micro ? length % kLongestRun + 1 : 0;
        if (length == 1) ++run;
        if (micro) run_of_[i] = run;
      }
    }
    constexpr int kNobody = -2;
    std::vector<int> seen(code_.slots.size(), kNobody);
    for (size_t i = 0; i < code_.steps.size(); ++i) {
      const auto see = [&](uint16_t s) {
        seen[s] = seen[s] == kNobody || seen[s] == run_of_[i] ? run_of_[i] : -1;
      };
      for_operands(code_.steps[i], see);
      if (writes(code_.steps[i])) see(code_.steps[i].out);
    }
    for (const FusedOutput& out : code_.outputs) {
      if (out.form != FusedOutput::Form::kReduced) seen[out.slot] = -1;
    }
    for (size_t s = 0; s < seen.size(); ++s) {
      local_[s] = seen[s] >= 0 && is_register(static_cast<uint16_t>(s));
    }
  }

  void make_runs() {
    std::vector<FusedStep> steps;
    std::vector<uint32_t> place_of;
    size_t scratch = 0;
    for (size_t i = 0; i < code_.steps.size();) {
      size_t end = i + 1;
      while (run_of_[i] >= 0 && end < run_of_.size() && run_of_[end] == run_of_[i]) ++end;
      place_of.insert(place_of.end(), end - i, static_cast<uint32_t>(steps.size()));
      if (run_of_[i] < 0) {
        steps.push_back(code_.steps[i]);
      } else {
        FusedStep step{.kind = StepKind::kMicro};
        step.index = static_cast<uint16_t>(code_.runs.size());
        steps.push_back(step);
        code_.runs.push_back(MicroBuilder(*this, i, end).build());
        scratch = std::max(scratch, code_.runs.back().scratch());
      }
      i = end;
    }
    place_of.push_back(static_cast<uint32_t>(steps.size()));
    move_fused_bounds(code_, place_of);
    flat_ = std::exchange(code_.steps, std::move(steps));
    code_.micro_scratch = take(static_cast<uint32_t>(scratch));
  }

  class MicroBuilder {
   public:
    MicroBuilder(const RegisterAllocator& a, size_t begin, size_t end)
        : a_(a), begin_(begin), end_(end) {}

    MicroRun build() {
      for (size_t i = begin_; i < end_; ++i) {
        const FusedStep& s = a_.code_.steps[i];
        for (uint16_t in : s.in) {
          MicroPointer& p = pointer(in);
          p.read = p.read || !p.written;
        }
        // A local value takes the place of one that is no longer read.
        for (uint16_t in : s.in) {
          if (a_.local_[in] && a_.last_use_[in] == static_cast<int>(i)) free(in);
        }
        pointer(s.out).written = true;
      }
      return finish();
    }

   private:
    MicroPointer& pointer(uint16_t slot) {
      auto [it, fresh] = pointers_.try_emplace(slot);
      if (!fresh) return it->second;
      MicroPointer& p = it->second;
      p.slot = slot;
      if (a_.local_[slot]) {
        p.kind = MicroPointer::Kind::kLocal;
        if (free_.empty()) {
          p.slot = static_cast<uint16_t>(run_.locals++);
        } else {
          p.slot = free_.back();
          free_.pop_back();
        }
      } else if (a_.lives_[slot].broadcast) {
        p.kind = MicroPointer::Kind::kFixed;
      }
      return p;
    }
    void free(uint16_t slot) {
      const uint16_t place = pointers_.at(slot).slot;
      if (std::find(free_.begin(), free_.end(), place) == free_.end()) {
        free_.push_back(place);
      }
    }
    MicroRun finish() {
      std::map<uint16_t, uint16_t> number;
      for (const bool moving : {true, false}) {
        for (const auto& [slot, p] : pointers_) {
          if ((p.kind == MicroPointer::Kind::kMoving) != moving) continue;
          number[slot] = static_cast<uint16_t>(run_.pointers.size());
          run_.pointers.push_back(p);
        }
        if (moving) run_.moving = run_.pointers.size();
      }
      for (size_t i = begin_; i < end_; ++i) {
        const FusedStep& s = a_.code_.steps[i];
        run_.steps.push_back({s.micro->run,
                              {number[s.in[0]], number[s.in[1]], number[s.in[2]]},
                              number[s.out]});
      }
      return std::move(run_);
    }

    const RegisterAllocator& a_;
    const size_t begin_, end_;
    MicroRun run_;
    std::map<uint16_t, MicroPointer> pointers_;  // by slot
    std::vector<uint16_t> free_;
  };

 public:
  /// The steps before runs were made of them.
  const std::vector<FusedStep>& flat() const { return flat_; }

 private:
  FusedCode& code_;
  std::span<const SlotLife> lives_;
  std::vector<FusedStep> flat_;
  std::vector<bool> local_;
  std::vector<int> run_of_;
  std::vector<uint16_t> pending_;
  std::vector<int> last_use_;
  std::vector<bool> placed_;
  std::map<uint8_t, std::vector<uint32_t>> free_;
  uint32_t top_ = 0;
};

void find_moving(FusedCode& code, std::span<const Access> access) {
  for (size_t s = 0; s < code.slots.size(); ++s) {
    const FusedSlot& slot = code.slots[s];
    if (slot.place == Place::kArena) continue;
    if (slot.place == Place::kInput) {
      const Access a = access[slot.index];
      // Columns are written out for a whole tile in the prologue.
      if (a == Access::kSingle || (a == Access::kColumn && code.rows_per_tile > 1)) {
        code.resting.push_back(static_cast<uint16_t>(s));
        continue;
      }
    }
    code.moving.push_back(static_cast<uint16_t>(s));
  }
}

void find_later_reads(FusedCode& code, std::span<const FusedStep> steps,
                      std::span<const Access> access) {
  for (FusedOutput& out : code.outputs) {
    if (out.form != FusedOutput::Form::kFull) continue;
    bool computed = false;
    for (const FusedStep& step : steps) {
      for (int a = 0; computed && a < fused_operands(step); ++a) {
        const FusedSlot& slot = code.slots[step.in[a]];
        if (slot.place != Place::kInput || access[slot.index] != Access::kFull) continue;
        if (std::find(out.later_reads.begin(), out.later_reads.end(), slot.index) ==
            out.later_reads.end()) {
          out.later_reads.push_back(slot.index);
        }
      }
      computed = computed || (writes(step) && step.out == out.slot);
    }
  }
}

}  // namespace

bool assign_registers(FusedCode& code, std::span<const SlotLife> lives,
                      std::span<const Access> access) {
  join_fused_steps(code, lives);
  RegisterAllocator allocator(code, lives);
  if (code.slots.size() > kFusedSlots || !allocator.run()) return false;
  find_moving(code, access);
  for (const FusedOutput& out : code.outputs) {
    using Form = FusedOutput::Form;
    code.writes_rows |= out.form == Form::kRow || out.form == Form::kLate;
    code.writes_singles |= out.form == Form::kSingle;
  }
  find_later_reads(code, allocator.flat(), access);
  return true;
}

}  // namespace tandem::cpu
