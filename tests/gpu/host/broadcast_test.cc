// Geometry with answers worked out by hand.
#include "kernels/cuda/broadcast.h"

#include <gtest/gtest.h>

#include "kernels/common/matmul_geometry.h"
#include "op/emitter.h"
#include "tandem/ops/linalg.h"

namespace tandem::cuda {
namespace {

using List = std::vector<int64_t>;

TEST(Broadcast, EqualShapesAreOneRun) {
  const Shape shapes[] = {{2, 3, 4}, {2, 3, 4}};
  const Geometry g = broadcast_geometry({2, 3, 4}, shapes);
  EXPECT_EQ(g.dims, (List{24}));
  EXPECT_TRUE(g.contiguous(0) && g.contiguous(1));
  EXPECT_FALSE(g.single(0));
}
TEST(Broadcast, AScalarIsSingle) {
  const Shape shapes[] = {{2, 3}, {}, {1, 1}};
  const Geometry g = broadcast_geometry({2, 3}, shapes);
  EXPECT_EQ(g.dims, (List{6}));
  EXPECT_TRUE(g.single(1) && g.single(2));
}
TEST(Broadcast, ARowAndAColumn) {
  const Shape shapes[] = {{3}, {2, 1}};
  const Geometry g = broadcast_geometry({2, 3}, shapes);
  EXPECT_EQ(g.dims, (List{2, 3}));
  EXPECT_EQ(g.strides[0], (List{0, 1}));
  EXPECT_EQ(g.strides[1], (List{1, 0}));
}
TEST(Broadcast, TheMiddleRepeats) {
  const Shape shapes[] = {{4, 1, 5, 6}, {4, 3, 5, 6}};
  const Geometry g = broadcast_geometry({4, 3, 5, 6}, shapes);
  EXPECT_EQ(g.dims, (List{4, 3, 30}));
  EXPECT_EQ(g.strides[0], (List{30, 0, 1}));
  EXPECT_EQ(g.strides[1], (List{90, 30, 1}));
}
TEST(Broadcast, LargeTensorsNeedWideIndices) {
  const Shape shapes[] = {{1 << 20, 1 << 12}};
  EXPECT_TRUE(broadcast_geometry({1 << 20, 1 << 12}, shapes).wide);
  const Shape small[] = {{1 << 10, 1 << 12}};
  EXPECT_FALSE(broadcast_geometry({1 << 10, 1 << 12}, small).wide);
}

MatMulGeometry shape_of(const Shape& a, const Shape& b, const Shape& out,
                        MatMulAttrs attrs) {
  std::vector<TensorInfo> in(2), outs(1);
  in[0].dtype = in[1].dtype = outs[0].dtype = DType::kFloat32;
  in[0].shape = a;
  in[1].shape = b;
  outs[0].shape = out;
  Signature s;
  s.op = &OpTable::get().at("MatMul");
  s.attrs = attrs_ref(attrs);
  s.inputs = in;
  s.outputs = outs;
  return matmul_geometry(s, s.attrs.as<MatMulAttrs>());
}
TEST(MatMulShapes, ABatchOfRowsIsOneProduct) {
  const MatMulGeometry m = shape_of({5, 2, 3}, {3, 4}, {5, 2, 4}, {});
  EXPECT_EQ(m.m, 10);
  EXPECT_EQ(m.batch, 1);
}
TEST(MatMulShapes, PartlyBroadcastBatchesHaveOffsets) {
  const MatMulGeometry m = shape_of({2, 1, 3, 4}, {2, 5, 4, 6}, {2, 5, 3, 6}, {});
  EXPECT_EQ(m.batch, 10);
  EXPECT_FALSE(m.regular());
  EXPECT_EQ(m.a_offset(0), 0);
  EXPECT_EQ(m.a_offset(4), 0);
  EXPECT_EQ(m.a_offset(5), 12);
  EXPECT_EQ(m.b_offset(9), 9 * 24);
}
TEST(MatMulShapes, StoredRowsOfTransposedOperands) {
  const MatMulGeometry m =
      shape_of({3, 2}, {4, 3}, {2, 4}, {.transpose_a = true, .transpose_b = true});
  EXPECT_EQ(m.m, 2);
  EXPECT_EQ(m.k, 3);
  EXPECT_EQ(m.n, 4);
  EXPECT_EQ(m.lda, 2);
  EXPECT_EQ(m.ldb, 3);
}

}  // namespace
}  // namespace tandem::cuda
