// Which steps of a captured run come after which: those that touch the same bytes, one of
// them writing. The plan's order is one such order; the device may find a faster one.
#include <algorithm>

#include "device/operand_address.h"
#include "run/executable_frame.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

struct Range {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  bool writes = false;
};

bool conflict(const Range& a, const Range& b) {
  return (a.writes || b.writes) && a.begin < b.end && b.begin < a.end;
}
bool conflict(const std::vector<Range>& a, const std::vector<Range>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Range& x) {
    return std::any_of(b.begin(), b.end(),
                       [&](const Range& y) { return conflict(x, y); });
  });
}

// Pairs of steps are compared: longer runs are cut, and a piece comes after all of the
// piece before.
constexpr size_t kPiece = 256;

}  // namespace

// Kernels have what stands for an operand's address while they are recorded, copies the
// address itself: both are the same bytes.
const std::byte* Executable::real_address(const Frame& f, const Segment& segment,
                                          const void* p) {
  const auto word = reinterpret_cast<uint64_t>(p);
  if (!operand_address::is(word)) return static_cast<const std::byte*>(p);
  const Segment::Operand& o =
      segment.operands[static_cast<size_t>(operand_address::number(word))];
  const void* const base = o.result ? f.results[o.number] : f.parameters[o.number];
  return static_cast<const std::byte*>(base) + operand_address::offset(word);
}

std::vector<std::vector<int32_t>> Executable::step_order(const Frame& f,
                                                         const Segment& segment) const {
  const size_t count = segment.end - segment.begin;
  std::vector<std::vector<Range>> ranges(count);
  std::vector<char> may_fail(count, 0), updates(count, 0);
  for (size_t i = 0; i < count; ++i) {
    const Step& step = steps_[segment.begin + i];
    const Node& n = graph_.node(step.node);
    const auto add = [&](void* p, int64_t bytes, bool writes) {
      const std::byte* const at = real_address(f, segment, p);
      if (at && bytes > 0) ranges[i].push_back({at, at + bytes, writes});
    };
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      if (!n.inputs[k].defined()) continue;
      const ValueInfo& info = graph_.info(n.inputs[k]);
      // A variable itself: its kernel may write it.
      updates[i] |= info.state;
      add(f.table[step.in + k], checked_bytes(info.dtype, info.shape), info.state);
    }
    for (size_t o = 0; o < n.outputs.size(); ++o) {
      const ValueInfo& info = n.outputs[o];
      if (!info.state) {
        add(f.table[step.out + o], checked_bytes(info.dtype, info.shape), true);
      }
    }
    if (step.workspace != Step::kNoSlot) {
      add(f.table[step.workspace], static_cast<int64_t>(step.prepared->workspace_bytes),
          true);
    }
    may_fail[i] = step.conditional || (n.op && (n.op->effects & kMayFail) != 0);
    updates[i] |= step.guarded;
  }
  std::vector<std::vector<int32_t>> order(count);
  std::vector<char> has_later(count, 0);
  for (size_t piece = 0; piece < count; piece += kPiece) {
    const size_t end = std::min(count, piece + kPiece);
    // Of the piece before: what nobody there comes after.
    std::vector<int32_t> roots;
    for (size_t i = piece < kPiece ? piece : piece - kPiece; i < piece; ++i) {
      if (!has_later[i]) roots.push_back(static_cast<int32_t>(i));
    }
    std::vector<std::vector<bool>> reached(end - piece);
    for (size_t i = piece; i < end; ++i) {
      std::vector<bool>& before = reached[i - piece];
      before.assign(end - piece, false);
      for (size_t j = i; j-- > piece;) {
        if (before[j - piece]) continue;
        // What writes a variable looks whether something has failed.
        const bool looks = updates[i] && may_fail[j];
        if (!looks && !conflict(ranges[i], ranges[j])) continue;
        order[i].push_back(static_cast<int32_t>(j));
        has_later[j] = 1;
        before[j - piece] = true;
        for (size_t b = 0; b < end - piece; ++b) {
          if (reached[j - piece][b]) before[b] = true;
        }
      }
      if (order[i].empty()) order[i] = roots;
    }
  }
  return order;
}

}  // namespace tandem
