#include "plan/memory.h"

#include <algorithm>
#include <numeric>

namespace tandem {

namespace {

// Every use of `a` has finished when `b` is written.
bool over_before(const MemoryProblem& p, const MemoryBuffer& a, const MemoryBuffer& b) {
  const auto finished = [&](int32_t step) {
    const auto lane = static_cast<size_t>(p.lane_of_step[static_cast<size_t>(step)]);
    return p.clock[static_cast<size_t>(b.defined)][lane] >=
           p.position[static_cast<size_t>(step)];
  };
  if (!finished(a.defined)) return false;
  return std::all_of(a.uses.begin(), a.uses.end(), finished);
}

int64_t aligned(int64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

// All uses of `old` but the writing of `fresh` itself are over when `fresh` is written.
bool dies_at(const MemoryProblem& p, const MemoryBuffer& old, const MemoryBuffer& fresh) {
  MemoryBuffer rest = old;
  std::erase(rest.uses, fresh.defined);
  return over_before(p, rest, fresh);
}

}  // namespace

bool lifetimes_overlap(const MemoryProblem& problem, int32_t a, int32_t b) {
  const MemoryBuffer& x = problem.buffers[static_cast<size_t>(a)];
  const MemoryBuffer& y = problem.buffers[static_cast<size_t>(b)];
  return !over_before(problem, x, y) && !over_before(problem, y, x);
}

namespace {

using Numbers = std::vector<int32_t>;

// Several buffers in one piece: one, or a strip.
struct Piece {
  struct Part {
    int32_t chain;
    int64_t offset;
  };
  std::vector<Part> parts;
  int64_t bytes = 0;
};

class BufferPlacement {
 public:
  explicit BufferPlacement(const MemoryProblem& problem) : problem_(problem) {}

  MemoryPlan run(bool with_strips) {
    find_chains();
    std::vector<Piece> pieces = with_strips ? strips() : std::vector<Piece>();
    MemoryPlan plan;
    for (const Piece& p : pieces) plan.strip_bytes += p.bytes;
    for (size_t i = 0; i < problem_.buffers.size(); ++i) {
      if (members_[i].empty() || in_strip_[i] || problem_.buffers[i].bytes == 0) continue;
      pieces.push_back({{{static_cast<int32_t>(i), 0}}, size(i)});
    }
    // Largest first, each at the lowest offset where nothing alive is.
    std::stable_sort(pieces.begin(), pieces.end(),
                     [](const Piece& a, const Piece& b) { return a.bytes > b.bytes; });
    offsets_.assign(problem_.buffers.size(), 0);
    for (const Piece& p : pieces) plan.bytes = std::max(plan.bytes, put(p) + p.bytes);
    for (size_t i = 0; i < offsets_.size(); ++i) {
      plan.offsets.push_back(offsets_[static_cast<size_t>(leader_[i])]);
    }
    if (problem_.limit > 0 && plan.bytes > problem_.limit) {
      plan.over_limit = plan.bytes - problem_.limit;
    }
    return plan;
  }

 private:
  int64_t size(size_t buffer) const { return aligned(problem_.buffers[buffer].bytes); }

  // Chains of buffers that take one another's memory over are placed as one.
  void find_chains() {
    const auto n = problem_.buffers.size();
    leader_.resize(n);
    std::iota(leader_.begin(), leader_.end(), 0);
    in_strip_.assign(n, 0);
    std::vector<char> replaced(n, 0);
    std::vector<size_t> by_time(n);
    std::iota(by_time.begin(), by_time.end(), size_t{0});
    std::stable_sort(by_time.begin(), by_time.end(), [&](size_t a, size_t b) {
      return problem_.buffers[a].defined < problem_.buffers[b].defined;
    });
    for (size_t i : by_time) {
      const MemoryBuffer& fresh = problem_.buffers[i];
      for (int32_t candidate : fresh.may_replace) {
        const auto c = static_cast<size_t>(candidate);
        if (!problem_.share || replaced[c] || problem_.buffers[c].bytes != fresh.bytes)
          continue;
        if (!dies_at(problem_, problem_.buffers[c], fresh)) continue;
        replaced[c] = 1;
        leader_[i] = leader_[c];
        break;
      }
    }
    members_.assign(n, {});
    for (size_t i : by_time) {
      members_[static_cast<size_t>(leader_[i])].push_back(static_cast<int32_t>(i));
    }
  }

  // What is wanted end to end, as far as no buffer is asked for in two places.
  std::vector<Piece> strips() {
    std::vector<Piece> made;
    Piece piece;
    const auto close = [&] {
      if (piece.parts.size() > 1) {
        made.push_back(piece);
      } else if (!piece.parts.empty()) {
        in_strip_[static_cast<size_t>(piece.parts[0].chain)] = 0;
      }
      piece = {};
    };
    for (const Numbers& strip : problem_.strips) {
      for (const int32_t b : strip) {
        const int32_t chain = leader_[static_cast<size_t>(b)];
        char& taken = in_strip_[static_cast<size_t>(chain)];
        if (taken) {
          close();
          continue;
        }
        taken = 1;
        piece.parts.push_back({chain, piece.bytes});
        piece.bytes += size(static_cast<size_t>(chain));
      }
      close();
    }
    return made;
  }

  bool conflict(int32_t a, int32_t b) const {
    if (!problem_.share) return true;
    for (int32_t x : members_[static_cast<size_t>(a)]) {
      for (int32_t y : members_[static_cast<size_t>(b)]) {
        if (lifetimes_overlap(problem_, x, y)) return true;
      }
    }
    return false;
  }

  // The lowest offset at which every part of the piece is free.
  int64_t put(const Piece& piece) {
    struct Range {
      int64_t begin, end;  // where the piece may not begin, ends not included
    };
    std::vector<Range> forbidden;
    for (const Piece::Part& part : piece.parts) {
      const int64_t bytes = size(static_cast<size_t>(part.chain));
      for (int32_t other : placed_) {
        if (!conflict(part.chain, other)) continue;
        const int64_t at = offsets_[static_cast<size_t>(other)] - part.offset;
        forbidden.push_back({at - bytes, at + size(static_cast<size_t>(other))});
      }
    }
    std::sort(forbidden.begin(), forbidden.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    int64_t at = 0;
    for (const Range& r : forbidden) {
      if (at <= r.begin) break;
      at = std::max(at, r.end);
    }
    for (const Piece::Part& part : piece.parts) {
      offsets_[static_cast<size_t>(part.chain)] = at + part.offset;
      placed_.push_back(part.chain);
    }
    return at;
  }

  const MemoryProblem& problem_;
  std::vector<int32_t> leader_;  // by buffer: first of its chain
  std::vector<Numbers> members_;
  std::vector<char> in_strip_;
  std::vector<int64_t> offsets_;
  Numbers placed_;
};

}  // namespace

MemoryPlan plan_memory(const MemoryProblem& problem) {
  MemoryPlan plain = BufferPlacement(problem).run(false);
  if (problem.strips.empty()) return plain;
  MemoryPlan plan = BufferPlacement(problem).run(true);
  const bool exceeds = plan.over_limit > 0 && plain.over_limit == 0;
  return exceeds || plan.bytes - plain.bytes > plain.bytes / 16 ? plain : plan;
}

}  // namespace tandem
