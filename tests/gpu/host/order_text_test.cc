// The texts of scans, sorts, searches, diagonals and segments compile for every kind of
// element.
#include <gtest/gtest.h>

#include "gpu/host/compiles.h"
#include "kernels/cuda/scatter.h"

namespace tandem::cuda {

std::string scan_text(const std::string& op, DType dtype);
std::string sort_text(DType dtype, DType index);
std::string search_text(DType dtype, DType index);
std::string diag_text(size_t element, DType index);

namespace {

constexpr DType kNumbersOfEachKind[] = {
    DType::kInt8,     DType::kUInt16,  DType::kInt64,  DType::kFloat16,
    DType::kBFloat16, DType::kFloat32, DType::kFloat64};

TEST(OrderTexts, ScansCompile) {
  for (DType t : kNumbersOfEachKind) {
    expect_compiles("sum", scan_text("SUM", t));
    expect_compiles("product", scan_text("PROD", t));
    if (is_floating(t)) expect_compiles("logsumexp", scan_text("LOGSUMEXP", t));
  }
  for (DType t : {DType::kComplex64, DType::kComplex128}) {
    expect_compiles("sum", scan_text("SUM", t));
    expect_compiles("product", scan_text("PROD", t));
  }
}

TEST(OrderTexts, SortsAndSearchesCompile) {
  for (DType t : kNumbersOfEachKind) {
    expect_compiles("sort", sort_text(t, DType::kInt32));
    expect_compiles("search", search_text(t, DType::kInt64));
  }
  expect_compiles("top_k", sort_text(DType::kFloat32, DType::kInt16));
  expect_compiles("in_top_k", search_text(DType::kFloat32, DType::kInt32));
}

TEST(OrderTexts, DiagonalsCompile) {
  for (size_t element : {1, 2, 4, 8, 16}) {
    expect_compiles("diag", diag_text(element, DType::kInt32));
  }
}

TEST(OrderTexts, SegmentsCompile) {
  for (DType t : kNumbersOfEachKind) {
    expect_compiles("segment",
                    "#define EMPTY 0\n" + scatter_text("ADD", t, DType::kInt32));
    expect_compiles("segment",
                    "#define EMPTY 0\n" + scatter_text("MAX", t, DType::kInt64));
  }
  expect_compiles("segment", "#define EMPTY 1\n" +
                                 scatter_text("MUL", DType::kComplex64, DType::kInt32));
}

}  // namespace
}  // namespace tandem::cuda
