// Math functions of our own (kernels/cpu/vector_math.h): the same bits with every
// instruction set, wherever in a block an element stands, and over its own memory.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/cpu/elementwise_families.h"
#include "kernels/cpu/nn_isa.h"

namespace tandem::cpu {
namespace {

// Any finite numbers, angles up to 2^20, and what has no number as a result.
template <class T>
std::vector<T> arguments(size_t n) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  std::mt19937_64 random(7);
  std::vector<T> list;
  constexpr T kInfinite = std::numeric_limits<T>::infinity();
  for (T x : {T(0), -T(0), T(1), T(-1), kInfinite, -kInfinite,
              std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::max(),
              std::numeric_limits<T>::denorm_min()}) {
    list.push_back(x);
  }
  std::uniform_real_distribution<double> usual(-20, 20), angle(-1048576, 1048576);
  while (list.size() < n) {
    list.push_back(static_cast<T>(usual(random)));
    list.push_back(static_cast<T>(angle(random)));
    const auto bits = static_cast<Bits>(random());
    T any;
    std::memcpy(&any, &bits, sizeof any);
    if (std::isfinite(any)) list.push_back(any);
  }
  list.resize(n);
  return list;
}

template <class T>
std::vector<T> run(const BlockTable& table, const char* op, const std::vector<T>& x) {
  std::vector<T> out(x.size());
  const void* in[] = {x.data()};
  table.find(op, dtype_of<T>)
      ->variants[0](in, out.data(), static_cast<int64_t>(x.size()), {});
  return out;
}

template <class T>
void expect_same_bits(const std::vector<T>& a, const std::vector<T>& b,
                      const std::vector<T>& x, const char* op) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    ASSERT_EQ(std::memcmp(&a[i], &b[i], sizeof(T)), 0)
        << op << " of " << x[i] << ": " << a[i] << " and " << b[i];
  }
}

constexpr const char* kFloat[] = {"Exp", "Log", "Cosh", "Tan"};
constexpr const char* kDouble[] = {"Exp", "Log", "Cosh", "Tan",
                                   "Sin", "Cos", "Asin", "Acos"};

// Ends of blocks are padded; `out` may be the operand.
template <class T>
void check_places(const char* op) {
  const std::vector<T> x = arguments<T>(3000);
  const std::vector<T> whole = run(block_table(), op, x);
  for (size_t begin : {1, 7, 250}) {
    for (size_t n : {1, 5, 16, 17, 300}) {
      const std::vector<T> part(x.begin() + static_cast<std::ptrdiff_t>(begin),
                                x.begin() + static_cast<std::ptrdiff_t>(begin + n));
      const std::vector<T> expected(
          whole.begin() + static_cast<std::ptrdiff_t>(begin),
          whole.begin() + static_cast<std::ptrdiff_t>(begin + n));
      expect_same_bits(run(block_table(), op, part), expected, part, op);
      std::vector<T> over = part;
      const void* in[] = {over.data()};
      block_table()
          .find(op, dtype_of<T>)
          ->variants[0](in, over.data(), static_cast<int64_t>(n), {});
      expect_same_bits(over, expected, part, op);
    }
  }
}

TEST(VectorMath, AnElementHasTheSameBitsWhereverItStands) {
  for (const char* op : kFloat) check_places<float>(op);
  for (const char* op : kDouble) check_places<double>(op);
}

TEST(VectorMath, InstructionSetsHaveTheSameBits) {
#if TANDEM_HAVE_V3 && TANDEM_HAVE_V4
  if (!machine_has_v4()) GTEST_SKIP() << "this processor has no AVX-512";
  BlockTable v3_blocks, v4_blocks;
  v3::add_math_blocks(v3_blocks);
  v4::add_math_blocks(v4_blocks);
  const std::vector<float> x = arguments<float>(100000);
  for (const char* op : kFloat) {
    expect_same_bits(run(v3_blocks, op, x), run(v4_blocks, op, x), x, op);
  }
  const std::vector<double> y = arguments<double>(100000);
  for (const char* op : kDouble) {
    expect_same_bits(run(v3_blocks, op, y), run(v4_blocks, op, y), y, op);
  }
#else
  GTEST_SKIP() << "built for one instruction set";
#endif
}

TEST(VectorMath, NumbersAtTheEdges) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> x{0.0, -0.0, inf, -inf, 1e308, -1.0, 709.7, 710.0, -745.2};
  const auto of = [&](const char* op) { return run(block_table(), op, x); };
  const std::vector<double> e = of("Exp"), l = of("Log"), s = of("Sin"), c = of("Cosh");
  EXPECT_EQ(e[2], inf);
  EXPECT_EQ(e[3], 0);
  EXPECT_EQ(e[7], inf);
  EXPECT_EQ(e[8], 0);
  EXPECT_LT(e[6], inf);
  EXPECT_EQ(l[0], -inf);
  EXPECT_EQ(l[1], -inf);
  EXPECT_EQ(l[2], inf);
  EXPECT_TRUE(std::isnan(l[3]) && std::isnan(l[5]));
  EXPECT_TRUE(std::signbit(s[1]) && !std::signbit(s[0]));
  EXPECT_TRUE(std::isnan(s[2]) && std::isnan(s[3]));
  EXPECT_EQ(s[4], std::sin(1e308));
  EXPECT_EQ(c[3], inf);
  EXPECT_LT(c[7], inf);
}

}  // namespace
}  // namespace tandem::cpu
