// Which copies go through tiles, in tiles of what shape, and that their texts compile.
#include <gtest/gtest.h>

#include "kernels/cuda/compiler.h"
#include "kernels/cuda/strided_copy.h"

namespace tandem::cuda {
namespace {

// A matrix [rows, cols] that becomes [cols, rows].
std::vector<CopyDim> turned(int64_t rows, int64_t cols) {
  return {{cols, 1, rows}, {rows, cols, 1}};
}

TEST(TileCopy, LargePlanesUseVectorsWhereAllSizesAllow) {
  const auto p = find_planes(4, turned(1024, 512), true);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->rows, 1024);
  EXPECT_EQ(p->cols, 512);
  EXPECT_EQ(p->tile.vector, 2);
  EXPECT_EQ(p->tiles(), 16 * 8);
  EXPECT_EQ(find_planes(1, turned(1024, 512), true)->tile.rows, 128);
  EXPECT_EQ(find_planes(2, turned(1024, 512), true)->tile.vector, 2);
  // Odd sizes, an odd address, elements as wide as a vector.
  EXPECT_EQ(find_planes(4, turned(1023, 512), true)->tile.vector, 1);
  EXPECT_EQ(find_planes(4, turned(1024, 512), false)->tile.vector, 1);
  EXPECT_EQ(find_planes(8, turned(1024, 512), true)->tile.vector, 1);
}

TEST(TileCopy, NarrowPlanesGetLongTiles) {
  const auto images = find_planes(4, turned(224 * 224, 3), true);  // NHWC to NCHW
  ASSERT_TRUE(images);
  EXPECT_EQ(images->tile.cols, 4);
  EXPECT_EQ(images->tile.rows, 256);
  EXPECT_EQ(images->tiles(), 224 * 224 / 256);
  const auto back = find_planes(4, turned(3, 224 * 224), true);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->tile.rows, 4);
  EXPECT_EQ(back->tile.cols, 256);
}

TEST(TileCopy, OtherDimensionsAreTheBatch) {
  // [8, 64, 5, 32] to [8, 5, 32, 64].
  const CopyDim dims[] = {
      {8, 64 * 160, 64 * 160}, {5, 32, 64 * 32}, {32, 1, 64}, {64, 160, 1}};
  const auto p = find_planes(4, dims, true);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->batch.size(), 2u);
  EXPECT_EQ(p->tiles(), 8 * 5);
}

TEST(TileCopy, RunsSmallPlanesAndRepeatsDoNotPay) {
  const CopyDim rows[] = {{64, 128, 256}, {64, 1, 1}};
  EXPECT_FALSE(find_planes(4, rows, true));
  EXPECT_FALSE(find_planes(4, turned(20, 30), true));
  EXPECT_FALSE(find_planes(4, turned(40, 50), true));  // few elements
  const CopyDim repeated[] = {{64, 1, 512}, {512, 0, 1}};
  EXPECT_FALSE(find_planes(4, repeated, true));
}

TEST(TileCopy, EveryTextCompiles) {
  const TileShape shapes[] = {{1, 32, 32}, {1, 256, 4}, {1, 8, 128}};
  for (int arch : {75, 80, 90}) {
    for (size_t element : {1, 2, 4, 8, 16}) {
      const int v = tile_vector(element);
      const TileShape whole{v, 32 * v, 32 * v};
      const std::string prefix = copy_prefix(element, element == 4);
      EXPECT_NO_THROW(compile("transpose", transpose_text(prefix, 2, whole), arch));
      EXPECT_NO_THROW(
          compile("transpose", transpose_text(prefix, 0, shapes[element % 3]), arch));
    }
    for (size_t element : {8, 16}) {
      const auto conjugate = StridedCopy::Change::kConjugate;
      EXPECT_NO_THROW(compile("move", move_text(element, 2, false, conjugate), arch));
      EXPECT_NO_THROW(
          compile("transpose",
                  transpose_text(copy_prefix(element, false, conjugate), 1, {}), arch));
    }
  }
}

}  // namespace
}  // namespace tandem::cuda
