#include <array>
#include <utility>

#include "kernels/cpu/gemm_pack_isa.h"
#include "kernels/cpu/gemm_tiles.h"

namespace tandem::cpu::TANDEM_ISA {

namespace {

constexpr int kVectorLanes = Vector::kLanes;
// Vectors side by side in a tile, and rows of a tile of that many: as many sums as leave
// registers for a row of B and one number of A. Eight keep two multipliers busy.
constexpr int kMaxVectors = 4;
constexpr int max_tile_rows(int vectors) {
  constexpr int kMost[2][kMaxVectors] = {{12, 6, 3, 2}, {12, 8, 8, 6}};
  return kMost[Vector::kRegisters == 32][vectors - 1];
}
constexpr int kMaxRows = 12;
/// Vectors of a tile for products of m rows. Few rows take wide tiles to have enough
/// sums.
constexpr int vectors_for(int64_t m) {
  return Vector::kRegisters == 32 || m <= 2 ? 4 : m == 3 ? 3 : 2;
}
constexpr int kNear = 6;  // rows of A that are addressed from one pointer
// A panel of B for this many terms stays in the L1 cache while the rows of A pass.
constexpr int64_t kDepth = Vector::kRegisters == 32 ? 128 : 256;
// Row blocks that use a panel before packing it pays.
constexpr int64_t kPackBlocks = 12;

struct Tile {
  const float* a;
  const float* b;
  float* c;
  int64_t lda, ldb, ldc;
  int64_t depth;
  Vector::Mask mask;  // columns of the last vector
  bool add;           // to what C holds
  bool last;          // no terms follow: the epilogue is due
  const float* bias;
  const TileEpilogue* epilogue;
};

template <int kVectors, bool kPartial>
Vector load_at(const float* p, int v, Vector::Mask mask) {
  return kPartial && v == kVectors - 1 ? Vector::load(p + v * kVectorLanes, mask)
                                       : Vector::load(p + v * kVectorLanes);
}

template <int kRows, int kVectors>
using Sums = Vector[kRows][kVectors];

// Inlined by force: the sums stay in registers.
template <int kRows, int kVectors, bool kPartial>
[[gnu::always_inline]] inline void finish(const Tile& t, Sums<kRows, kVectors>& sums) {
  if (t.bias) {
#pragma GCC unroll 12
    for (int v = 0; v < kVectors; ++v) {
      const Vector bias = load_at<kVectors, kPartial>(t.bias, v, t.mask);
#pragma GCC unroll 12
      for (int r = 0; r < kRows; ++r) sums[r][v] = sums[r][v] + bias;
    }
  }
  const auto each = [&](auto f) __attribute__((always_inline)) {
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 12
      for (int v = 0; v < kVectors; ++v) sums[r][v] = f(sums[r][v]);
    }
  };
  const auto relu = [](Vector x) {
    return x.template positive_else<true>(x, Vector::zero());
  };
  switch (t.epilogue->activation) {
    case TileActivation::kNone:
      return;
    case TileActivation::kRelu:
      return each(relu);
    case TileActivation::kRelu6: {
      const Vector six = Vector::all(6);
      return each([=](Vector x) { return relu(x).at_most(six); });
    }
    case TileActivation::kLeakyRelu: {
      const Vector alpha = Vector::all(t.epilogue->alpha);
      return each(
          [=](Vector x) { return x.template positive_else<false>(x, x * alpha); });
    }
  }
}

// kTurned: A is stored transposed, and the numbers of one term lie side by side.
template <int kRows, int kVectors, bool kTurned, bool kPartial>
void run_tile(const Tile& t) {
  Sums<kRows, kVectors> sums;
  constexpr int kFar = (kRows + kNear - 1) / kNear;
  const float* a[kFar];
#pragma GCC unroll 12
  for (int f = 0; f < kFar; ++f) a[f] = t.a + f * kNear * (kTurned ? 1 : t.lda);
  const int64_t a_row = kTurned ? 1 : t.lda, a_step = kTurned ? t.lda : 1;
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 12
    for (int v = 0; v < kVectors; ++v) sums[r][v] = Vector::zero();
  }
  const float* b = t.b;
  for (int64_t q = 0; q < t.depth; ++q, b += t.ldb) {
    Vector row[kVectors];
#pragma GCC unroll 12
    for (int v = 0; v < kVectors; ++v) row[v] = load_at<kVectors, kPartial>(b, v, t.mask);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const Vector x = Vector::all(a[r / kNear][r % kNear * a_row]);
#pragma GCC unroll 12
      for (int v = 0; v < kVectors; ++v) sums[r][v].add_product(x, row[v]);
    }
#pragma GCC unroll 12
    for (int f = 0; f < kFar; ++f) a[f] += a_step;
  }
  if (t.add) {
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 12
      for (int v = 0; v < kVectors; ++v) {
        sums[r][v] = load_at<kVectors, kPartial>(t.c + r * t.ldc, v, t.mask) + sums[r][v];
      }
    }
  }
  if (t.last) finish<kRows, kVectors, kPartial>(t, sums);
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 12
    for (int v = 0; v < kVectors; ++v) {
      float* to = t.c + r * t.ldc + v * kVectorLanes;
      if (kPartial && v == kVectors - 1) {
        sums[r][v].store(to, t.mask);
      } else {
        sums[r][v].store(to);
      }
    }
  }
}

