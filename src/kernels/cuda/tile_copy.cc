#include "kernels/cuda/tile_copy.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "kernels/cuda/program.h"

namespace tandem::cuda {
namespace {

// Below this the compiled kernel costs more than the tiles gain.
constexpr int64_t kFewElements = 4096;

int64_t rounded_quotient(int64_t n, int64_t by) { return (n + by - 1) / by; }

}  // namespace

int64_t PlaneCopy::tiles() const {
  int64_t n = rounded_quotient(rows, tile.rows) * rounded_quotient(cols, tile.cols);
  for (const CopyDim& d : batch) n *= d.n;
  return n;
}

int tile_vector(size_t element) { return element == 1 ? 4 : element <= 4 ? 2 : 1; }

std::optional<PlaneCopy> find_planes(size_t element, std::span<const CopyDim> dims,
                                     bool vectors) {
  PlaneCopy p;
  const auto written =
      std::find_if(dims.begin(), dims.end(), [](const CopyDim& d) { return d.out == 1; });
  const auto read =
      std::find_if(dims.begin(), dims.end(), [](const CopyDim& d) { return d.in == 1; });
  if (written == dims.end() || read == dims.end() || written == read) return {};
  if (written->in == 0) return {};  // one element many times
  p.rows = written->n;
  p.row_in = written->in;
  p.cols = read->n;
  p.col_out = read->out;
  int64_t total = p.rows * p.cols;
  for (auto d = dims.begin(); d != dims.end(); ++d) {
    if (d == written || d == read) continue;
    p.batch.push_back(*d);
    total *= d->n;
  }
  // Small planes lie together in few lines of the cache as they are.
  if (std::max(p.rows, p.cols) < 32 || total < kFewElements) return {};

  const int64_t v = tile_vector(element);
  const auto divides = [v](int64_t n) { return n % v == 0; };
  if (vectors && v > 1 && std::min(p.rows, p.cols) >= 16 * v && divides(p.rows) &&
      divides(p.cols) && divides(p.row_in) && divides(p.col_out) &&
      std::all_of(p.batch.begin(), p.batch.end(),
                  [&](const CopyDim& d) { return divides(d.in) && divides(d.out); })) {
    p.tile = {static_cast<int>(v), static_cast<int>(32 * v), static_cast<int>(32 * v)};
    return p;
  }
  // As narrow as the plane, and longer for it.
  const int side = element <= 2 ? 64 : 32;
  const auto width = [side](int64_t n) {
    return n >= side ? side
                     : static_cast<int>(
                           std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(n, 2))));
  };
  p.tile.cols = width(p.cols);
  p.tile.rows = p.tile.cols < side ? side * side / p.tile.cols : width(p.rows);
  if (p.tile.rows < side) p.tile.cols = side * side / p.tile.rows;
  return p;
}

std::string transpose_text(const std::string& prefix, int batch_rank,
                           const TileShape& tile) {
  return prefix +
         fmt::format(
             "#define BATCH {}\n#define VECTOR {}\n#define TR {}\n#define TC {}\n",
             batch_rank, tile.vector, tile.rows, tile.cols) +
         std::string(device_text("transpose.cuh"));
}

}  // namespace tandem::cuda
