// A matrix product through cuBLASLt, with a bias and an activation at its end where the
// library has them: float16 and bfloat16 (adding up in float32), float32 (TF32 as in
// TensorFlow unless TANDEM_TF32=0), float64, complex64, complex128. The algorithm that
// the library proposes (its first proposal, or a later one as a candidate to be measured)
// is kept with the plan; its workspace is a buffer of the plan.
// Immutable once made; any thread.
#pragma once

#include <memory>
#include <optional>

#include "kernels/common/matmul_geometry.h"
#include "kernels/cuda/cublas.h"
#include "kernels/cuda/program.h"

namespace tandem::cuda {

/// Float32 products may round their operands to TF32 (TANDEM_TF32, on by default).
bool tf32_allowed();

/// Whether tiles (device/tile.cuh) of a dtype go through tensor cores: TF32 holds half
/// precision exactly, and float32 where it may be rounded.
bool tile_tensor_cores(const CudaDevice& device, DType dtype);

struct BlasProduct {
  MatMulGeometry shape;
  cublasLtHandle_t handle = nullptr;
  std::shared_ptr<cublasLtMatmulDescOpaque_t> desc;
  std::shared_ptr<cublasLtMatrixLayoutOpaque_t> first, second, out;  // b, a, c
  std::optional<cublasLtMatmulAlgo_t> aligned, unaligned;
  size_t element = 4;
  size_t workspace_bytes = 0, aligned_bytes = 0, unaligned_bytes = 0;
  bool is_double = false;
  bool bias = false;  // the product's end adds one

  bool empty() const { return shape.m == 0 || shape.n == 0 || shape.batch == 0; }
};

/// Throws UnimplementedError where the library has no algorithm, or fewer proposals.
BlasProduct plan_product(const Signature& s, const MatMulAttrs& attrs, int proposal = 0);
/// The same with an end; nothing where the library cannot do it.
std::optional<BlasProduct> plan_product(const Signature& s, const MatMulAttrs& attrs,
                                        cublasLtEpilogue_t end, int proposal = 0);
/// Writes zeros where there is nothing to add up (without the end). `bias`: for a product
/// that has one.
void run_product(const BlasProduct& p, const LaunchArgs& a, const void* bias = nullptr);

}  // namespace tandem::cuda