using TileFn = void (*)(const Tile&);
using TileFns = std::array<TileFn, kMaxRows>;

template <int kVectors, bool kTurned, bool kPartial, int... kRow>
constexpr TileFns fns_of(std::integer_sequence<int, kRow...>) {
  return {run_tile<kRow + 1, kVectors, kTurned, kPartial>...};
}
template <int kVectors>
constexpr std::array<TileFns, 4> fns_of() {
  constexpr auto rows = std::make_integer_sequence<int, max_tile_rows(kVectors)>();
  return {fns_of<kVectors, false, false>(rows), fns_of<kVectors, false, true>(rows),
          fns_of<kVectors, true, false>(rows), fns_of<kVectors, true, true>(rows)};
}
template <int... kVector>
constexpr std::array<std::array<TileFns, 4>, kMaxVectors> all_fns(
    std::integer_sequence<int, kVector...>) {
  return {fns_of<kVector + 1>()...};
}
/// By vectors - 1, then 2 * turned + partial, then rows - 1.
constexpr auto kTileFns = all_fns(std::make_integer_sequence<int, kMaxVectors>());

/// [0, n) in the fewest parts of at most `most`, as equal as can be.
struct Parts {
  int64_t n, count;
  Parts(int64_t size, int64_t most) : n(size), count((size + most - 1) / most) {}
  int64_t begin(int64_t i) const { return n * i / count; }
};

/// The activation that is not for registers, over a tile in the L1 cache. Rows that
/// follow each other go in one call.
void apply_block(const TileProduct& p, float* c, int64_t rows, int64_t columns) {
  const bool joined = columns == p.ldc;
  const int64_t calls = joined ? 1 : rows, n = joined ? rows * columns : columns;
  for (int64_t i = 0; i < calls; ++i, c += p.ldc) {
    const void* in[] = {c};
    p.epilogue.block(in, c, n, p.epilogue.params);
  }
}

/// Some columns of a product, a few vectors wide.
void run_panel(const TileProduct& p, int64_t column, int64_t columns, float* packed) {
  const auto vectors = static_cast<int>((columns + kVectorLanes - 1) / kVectorLanes);
  const bool partial = columns % kVectorLanes != 0;
  const int64_t width = int64_t{vectors} * kVectorLanes;
  const auto& fns = kTileFns[static_cast<size_t>(vectors - 1)]
                            [static_cast<size_t>(2 * p.transpose_a + partial)];
  const Parts rows(p.m, max_tile_rows(vectors)), blocks(p.k, kDepth);
  const bool pack = p.transpose_b || rows.count >= kPackBlocks;
  Tile t = {.a = nullptr,
            .b = nullptr,
            .c = nullptr,
            .lda = p.lda,
            .ldb = pack ? width : p.ldb,
            .ldc = p.ldc,
            .depth = 0,
            .mask = Vector::first(columns - (vectors - 1) * kVectorLanes),
            .add = false,
            .last = false,
            .bias = p.epilogue.bias ? p.epilogue.bias + column : nullptr,
            .epilogue = &p.epilogue};
  for (int64_t block = 0; block < blocks.count; ++block) {
    const int64_t q = blocks.begin(block);
    t.depth = blocks.begin(block + 1) - q;
    t.add = p.add || block > 0;
    t.last = block + 1 == blocks.count;
    t.b = p.b + (p.transpose_b ? column * p.ldb + q : q * p.ldb + column);
    if (pack) {
      const Panel panel{t.b, p.ldb, t.depth, columns, width};
      p.transpose_b ? pack_columns(panel, packed) : pack_rows(panel, packed);
      t.b = packed;
    }
    for (int64_t i = 0; i < rows.count; ++i) {
      const int64_t row = rows.begin(i), count = rows.begin(i + 1) - row;
      t.a = p.a + (p.transpose_a ? q * p.lda + row : row * p.lda + q);
      t.c = p.c + row * p.ldc + column;
      fns[static_cast<size_t>(count - 1)](t);
      if (t.last && p.epilogue.block) apply_block(p, t.c, count, columns);
    }
  }
}

void run(const TileProduct& p) {
  alignas(64) float packed[kDepth * kMaxVectors * kVectorLanes];
  const Parts panels((p.n + kVectorLanes - 1) / kVectorLanes, vectors_for(p.m));
  for (int64_t i = 0; i < panels.count; ++i) {
    const int64_t begin = panels.begin(i) * kVectorLanes;
    run_panel(p, begin, std::min(panels.begin(i + 1) * kVectorLanes, p.n) - begin,
              packed);
  }
}

}  // namespace

const GemmTiles& gemm_tiles() {
  static constexpr GemmTiles table = {run, kVectorLanes, kVectorLanes == 16 ? 1e5 : 5e4};
  return table;
}

}  // namespace tandem::cpu::TANDEM_ISA
