#include "kernels/cuda/running.h"

namespace tandem::cuda {
namespace {

constexpr int64_t kRunningPiece = 4096;  // as in device/running.cuh
constexpr int64_t kOneBlock =
    4 * kRunningPiece;  // numbers that one block scans fast enough

int64_t pieces_of(int64_t n) { return (n + kRunningPiece - 1) / kRunningPiece; }

}  // namespace

std::string running_text() {
  return std::string(device_text("prelude.cuh")) +
         std::string(device_text("running.cuh"));
}

RunningTotals::RunningTotals(Device* device, int64_t most) : most_(most) {
  all_ = find_function(device, "running", running_text(), "scan_all");
  sums_ = find_function(device, "running", running_text(), "sum_pieces");
  pieces_ = find_function(device, "running", running_text(), "scan_pieces");
}

size_t RunningTotals::bytes() const {
  return static_cast<size_t>(most_ + 1 + pieces_of(most_) + 1) * sizeof(int64_t);
}

void RunningTotals::run(const StreamContext& stream, int64_t* data, int64_t n) const {
  if (n <= kOneBlock) {
    launch(all_, stream, Grid{}, data, n);
    return;
  }
  int64_t* const totals = data + most_ + 1;
  const int64_t pieces = pieces_of(n);
  const Grid grid{.x = static_cast<unsigned>(pieces)};
  launch(sums_, stream, grid, data, n, totals);
  launch(all_, stream, Grid{}, totals, pieces);
  launch(pieces_, stream, grid, data, n, totals);
}

}  // namespace tandem::cuda
