// The register tiles of every instruction set this machine has, against float64: odd
// sizes, both ways of storing the operands, ends, and independence of the cut.
#include "kernels/cpu/gemm_tiles.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tandem::cpu {
namespace {

std::vector<const GemmTiles*> all_tiles() {
  std::vector<const GemmTiles*> list = {&TANDEM_BASE_ISA::gemm_tiles()};
#if TANDEM_HAVE_V4
  if (machine_has_v4()) list.push_back(&v4::gemm_tiles());
#endif
  return list;
}

struct Problem {
  int64_t m, n, k;
  bool transpose_a, transpose_b;
  std::vector<float> a, b, bias;

  Problem(int64_t rows, int64_t columns, int64_t depth, bool ta, bool tb,
          std::mt19937_64& random)
      : m(rows), n(columns), k(depth), transpose_a(ta), transpose_b(tb) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (auto [list, size] : {std::pair{&a, m * k}, {&b, k * n}, {&bias, n}}) {
      list->resize(static_cast<size_t>(size));
      for (float& x : *list) x = uniform(random);
    }
  }
  double a_at(int64_t i, int64_t q) const {
    return a[static_cast<size_t>(transpose_a ? q * m + i : i * k + q)];
  }
  double b_at(int64_t q, int64_t j) const {
    return b[static_cast<size_t>(transpose_b ? j * k + q : q * n + j)];
  }
  TileProduct product(float* c) const {
    return {.m = m,
            .n = n,
            .k = k,
            .a = a.data(),
            .b = b.data(),
            .c = c,
            .lda = transpose_a ? m : k,
            .ldb = transpose_b ? k : n,
            .ldc = n,
            .transpose_a = transpose_a,
            .transpose_b = transpose_b};
  }
  /// The rows [row, row + rows) and columns [column, column + columns) alone.
  TileProduct part(float* c, int64_t row, int64_t rows, int64_t column,
                   int64_t columns) const {
    TileProduct p = product(c);
    p.m = rows;
    p.n = columns;
    p.a += row * (transpose_a ? 1 : p.lda);
    p.b += column * (transpose_b ? p.ldb : 1);
    p.c += row * n + column;
    return p;
  }
  std::string name() const {
    return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
           (transpose_a ? " a turned" : "") + (transpose_b ? " b turned" : "");
  }
};

double expected(const Problem& p, int64_t i, int64_t j, const TileEpilogue& e) {
  double sum = e.bias ? e.bias[j] : 0;
  for (int64_t q = 0; q < p.k; ++q) sum += p.a_at(i, q) * p.b_at(q, j);
  switch (e.activation) {
    case TileActivation::kNone:
      return sum;
    case TileActivation::kRelu:
      return std::max(sum, 0.0);
    case TileActivation::kRelu6:
      return std::min(std::max(sum, 0.0), 6.0);
    case TileActivation::kLeakyRelu:
      return sum > 0 ? sum : sum * double{e.alpha};
  }
  return sum;
}

void check(const GemmTiles& tiles, const Problem& p, const TileEpilogue& e) {
  SCOPED_TRACE(p.name() + ", lanes " + std::to_string(tiles.lanes));
  // A frame of canaries around the result shows writes beyond it.
  constexpr float kCanary = 12345;
  constexpr size_t kFrame = 64;
  const auto size = static_cast<size_t>(p.m * p.n);
  std::vector<float> framed(size + 2 * kFrame, kCanary);
  float* c = framed.data() + kFrame;
  TileProduct product = p.product(c);
  product.epilogue = e;
  tiles.run(product);
  for (size_t i = 0; i < kFrame; ++i) {
    ASSERT_EQ(framed[i], kCanary);
    ASSERT_EQ(framed[kFrame + size + i], kCanary);
  }
  const double tolerance = 2e-7 * std::sqrt(static_cast<double>(p.k)) + 1e-6;
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      const double want = expected(p, i, j, e);
      ASSERT_NEAR(c[i * p.n + j], want, tolerance * std::max(4.0, std::abs(want)))
          << i << ", " << j;
    }
  }
}

