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

MemoryPlan plan_memory(const MemoryProblem& problem) {
  const auto n = problem.buffers.size();
  MemoryPlan plan;
  plan.offsets.assign(n, 0);

  // Chains of buffers that take one another's memory over are placed as one.
  std::vector<int32_t> leader(n);
  std::iota(leader.begin(), leader.end(), 0);
  std::vector<char> replaced(n, 0);
  std::vector<size_t> by_time(n);
  std::iota(by_time.begin(), by_time.end(), size_t{0});
  std::stable_sort(by_time.begin(), by_time.end(), [&](size_t a, size_t b) {
    return problem.buffers[a].defined < problem.buffers[b].defined;
  });
  for (size_t i : by_time) {
    const MemoryBuffer& fresh = problem.buffers[i];
    for (int32_t candidate : fresh.may_replace) {
      const auto c = static_cast<size_t>(candidate);
      if (!problem.share || replaced[c] || problem.buffers[c].bytes != fresh.bytes)
        continue;
      if (!dies_at(problem, problem.buffers[c], fresh)) continue;
      replaced[c] = 1;
      leader[i] = leader[c];
      break;
    }
  }
  std::vector<std::vector<int32_t>> members(n);
  for (size_t i : by_time) {
    members[static_cast<size_t>(leader[i])].push_back(static_cast<int32_t>(i));
  }

  // Largest first, each at the lowest offset where nothing alive is.
  std::vector<size_t> order;
  for (size_t i = 0; i < n; ++i) {
    if (!members[i].empty() && problem.buffers[i].bytes > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return problem.buffers[a].bytes > problem.buffers[b].bytes;
  });
  const auto conflict = [&](size_t a, size_t b) {
    if (!problem.share) return true;
    for (int32_t x : members[a]) {
      for (int32_t y : members[b]) {
        if (lifetimes_overlap(problem, x, y)) return true;
      }
    }
    return false;
  };
  struct Range {
    int64_t begin, end;
  };
  std::vector<size_t> placed;
  std::vector<Range> busy;
  for (size_t i : order) {
    const int64_t bytes = aligned(problem.buffers[i].bytes);
    busy.clear();
    for (size_t other : placed) {
      if (conflict(i, other)) {
        busy.push_back({plan.offsets[other],
                        plan.offsets[other] + aligned(problem.buffers[other].bytes)});
      }
    }
    std::sort(busy.begin(), busy.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    int64_t at = 0;
    for (const Range& r : busy) {
      if (r.begin - at >= bytes) break;
      at = std::max(at, r.end);
    }
    plan.offsets[i] = at;
    plan.bytes = std::max(plan.bytes, at + bytes);
    placed.push_back(i);
  }
  for (size_t i = 0; i < n; ++i) {
    plan.offsets[i] = plan.offsets[static_cast<size_t>(leader[i])];
  }
  if (problem.limit > 0 && plan.bytes > problem.limit) {
    plan.over_limit = plan.bytes - problem.limit;
  }
  return plan;
}

}  // namespace tandem
