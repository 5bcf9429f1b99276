// Small and medium float32 matrix products without a library: register tiles that read
// the operands where they lie, pack B only when that pays, and finish each tile with bias
// and activation while it is in registers or in the L1 cache. Runs on the calling thread,
// allocates nothing. An element of C is computed the same way wherever the tile that
// holds it begins, so results do not depend on how callers cut a product.
#pragma once

#include <cstdint>

#include "kernels/cpu/elementwise_blocks.h"
#include "kernels/cpu/nn_isa.h"

namespace tandem::cpu {

/// What is done to a tile before it leaves the registers.
enum class TileActivation : uint8_t { kNone, kRelu, kRelu6, kLeakyRelu };

/// The end of a product: C = activation(A·B + bias).
struct TileEpilogue {
  const float* bias = nullptr;  // one number per column of C, or none
  TileActivation activation = TileActivation::kNone;
  float alpha = 0;        // of kLeakyRelu
  Block block = nullptr;  // other activations, over rows of the stored tile
  BlockParams params = {};
};

/// C[m, n] = op(A)·op(B), or that added to C; row-major, ld…: elements between stored
/// rows.
struct TileProduct {
  int64_t m = 0, n = 0, k = 0;  // at least 1 each
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  int64_t lda = 0, ldb = 0, ldc = 0;
  bool transpose_a = false, transpose_b = false;
  bool add = false;
  TileEpilogue epilogue = {};
};

struct GemmTiles {
  void (*run)(const TileProduct& product);
  /// Elements of a vector; products with fewer columns waste lanes.
  int64_t lanes;
  /// What one core does with products that suit the tiles.
  double flops_per_us;
};

TANDEM_ISA_TABLE(GemmTiles, gemm_tiles)

}  // namespace tandem::cpu