TEST(GemmTiles, OddSizes) {
  std::mt19937_64 random(17);
  std::uniform_int_distribution<int64_t> side(1, 70);
  for (const GemmTiles* tiles : all_tiles()) {
    for (int round = 0; round < 400; ++round) {
      const Problem p(side(random), side(random), side(random), round & 1, round & 2,
                      random);
      TileEpilogue e;
      if (round & 4) e.bias = p.bias.data();
      e.activation = static_cast<TileActivation>(round / 8 % 4);
      e.alpha = 0.3f;
      check(*tiles, p, e);
    }
  }
}

// More terms than one panel holds, and so many rows that panels are packed.
TEST(GemmTiles, DeepAndTall) {
  std::mt19937_64 random(18);
  for (const GemmTiles* tiles : all_tiles()) {
    for (bool ta : {false, true}) {
      for (bool tb : {false, true}) {
        const Problem deep(9, 37, 700, ta, tb, random),
            tall(301, 83, 131, ta, tb, random);
        check(*tiles, deep, {.bias = deep.bias.data()});
        check(*tiles, tall, {.activation = TileActivation::kRelu});
      }
    }
  }
}

TEST(GemmTiles, BitsDoNotDependOnTheCut) {
  std::mt19937_64 random(19);
  for (const GemmTiles* tiles : all_tiles()) {
    for (int round = 0; round < 40; ++round) {
      std::uniform_int_distribution<int64_t> side(2, 150), depth(1, 400);
      const Problem p(side(random), side(random), depth(random), round & 1, round & 2,
                      random);
      const auto size = static_cast<size_t>(p.m * p.n);
      std::vector<float> whole(size), parts(size, -1);
      tiles->run(p.product(whole.data()));
      const int64_t row = std::uniform_int_distribution<int64_t>(1, p.m - 1)(random);
      const int64_t column = std::uniform_int_distribution<int64_t>(1, p.n - 1)(random);
      float* c = parts.data();
      tiles->run(p.part(c, 0, row, 0, column));
      tiles->run(p.part(c, 0, row, column, p.n - column));
      tiles->run(p.part(c, row, p.m - row, 0, column));
      tiles->run(p.part(c, row, p.m - row, column, p.n - column));
      ASSERT_EQ(std::memcmp(whole.data(), parts.data(), size * sizeof(float)), 0)
          << p.name() << " cut at " << row << ", " << column;
    }
  }
}

TEST(GemmTiles, AddsToTheResult) {
  std::mt19937_64 random(20);
  for (const GemmTiles* tiles : all_tiles()) {
    const Problem p(29, 45, 300, false, true, random);
    const auto size = static_cast<size_t>(p.m * p.n);
    std::vector<float> alone(size), added(size, 3);
    tiles->run(p.product(alone.data()));
    TileProduct product = p.product(added.data());
    product.add = true;
    tiles->run(product);
    for (size_t i = 0; i < size; ++i) ASSERT_NEAR(added[i], 3 + alone[i], 1e-5) << i;
  }
}

// As the elementwise ops: NaN stays, whatever the activation, and -0 becomes 0.
TEST(GemmTiles, NotANumberStays) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> a = {1}, b = {nan, infinity, -infinity, -0.f, 7, -2};
  for (const GemmTiles* tiles : all_tiles()) {
    for (auto activation :
         {TileActivation::kRelu, TileActivation::kRelu6, TileActivation::kLeakyRelu}) {
      std::vector<float> c(b.size());
      TileProduct p{.m = 1, .n = 6, .k = 1, .a = a.data(), .b = b.data(), .c = c.data()};
      p.lda = 1;
      p.ldb = p.ldc = 6;
      p.epilogue = {.activation = activation, .alpha = 0.5f};
      tiles->run(p);
      const bool six = activation == TileActivation::kRelu6;
      const bool leaky = activation == TileActivation::kLeakyRelu;
      EXPECT_TRUE(std::isnan(c[0]));
      EXPECT_EQ(c[1], six ? 6 : infinity);
      EXPECT_EQ(c[2], leaky ? -infinity : 0);
      EXPECT_EQ(c[3], 0);
      EXPECT_EQ(c[4], six ? 6 : 7);
      EXPECT_EQ(c[5], leaky ? -1 : 0);
    }
  }
}

}  // namespace
}  // namespace tandem::cpu
