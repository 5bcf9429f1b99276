#include "kernels/cuda/compact.h"

namespace tandem::cuda {

namespace {
constexpr int64_t kCompactTile = 2048;  // as in device/compact.cuh
}  // namespace

Compaction::Compaction(const Signature& s, const std::string& text, int64_t n)
    : n_(n), tiles_((n + kCompactTile - 1) / kCompactTile) {
  if (n == 0) return;
  count_ = find_function(s.device, s.op->name, text, "count_kept");
  place_ = find_function(s.device, s.op->name, text, "place_kept");
  totals_ = RunningTotals(s.device, tiles_);
}

}  // namespace tandem::cuda
