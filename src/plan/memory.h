// The memory planner: one function from buffers with lifetimes over lanes and a limit to
// offsets, and to the nodes that would have to be inserted (copy out, copy in,
// recompute) to stay below the limit; it inserts none yet. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem {

struct MemoryBuffer {
  int64_t bytes = 0;
  int32_t defined = 0;        // step that writes it
  std::vector<int32_t> uses;  // steps that read it
  /// Takes this buffer's memory over when the sizes agree and `defined` is its last use;
  /// -1: from nobody.
  std::vector<int32_t> may_replace;
};

struct MemoryProblem {
  std::vector<MemoryBuffer> buffers;
  std::vector<int32_t> lane_of_step;
  /// clock[step][lane]: how many steps of that lane are known to have finished when the
  /// step begins.
  std::vector<std::vector<int32_t>> clock;
  std::vector<int32_t> position;  // of a step in its lane, from 1
  int64_t limit = 0;              // bytes, 0: none
  bool share = true;
  /// Buffers that are to lie end to end, in this order: a kernel that goes over all of
  /// them is then one loop. Only what ends at a multiple of kBufferAlignment is followed
  /// by another; the planner asks for no others.
  std::vector<std::vector<int32_t>> strips;
};

struct InsertedNode {
  enum class Kind : uint8_t { kCopyOut, kCopyIn, kRecompute };
  Kind kind = Kind::kCopyOut;
  int32_t buffer = -1;
  int32_t before_step = -1;
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  // by buffer
  std::vector<InsertedNode> inserted;
  int64_t bytes = 0;  // arena
  int64_t over_limit = 0;
  int64_t strip_bytes = 0;  // of buffers that lie end to end as wanted
};

inline constexpr int64_t kBufferAlignment = 64;

/// Strips are given up where they would cost more than a sixteenth of the arena, or
/// exceed a limit that holds without them.
MemoryPlan plan_memory(const MemoryProblem& problem);

/// Whether buffer `a` may still be in use when `b` is written or the other way round.
bool lifetimes_overlap(const MemoryProblem& problem, int32_t a, int32_t b);

}  // namespace tandem
