#include "kernels/cpu/fused_micro.h"

#include <algorithm>
#include <cstring>

namespace tandem::cpu {

namespace {

template <MicroFn MicroFns::* kCount>
void run_steps(const MicroRun& run, float* const* p) {
  for (const MicroStep& s : run.steps) {
    (s.run.*kCount)(p[s.in[0]], p[s.in[1]], p[s.in[2]], p[s.out]);
  }
}

// For a few elements: a call of memcpy would take longer.
void copy(const float* from, float* to, int64_t n) {
  for (; n >= 8; n -= 8, from += 8, to += 8) std::memcpy(to, from, 8 * sizeof(float));
  for (; n > 0; --n) *to++ = *from++;
}

}  // namespace

const MicroEntry* find_micro(std::string_view op, size_t operands) {
  for (const MicroEntry& e : best::fused_micro().entries) {
    if (e.op == op && e.operands == static_cast<int>(operands)) return &e;
  }
  return nullptr;
}

const MicroEntry* join_micro(const MicroEntry& first, const MicroEntry& second,
                             size_t operand) {
  const auto i = static_cast<size_t>(first.join), j = static_cast<size_t>(second.join);
  if (i >= kMicroFirst || j >= kMicroSecond || operand > 1) return nullptr;
  return &best::fused_micro().joined[i][j][operand];
}

void run_micro(const MicroRun& run, std::byte* const* slots, std::byte* scratch,
               int64_t n) {
  float* p[kMicroPointers];
  auto* locals = reinterpret_cast<float*>(scratch);
  for (size_t i = 0; i < run.pointers.size(); ++i) {
    const MicroPointer& pointer = run.pointers[i];
    p[i] = pointer.kind == MicroPointer::Kind::kLocal
               ? locals + pointer.slot * kMicroTile
               : reinterpret_cast<float*>(slots[pointer.slot]);
  }
  for (; n >= kMicroTile; n -= kMicroTile) {
    run_steps<&MicroFns::tile>(run, p);
    for (size_t i = 0; i < run.moving; ++i) p[i] += kMicroTile;
  }
  for (; n >= kMicroTail; n -= kMicroTail) {
    run_steps<&MicroFns::tail>(run, p);
    for (size_t i = 0; i < run.moving; ++i) p[i] += kMicroTail;
  }
  if (n == 0) return;
  // The last elements go through copies, so that nothing beyond them is touched.
  float* q[kMicroPointers];
  std::copy_n(p, run.pointers.size(), q);
  float* copies = locals + static_cast<int64_t>(run.locals) * kMicroTile;
  for (size_t i = 0; i < run.moving; ++i, copies += kMicroTail) {
    q[i] = copies;
    if (run.pointers[i].read) copy(p[i], q[i], n);
  }
  run_steps<&MicroFns::tail>(run, q);
  for (size_t i = 0; i < run.moving; ++i) {
    if (run.pointers[i].written) copy(q[i], p[i], n);
  }
}

}  // namespace tandem::cpu
