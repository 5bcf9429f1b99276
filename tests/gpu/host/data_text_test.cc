// The texts of kernels that move, repeat, pad and reduce parts of tensors compile for
// every kind of element on every architecture that is supported.
#include <gtest/gtest.h>

#include "kernels/cuda/compiler.h"
#include "kernels/cuda/host_words.h"
#include "kernels/cuda/running.h"
#include "kernels/cuda/sorted_segments.h"

namespace tandem::cuda {

std::string bincount_text(DType values, DType bins);
std::string blocks_text(size_t element, int spatial, bool wide_index);
std::string histogram_text(DType values, DType bins);
std::string invert_text(DType index);
std::string mirror_text(const char* type, int rank, bool wide_index, bool fold);
std::string partition_text();
std::string repeat_text(size_t element);
std::string slices_text(DType dtype, DType index, const char* end);
std::string stitch_text(size_t element);
std::string where_text(DType dtype, int rank);

namespace {

class DataTexts : public ::testing::TestWithParam<int> {
 protected:
  static void expect_compiles(const std::string& name, const std::string& text) {
    try {
      EXPECT_GT(compile(name, text, GetParam()).code.size(), 0u) << name;
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Architectures, DataTexts, ::testing::Values(75, 80, 90));

TEST_P(DataTexts, MovesCompile) {
  for (size_t element : {1, 2, 4, 8, 16}) {
    expect_compiles("blocks", blocks_text(element, static_cast<int>(element % 3), false));
    expect_compiles("mirror", mirror_text(bits_text(element), 3, element == 2, false));
    expect_compiles("repeat", repeat_text(element));
  }
  expect_compiles("blocks", blocks_text(4, 0, true));
  expect_compiles("words", host_words_text());
  for (DType t : {DType::kInt8, DType::kFloat16, DType::kFloat32, DType::kComplex128}) {
    expect_compiles("fold", mirror_text(type_text(t), 2, t == DType::kInt8, true));
  }
}

TEST_P(DataTexts, CountsCompile) {
  expect_compiles("invert", invert_text(DType::kInt32));
  expect_compiles("invert", invert_text(DType::kInt64));
  for (DType bins : {DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64}) {
    expect_compiles("bincount", bincount_text(DType::kInt64, bins));
    expect_compiles("histogram", histogram_text(bins, DType::kInt64));
  }
  expect_compiles("running", running_text());
}

TEST_P(DataTexts, SizesFromContentsCompile) {
  for (size_t element : {1, 2, 4, 8, 16}) expect_compiles("stitch", stitch_text(element));
  expect_compiles("partition", partition_text());
  for (DType t : {DType::kBool, DType::kFloat16, DType::kComplex128}) {
    expect_compiles("where", where_text(t, static_cast<int>(dtype_size(t) % 4)));
    expect_compiles("unique", slices_text(t, DType::kInt64, "unique.cuh"));
    expect_compiles("diff", slices_text(t, DType::kInt32, "list_diff.cuh"));
  }
}

TEST_P(DataTexts, SegmentsCompile) {
  for (const char* op : {"Sum", "Mean", "Prod", "Min", "Max"}) {
    expect_compiles(op, segments_text(op, DType::kFloat16, DType::kInt64, DType::kInt32));
  }
}

TEST(SegmentTexts, EveryDtypeCompiles) {
  constexpr int kPtxOnly = 99;  // unknown to the compiler, which then makes PTX for 90
  const auto expect_compiles = [](const char* op, DType t) {
    const std::string text = segments_text(op, t, DType::kInt32, DType::kInt64);
    EXPECT_NO_THROW(compile(op, text, kPtxOnly)) << op << " " << dtype_name(t);
  };
  for (DType t :
       {DType::kUInt8, DType::kInt16, DType::kInt32, DType::kUInt64, DType::kBFloat16,
        DType::kFloat32, DType::kFloat64, DType::kComplex64, DType::kComplex128}) {
    expect_compiles("Sum", t);
    expect_compiles("Mean", t);
    expect_compiles(is_complex(t) ? "Prod" : "Max", t);
  }
}

}  // namespace
}  // namespace tandem::cuda
