// The texts of image kernels, pools with indices, samplers, integer products and what
// lies around Fourier transforms compile for every kind of element and every
// architecture.
#include "kernels/cuda/image_text.h"

#include <gtest/gtest.h>

#include "gpu/host/compiles.h"
#include "ops/nn_geometry.h"

namespace tandem::cuda {

std::string check_numerics_text(DType dtype);
std::string ctc_text(DType dtype);
std::string fourier_text(bool wide);
std::string int_product_text(DType dtype);
std::string monotone_text(DType dtype);
std::string pool_text(const nn::PoolShape& pool, DType dtype);
std::string recurrence_text(DType dtype);
std::string sampler_text(DType dtype, const char* file);
std::string suppress_text();

namespace {

constexpr const char* kImageTexts[] = {"image_box.cuh", "image_colour.cuh",
                                       "image_projective.cuh", "image_resample.cuh",
                                       "image_resize.cuh"};

TEST(ImageTexts, CompileForEveryKindOfPixel) {
  for (const char* file : kImageTexts) {
    for (DType t : {DType::kFloat16, DType::kBFloat16, DType::kFloat64}) {
      expect_compiles(file, image_text(type_text(t), file));
    }
  }
  for (const char* file : {"image_box.cuh", "image_projective.cuh", "image_resample.cuh",
                           "image_resize.cuh"}) {
    for (DType t : {DType::kUInt8, DType::kInt16, DType::kInt32, DType::kInt64}) {
      expect_compiles(file, image_text(type_text(t), file));
    }
  }
}

TEST(ImageTexts, CompileForEveryArchitecture) {
  for (int arch : {75, 80, 90}) {
    for (const char* file : kImageTexts) {
      expect_compiles(file, image_text("float", file), arch);
    }
  }
}

TEST(PoolTexts, MaximaOfIntegersCompile) {
  nn::PoolShape pool;
  pool.batch = 2;
  pool.channels = 3;
  for (nn::WindowDim& d : pool.dims) {
    d = {.in = 5, .out = 2, .size = 3, .stride = 2, .dilation = 1};
  }
  for (DType t : {DType::kInt8, DType::kUInt8, DType::kInt16, DType::kUInt16,
                  DType::kInt32, DType::kInt64, DType::kBFloat16, DType::kFloat64}) {
    expect_compiles("pool", pool_text(pool, t));
  }
  for (int arch : {75, 80, 90}) {
    expect_compiles("pool", pool_text(pool, DType::kFloat32), arch);
  }
}

TEST(ProductTexts, IntegersAndTransformsCompile) {
  for (int arch : {75, 80, 90}) {
    expect_compiles("int32", int_product_text(DType::kInt32), arch);
    expect_compiles("int64", int_product_text(DType::kInt64), arch);
    expect_compiles("fourier", fourier_text(arch == 80), arch);
  }
}

TEST(SequenceTexts, Compile) {
  for (int arch : {75, 80, 90}) {
    expect_compiles("ctc", ctc_text(arch == 80 ? DType::kFloat64 : DType::kFloat32),
                    arch);
    expect_compiles("monotone", monotone_text(DType::kFloat32), arch);
    expect_compiles("recurrence", recurrence_text(DType::kFloat32), arch);
    expect_compiles("suppress", suppress_text(), arch);
  }
  for (DType t : {DType::kFloat16, DType::kFloat64}) {
    expect_compiles("check_numerics", check_numerics_text(t));
    expect_compiles("recurrence", recurrence_text(t));
  }
  for (DType t : {DType::kBool, DType::kUInt8, DType::kInt64, DType::kComplex128}) {
    expect_compiles("shift", recurrence_text(t));
  }
}

TEST(SamplerTexts, Compile) {
  for (DType t : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    expect_compiles("samplers", sampler_text(t, "random_samplers.cuh"));
    expect_compiles("classes", sampler_text(t, "random_classes.cuh"));
  }
  for (DType t : {DType::kUInt8, DType::kUInt16, DType::kUInt32, DType::kUInt64}) {
    expect_compiles("shuffle", sampler_text(t, "random_shuffle.cuh"));
  }
  for (int arch : {75, 80, 90}) {
    expect_compiles("samplers", sampler_text(DType::kFloat32, "random_samplers.cuh"),
                    arch);
    expect_compiles("classes", sampler_text(DType::kFloat32, "random_classes.cuh"), arch);
    expect_compiles("shuffle", sampler_text(DType::kUInt32, "random_shuffle.cuh"), arch);
  }
}

}  // namespace
}  // namespace tandem::cuda
